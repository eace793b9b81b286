//! Deliberate breaks of the embedded server: the suite is only worth something if it sees each of them.
//!
//! A mutant replaces one string in a source file. It is built in a copy of the workspace, and the suite runs on it, against
//! the recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

/// One deliberate break.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Mutant {
    /// What is broken, as a statement.
    #[serde(rename = "break")]
    pub name: String,
    /// The source file, from the root of the workspace.
    pub file: PathBuf,
    /// The string to replace, which occurs exactly once.
    pub from: String,
    /// The replacement.
    pub to: String,
}

/// What became of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fate {
    /// The suite saw it; the last line of its report.
    Caught(String),
    /// The suite saw nothing.
    Survived,
    /// It is no program; what the compiler said.
    NotBuilt(String),
}

/// Reads a list of mutants.
///
/// # Errors
/// The file is no such list.
pub fn read(path: &Path) -> Result<Vec<Mutant>> {
    let text = fs::read_to_string(path).with_context(|| format!("read {}", path.display()))?;
    serde_saphyr::from_str(&text).with_context(|| format!("read {}", path.display()))
}

impl Mutant {
    /// The source file with the break in it.
    ///
    /// # Errors
    /// The string is missing, or occurs more than once: the source has changed and the mutant has to follow.
    pub fn applied(&self, workspace: &Path) -> Result<String> {
        let path = workspace.join(&self.file);
        let source =
            fs::read_to_string(&path).with_context(|| format!("read {}", path.display()))?;
        let times = source.matches(&self.from).count();
        ensure!(
            times == 1,
            "`{}`: its text stands {times} times in {}",
            self.name,
            self.file.display()
        );
        Ok(source.replace(&self.from, &self.to))
    }
}

/// A copy of the workspace to break.
#[derive(Debug)]
pub struct Nursery {
    workspace: PathBuf,
    copy: PathBuf,
}

impl Nursery {
    /// Copies the workspace's sources next to its build, where one build after another reuses what did not change.
    ///
    /// # Errors
    /// The sources cannot be copied.
    pub fn new(workspace: &Path) -> Result<Self> {
        let copy = workspace.join("target/mutants/workspace");
        fs::create_dir_all(&copy)?;
        for part in [
            "apiserver",
            "crates",
            "tests",
            "examples",
            "bench",
            "Cargo.toml",
            "Cargo.lock",
            "clippy.toml",
        ] {
            copy_changed(&workspace.join(part), &copy.join(part))?;
        }
        Ok(Self {
            workspace: workspace.to_owned(),
            copy,
        })
    }

    /// Builds the workspace with one break and runs the suite on it.
    ///
    /// # Errors
    /// The mutant does not apply, or cargo cannot be run.
    pub fn try_out(&self, mutant: &Mutant) -> Result<Fate> {
        let broken = mutant.applied(&self.workspace)?;
        let path = self.copy.join(&mutant.file);
        fs::write(&path, broken)?;
        let fate = self.suite();
        fs::copy(self.workspace.join(&mutant.file), &path)?;
        fate
    }

    /// Runs the suite on the copy as it is.
    ///
    /// # Errors
    /// Cargo cannot be run.
    pub fn suite(&self) -> Result<Fate> {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
        let output = Command::new(cargo)
            .args(["run", "--quiet", "-p", "conformance", "--", "embedded"])
            .current_dir(&self.copy)
            .env(
                "CARGO_TARGET_DIR",
                self.workspace.join("target/mutants/target"),
            )
            .output()
            .context("run cargo")?;
        let report = String::from_utf8_lossy(&output.stdout);
        let summary = report.lines().find(|line| line.contains(" cases: "));
        Ok(match (output.status.success(), summary) {
            (true, _) => Fate::Survived,
            (false, Some(summary)) => Fate::Caught(summary.to_owned()),
            (false, None) => Fate::NotBuilt(String::from_utf8_lossy(&output.stderr).into_owned()),
        })
    }
}

/// Copies what differs, so that a second run builds little.
fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    if from.is_dir() {
        fs::create_dir_all(to)?;
        let mut kept = Vec::new();
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            if entry.file_name() == "target" {
                continue;
            }
            copy_changed(&entry.path(), &to.join(entry.file_name()))?;
            kept.push(entry.file_name());
        }
        for entry in fs::read_dir(to)? {
            let entry = entry?;
            if !kept.contains(&entry.file_name()) {
                let gone = entry.path();
                if gone.is_dir() {
                    fs::remove_dir_all(gone)?;
                } else {
                    fs::remove_file(gone)?;
                }
            }
        }
    } else {
        let source = fs::read(from).with_context(|| format!("read {}", from.display()))?;
        if fs::read(to).ok().as_ref() != Some(&source) {
            fs::write(to, source).with_context(|| format!("write {}", to.display()))?;
        }
    }
    Ok(())
}
