//! The program under development: built by cargo, started as a child, asked for its manifests.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::SystemTime;

use anyhow::Context as _;
use serde_json::Value;
use tokio::process::Command;

use super::cargo;
use super::running::Running;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A built program.
#[derive(Debug)]
pub(crate) struct Program {
    executable: PathBuf,
    /// When the executable was written, as the file system knows it.
    written: Option<SystemTime>,
    packages: Vec<PathBuf>,
    name: String,
}

/// What the person at the terminal wants of the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    /// Options of the program itself.
    pub(crate) options: &'a [String],
    /// Where it is to keep its reviews.
    pub(crate) record: Option<&'a Path>,
}

/// Where and as whom a program runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Surroundings<'a> {
    /// The address that it listens on, without the port.
    pub(crate) listen: &'a str,
    /// The folder of its certificate.
    pub(crate) certificates: &'a Path,
    pub(crate) kubeconfig: &'a Path,
}

impl Program {
    /// Builds the package in `folder` and finds its binary.
    pub(crate) async fn build(folder: &Path) -> Outcome<Self> {
        Self::build_into(folder, None).await
    }

    /// Builds the package in `folder`, and keeps what is made in `target` if that is given.
    pub(crate) async fn build_into(folder: &Path, target: Option<&Path>) -> Outcome<Self> {
        let built = cargo::build(folder, target).await?;
        let name = built.executable.file_stem().unwrap_or_default();
        let written = std::fs::metadata(&built.executable).and_then(|file| file.modified());
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            // A build without a modification time counts as a new one.
            written: written.ok(),
            packages: built.packages,
            executable: built.executable,
        })
    }

    /// The program's name, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Whether another build has made nothing new.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.executable == other.executable
            && self.written.is_some()
            && self.written == other.written
    }

    /// The folders of the packages on this machine that it is made from.
    pub(crate) fn packages(&self) -> &[PathBuf] {
        &self.packages
    }

    pub(crate) fn executable(&self) -> &Path {
        &self.executable
    }

    /// Starts the program, and waits until it serves or, without webhooks, runs.
    pub(crate) async fn start(
        &self,
        ui: &Arc<Ui>,
        around: Surroundings<'_>,
        asked: Asked<'_>,
    ) -> Outcome<Running> {
        let mut command = Command::new(&self.executable);
        command
            .env("KUBECONFIG", around.kubeconfig)
            .args(["run", "--listen", around.listen, "--certificates"])
            .arg(around.certificates);
        // No change of endpoints has to propagate: `dev` points the webhook configurations to the next process.
        let is_said = |option: &String| option.starts_with("--propagation");
        if !asked.options.iter().any(is_said) {
            command.args(["--propagation", "0"]);
        }
        if let Some(directory) = asked.record {
            command.arg("--record").arg(directory);
        }
        command
            .args(asked.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Running::ready(ui, &self.name, command).await
    }

    /// The program's webhook configurations and converted definitions, for an API server that reaches it at `url`.
    pub(crate) async fn manifests(
        &self,
        url: &str,
        ca_file: &Path,
        more: &[String],
    ) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.executable);
        command.args(["manifests", "--url", url, "--ca-file"]);
        command.arg(ca_file).args(more);
        self.printed("manifests", command).await
    }

    /// Everything that installs the program, in the order in which it is applied.
    pub(crate) async fn installer(&self, place: &[String], more: &[String]) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.executable);
        command.arg("manifests").args(place).args(more);
        self.printed("manifests", command).await
    }

    /// Makes the program write or compare the files that install it. The inner error is the program's message.
    pub(crate) async fn write_manifests(
        &self,
        into: &Path,
        check: bool,
        more: &[String],
    ) -> Outcome<Result<(), String>> {
        let mut command = Command::new(&self.executable);
        command.args(["manifests", "--into"]).arg(into);
        if check {
            command.arg("--check");
        }
        let output = command.args(more).stdin(Stdio::null()).output().await;
        let output = output.with_context(|| format!("cannot run {}", self.executable.display()))?;
        Ok(if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        })
    }

    /// The definitions of the custom resources that the program works with.
    pub(crate) async fn crds(&self, more: &[String]) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.executable);
        command.arg("crds").args(more);
        self.printed("crds", command).await
    }

    /// The roles that the program needs.
    pub(crate) async fn permissions(&self, more: &[String]) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.executable);
        command.arg("permissions").args(more);
        self.printed("permissions", command).await
    }

    /// The objects that a sub-command prints as YAML.
    async fn printed(&self, name: &str, mut command: Command) -> Outcome<Vec<Value>> {
        let output = command
            .stdin(Stdio::null())
            .output()
            .await
            .with_context(|| format!("cannot run {}", self.executable.display()))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            return Err(Failure::new(format!(
                "`{} {name}` failed:\n{text}",
                self.name
            )));
        }
        let text = String::from_utf8(output.stdout);
        let text = text.with_context(|| format!("what `{name}` prints is not UTF-8"))?;
        let objects: Vec<Value> = serde_saphyr::from_multiple(&text)
            .with_context(|| format!("what `{name}` prints is not YAML"))?;
        Ok(objects.into_iter().filter(Value::is_object).collect())
    }
}
