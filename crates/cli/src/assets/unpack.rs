//! Unpacking an archive: the programs in it, into one folder, and nothing anywhere else.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Component, Path};

use anyhow::{Context as _, bail};
use flate2::bufread::GzDecoder;
use tar::EntryType;

use super::platform::Platform;

/// Puts the files of an archive into `folder`, whatever folders they are in there.
///
/// # Errors
/// It is no archive, or cut off, or has not got what a control plane needs, or has entries that lead out of it.
pub(crate) fn unpack(archive: &Path, folder: &Path, platform: &Platform) -> anyhow::Result<()> {
    let file = BufReader::new(File::open(archive)?);
    let mut archive = tar::Archive::new(GzDecoder::new(file));
    let mut found = BTreeSet::new();
    for entry in archive.entries().context("it is no archive")? {
        let mut entry = entry.context("it is no .tar.gz, or it is cut off")?;
        let path = entry.path().context("an entry has no name")?.into_owned();
        let inside = path
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside {
            bail!("its entry {} leads out of it", path.display());
        }
        match entry.header().entry_type() {
            EntryType::Directory => continue,
            EntryType::Regular => {}
            // Only GNU's and POSIX' own notes are neither.
            other if other.is_gnu_longname() || other.is_pax_global_extensions() => continue,
            _ => bail!("its entry {} is no file", path.display()),
        }
        let name = path.file_name().context("an entry has no name")?.to_owned();
        let target = folder.join(&name);
        if !found.insert(name) {
            bail!("it has two files by the name of {}", path.display());
        }
        let mut file = File::create_new(&target)?;
        io::copy(&mut entry, &mut file).context("it is cut off, or no .tar.gz")?;
        executable(&target)?;
    }
    for program in PROGRAMS {
        let name = platform.file(program);
        if !found.contains(name.as_str().as_ref() as &std::ffi::OsStr) {
            bail!("it has no {name}");
        }
    }
    Ok(())
}

#[cfg(unix)]
fn executable(file: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn executable(_: &Path) -> io::Result<()> {
    Ok(())
}

/// What a control plane needs. `kubectl` is in the published archives, too.
const PROGRAMS: [&str; 2] = ["kube-apiserver", "etcd"];
