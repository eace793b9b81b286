//! Which kubectl binaries this machine has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One kubectl.
#[derive(Clone, Debug)]
pub(crate) struct Kubectl {
    pub(crate) path: PathBuf,
    pub(crate) minor: u32,
}

/// One binary for each minor: the one on the `PATH`, and those beside it that are called `kubectl.1.NN`.
pub(crate) fn kubectls() -> Vec<Kubectl> {
    let mut found = BTreeMap::new();
    for folder in std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()) {
        let plain = folder.join("kubectl");
        let Ok(real) = plain.canonicalize() else {
            continue;
        };
        let beside = real.parent().into_iter().flat_map(versioned);
        for path in beside.chain([plain]) {
            if let Some(minor) = minor(&path) {
                found.entry(minor).or_insert(path);
            }
        }
    }
    if found.is_empty() {
        assert!(std::env::var_os("CI").is_none(), "CI has no kubectl");
        println!("no kubectl on this machine: nothing was compared");
    }
    found
        .into_iter()
        .map(|(minor, path)| Kubectl { path, minor })
        .collect()
}

fn versioned(folder: &Path) -> Vec<PathBuf> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with("kubectl.1.")
        })
        .map(|entry| entry.path())
        .collect();
    paths.sort();
    paths
}

fn minor(path: &Path) -> Option<u32> {
    let output = Command::new(path)
        .args(["version", "--client", "-o", "json"])
        .output()
        .ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (_, rest) = text.split_once("\"minor\": \"")?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}
