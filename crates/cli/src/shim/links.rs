//! The files that envtest finds in `KUBEBUILDER_ASSETS`: links to this program under the names of others.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use super::Program;
use crate::failure::Outcome;

/// Writes the programs of a control plane into a folder; answers whether `kubectl` is among them.
pub(crate) fn write(folder: &Path) -> Outcome<bool> {
    let this = env::current_exe().and_then(fs::canonicalize);
    let this = this.context("cannot find the file of this program")?;
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for program in Program::ALL {
        place(&this, folder, program.name())?;
    }
    let kubectl = on_the_path("kubectl", folder);
    if let Some(kubectl) = &kubectl {
        place(kubectl, folder, "kubectl")?;
    }
    Ok(kubectl.is_some())
}

/// A program by another name. A reader of the name sees the old or the new program, never none.
fn place(program: &Path, folder: &Path, name: &str) -> Outcome {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let to = folder.join(&file);
    let describe = || format!("cannot write {}", to.display());
    let fresh = tempfile::Builder::new().prefix(".new-").tempdir_in(folder);
    let fresh = fresh.with_context(describe)?;
    let made = fresh.path().join(&file);
    link(program, &made)
        .or_else(|_| fs::hard_link(program, &made))
        .or_else(|_| fs::copy(program, &made).map(|_| ()))
        .with_context(describe)?;
    fs::rename(&made, &to).with_context(describe)?;
    Ok(())
}

#[cfg(unix)]
fn link(program: &Path, to: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(program, to)
}

/// Links need a right of their own here.
#[cfg(not(unix))]
fn link(_: &Path, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// The first program of this name on the `PATH` that is in another folder.
fn on_the_path(name: &str, except: &Path) -> Option<PathBuf> {
    let file = format!("{name}{}", env::consts::EXE_SUFFIX);
    let except = fs::canonicalize(except).ok()?;
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .filter(|folder| fs::canonicalize(folder).is_ok_and(|folder| folder != except))
        .map(|folder| folder.join(&file))
        .find(|path| path.is_file())
        .and_then(|path| fs::canonicalize(path).ok())
}
