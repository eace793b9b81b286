//! A revision of a program's repository, checked out into a folder of its own.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use tempfile::TempDir;
use tokio::process::Command;

use super::target;
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
        let target = target::of_revisions(package).await?;
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[tokio::test]
    async fn a_revision_has_the_files_of_then_and_leaves_no_worktree() {
        let folder = tempfile::tempdir().unwrap();
        let package = folder.path().join("programs/guard");
        fs::create_dir_all(package.join("src")).unwrap();
        fs::write(package.join("src/main.rs"), "fn main() {}").unwrap();
        let manifest = "[package]\nname = \"guard\"\nedition = \"2024\"\n[workspace]\n";
        fs::write(package.join("Cargo.toml"), manifest).unwrap();
        let author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
        git(folder.path(), &["init", "--quiet"]).await.unwrap();
        git(folder.path(), &["add", "."]).await.unwrap();
        let commit = [&author[..], &["commit", "--quiet", "--message=a"]].concat();
        git(folder.path(), &commit).await.unwrap();
        fs::write(package.join("src/main.rs"), "fn main() { later() }").unwrap();

        let revision = Revision::check_out(&package, "HEAD").await.unwrap();
        assert!(revision.package().ends_with("programs/guard"));
        let source = fs::read_to_string(revision.package().join("src/main.rs")).unwrap();
        assert_eq!(source, "fn main() {}");
        assert!(revision.target().ends_with("kubewright-replay/revision"));
        let path = revision.package().to_owned();
        drop(revision);
        assert!(!path.exists());
        let trees = git(folder.path(), &["worktree", "list"]).await.unwrap();
        assert_eq!(trees.lines().count(), 1, "{trees}");

        for unknown in ["v9", "--force"] {
            assert!(
                Revision::check_out(&package, unknown).await.is_err(),
                "{unknown}"
            );
        }
    }
}
