//! Files that commands leave behind: whole or not at all, and secret ones for their owner only.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;

use crate::failure::Outcome;

/// Who may read a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    Everyone,
    Owner,
}

/// Writes a file beside its place and moves it there, so that no reader ever sees half of it.
pub(crate) fn write(path: &Path, contents: &str, readers: Readers) -> Outcome {
    let describe = || format!("cannot write {}", path.display());
    let file = beside(path, contents, readers).with_context(describe)?;
    file.persist(path).with_context(describe)?;
    Ok(())
}

/// As [`write`], and returns only when the file survives a power failure.
pub(crate) fn write_durably(path: &Path, contents: &str, readers: Readers) -> Outcome {
    let describe = || format!("cannot write {}", path.display());
    let file = beside(path, contents, readers).with_context(describe)?;
    file.as_file().sync_all().with_context(describe)?;
    file.persist(path).with_context(describe)?;
    Ok(sync_folder(folder_of(path)).with_context(describe)?)
}

/// Has the names of the files in a folder survive a power failure.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> std::io::Result<()> {
    fs::File::open(folder)?.sync_all()
}

/// Other systems open no folders; they write names in order.
#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> std::io::Result<()> {
    Ok(())
}

/// The folder that a file is in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn beside(
    path: &Path,
    contents: &str,
    readers: Readers,
) -> std::io::Result<tempfile::NamedTempFile> {
    let folder = folder_of(path);
    fs::create_dir_all(folder)?;
    let mut file = tempfile::Builder::new().tempfile_in(folder)?;
    file.write_all(contents.as_bytes())?;
    if readers == Readers::Everyone {
        allow_everyone(file.path())?;
    }
    Ok(file)
}

/// Opens a file for appending.
pub(crate) fn append(path: &Path, readers: Readers) -> Outcome<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.create(true).append(true);
    #[cfg(unix)]
    if readers == Readers::Owner {
        use std::os::unix::fs::OpenOptionsExt as _;
        options.mode(0o600);
    }
    let file = options.open(path);
    Ok(file.with_context(|| format!("cannot write {}", path.display()))?)
}

#[cfg(unix)]
fn allow_everyone(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))
}

#[cfg(not(unix))]
fn allow_everyone(_: &Path) -> std::io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_its_folder_made() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deeper/kubeconfig");
        write(&path, "old", Readers::Owner).unwrap();
        write(&path, "new", Readers::Owner).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_is_for_its_owner_only() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        for (readers, mode) in [(Readers::Owner, 0o600), (Readers::Everyone, 0o644)] {
            let path = folder.path().join("file");
            write(&path, "x", readers).unwrap();
            assert_eq!(
                fs::metadata(&path).unwrap().permissions().mode() & 0o777,
                mode
            );
        }
    }
}
