//! Where a control plane keeps its data: in memory where there is enough of it, since nothing of it is to last.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

/// Creates a new folder with a unique name.
pub(super) fn new_folder() -> io::Result<TempDir> {
    tempfile::Builder::new()
        .prefix("kubewright-")
        .tempdir_in(base())
}

/// Where folders of control planes are made.
pub(super) fn base() -> PathBuf {
    let memory = Path::new("/dev/shm");
    if free_kilobytes(memory).is_some_and(|free| free >= NEEDED) {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    }
}

/// What the file system of a folder has left, as `df` says in its POSIX format.
fn free_kilobytes(folder: &Path) -> Option<u64> {
    if !folder.is_dir() {
        return None;
    }
    let output = Command::new("df").arg("-Pk").arg(folder).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().nth(1)?.split_whitespace().nth(3)?.parse().ok()
}

/// etcd allocates two files of 64 MB before anything is written; containers often have 64 MB in all.
const NEEDED: u64 = 512 * 1024;
