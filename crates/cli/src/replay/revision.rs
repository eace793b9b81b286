//! A revision of a program's repository, checked out into a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::Value;
use tempfile::TempDir;
use tokio::process::Command;

use crate::dev::cargo;
use crate::failure::{Failure, Outcome};

/// A git worktree, which is removed when it is dropped.
pub(crate) struct Revision {
    repository: PathBuf,
    tree: PathBuf,
    package: PathBuf,
    target: PathBuf,
    _folder: TempDir,
}

impl Revision {
    /// Checks out a revision of the repository that a package is in.
    pub(crate) async fn check_out(package: &Path, revision: &str) -> Outcome<Self> {
        if revision.starts_with('-') {
            return Err(Failure::new(format!("`{revision}` is not a revision")));
        }
        let repository = git(package, &["rev-parse", "--show-toplevel"]).await?;
        let prefix = git(package, &["rev-parse", "--show-prefix"]).await?;
        let target = target(package).await?;
        let folder = tempfile::tempdir().context("cannot make a folder for the revision")?;
        let tree = folder.path().join("tree");
        let path = tree.display().to_string();
        git(
            package,
            &["worktree", "add", "--detach", "--force", &path, revision],
        )
        .await?;
        let checked_out = Self {
            repository: repository.into(),
            package: tree.join(prefix),
            tree,
            // Where the dependencies are compiled already. The program is built over by the next build of the package.
            target,
            _folder: folder,
        };
        Ok(checked_out)
    }

    /// The folder of the package.
    pub(crate) fn package(&self) -> &Path {
        &self.package
    }

    /// Where cargo builds it.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }
}

impl Drop for Revision {
    fn drop(&mut self) {
        // What stays is a folder that the next `git worktree prune` forgets.
        let _ = std::process::Command::new("git")
            .arg("-C")
            .arg(&self.repository)
            .args(["worktree", "remove", "--force"])
            .arg(&self.tree)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
    }
}

/// Runs git in a folder, and returns the line that it prints.
async fn git(folder: &Path, arguments: &[&str]) -> Outcome<String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .await
        .context("cannot run git")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let text = format!("git cannot check out the revision: {}", said.trim());
        return Err(
            Failure::new(text).hint("pass --against FOLDER with another checkout of the program")
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout)
        .trim_end()
        .to_owned())
}

/// The folder where cargo builds a package.
async fn target(package: &Path) -> Outcome<PathBuf> {
    let output = Command::new("cargo")
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(package.join("Cargo.toml"))
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(cargo::not_run)?;
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let folder = metadata["target_directory"].as_str().map(PathBuf::from);
    folder.ok_or_else(|| {
        let said = String::from_utf8_lossy(&output.stderr);
        Failure::new(format!(
            "cargo cannot read {}: {}",
            package.display(),
            said.trim()
        ))
    })
}
