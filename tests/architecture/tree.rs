//! The repository as the other tests see it: the files that git tracks or would track.

use std::path::{Path, PathBuf};
use std::process::Command;

/// One text file, with its path from the root.
#[derive(Debug)]
#[expect(clippy::exhaustive_structs, reason = "a file has a path and a text")]
pub struct File {
    /// The path from the root of the repository.
    pub path: String,
    /// The content.
    pub text: String,
}

/// Returns the root of the workspace.
///
/// # Panics
///
/// If this package is not in a workspace.
pub fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.join("../..")
        .canonicalize()
        .expect("the workspace is above this package")
}

/// Returns the paths of all files that git tracks or would track.
///
/// # Panics
///
/// If git cannot list them.
pub fn paths() -> Vec<String> {
    let listed = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git lists the files");
    let listed = String::from_utf8(listed.stdout).expect("paths are UTF-8");
    listed.lines().map(str::to_owned).collect()
}

/// Returns the text files with the given ending that git tracks or would track. What a symbolic link leads to is at its own path.
///
/// # Panics
///
/// If there is none.
pub fn files(ending: &str) -> Vec<File> {
    let files: Vec<File> = paths()
        .into_iter()
        .filter(|path| path.ends_with(ending) && !root().join(path).is_symlink())
        .filter_map(|path| {
            let text = std::fs::read_to_string(root().join(&path)).ok()?;
            Some(File { path, text })
        })
        .collect();
    assert!(
        !files.is_empty(),
        "no file ends with {ending}: is this a git checkout?"
    );
    files
}

/// The folders of the crates that are published: `apiserver/` has those of the API server, `crates/` all others.
const CRATES: [&str; 2] = ["apiserver/", "crates/"];

/// Whether a path from the root leads into a published crate.
pub fn is_in_a_crate(path: &str) -> bool {
    in_its_crates(path).is_some()
}

/// The path of a file in a published crate, from the folder of these crates on: `cel/src/lib.rs`.
pub fn in_its_crates(path: &str) -> Option<&str> {
    CRATES.iter().find_map(|folder| path.strip_prefix(folder))
}

/// Returns the workspace's own packages, as `cargo metadata` describes them.
///
/// # Panics
///
/// If Cargo cannot read the workspace.
pub fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version=1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .expect("cargo describes the workspace");
    let metadata: serde_json::Value =
        serde_json::from_slice(&output.stdout).expect("cargo metadata is JSON");
    metadata["packages"]
        .as_array()
        .expect("a list of packages")
        .clone()
}
