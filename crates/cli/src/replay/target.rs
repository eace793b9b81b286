//! Where cargo keeps what it makes of two checkouts of one program.
//!
//! Cargo knows the packages of a workspace by their names and by their paths inside of the workspace. In a target folder that two checkouts share,
//! one passes for the other unless its files are newer.

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;
use tokio::process::Command;

use crate::dev::cargo;
use crate::failure::{Failure, Outcome};

/// What cargo says of the workspace of a package.
struct Workspace {
    target: PathBuf,
    packages: BTreeSet<String>,
}

/// The target folder for another checkout of a package, if cargo's own choice is not safe.
pub(crate) async fn of_checkout(other: &Path, package: &Path) -> Outcome<Option<PathBuf>> {
    let (other_workspace, workspace) = (read(other).await?, read(package).await?);
    let is_safe = other_workspace.target != workspace.target
        || other_workspace.packages.is_disjoint(&workspace.packages);
    if is_safe {
        return Ok(None);
    }
    let mut hasher = DefaultHasher::new();
    other.canonicalize()?.hash(&mut hasher);
    let name = format!("{:016x}", hasher.finish());
    Ok(Some(own(&workspace).join(name)))
}

/// The target folder for the revisions of a package. Their files are always newer than what was built of others.
pub(crate) async fn of_revisions(package: &Path) -> Outcome<PathBuf> {
    Ok(own(&read(package).await?).join("revision"))
}

fn own(workspace: &Workspace) -> PathBuf {
    workspace.target.join("kubewright-replay")
}

async fn read(package: &Path) -> Outcome<Workspace> {
    let output = Command::new("cargo")
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .arg("--manifest-path")
        .arg(package.join("Cargo.toml"))
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(cargo::not_run)?;
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(target) = metadata["target_directory"].as_str() else {
        let said = String::from_utf8_lossy(&output.stderr);
        let text = format!("cargo cannot read {}: {}", package.display(), said.trim());
        return Err(Failure::new(text));
    };
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let names = packages.filter_map(|package| package["name"].as_str());
    Ok(Workspace {
        target: target.into(),
        packages: names.map(str::to_owned).collect(),
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn package(folder: &Path, name: &str) {
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(folder.join("src/main.rs"), "fn main() {}").unwrap();
        let manifest = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n");
        fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    }

    #[tokio::test]
    async fn two_checkouts_are_not_built_in_one_folder_and_other_packages_are() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for (name, package_name) in [("one", "guard"), ("two", "guard"), ("three", "keeper")] {
            package(&path(name), package_name);
        }
        // Whether both have one target folder depends on how the tests are run.
        let one = read(&path("one")).await.unwrap();
        let two = read(&path("two")).await.unwrap();
        let is_shared = one.target == two.target;
        let chosen = of_checkout(&path("two"), &path("one")).await.unwrap();
        assert_eq!(chosen.is_some(), is_shared);
        // A checkout shares everything with itself.
        let same = of_checkout(&path("one"), &path("one"))
            .await
            .unwrap()
            .unwrap();
        assert!(same.parent().unwrap().ends_with("kubewright-replay"));
        let unlike = of_checkout(&path("three"), &path("one")).await.unwrap();
        assert_eq!(unlike, None);
    }
}
