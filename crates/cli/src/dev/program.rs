//! The program under development: built by cargo, run as a child, asked for its manifests.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context as _;
use serde_json::Value;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

use super::start::Asked;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A built program.
#[derive(Debug)]
pub(crate) struct Program {
    executable: PathBuf,
    name: String,
}

/// A program that runs, and answers on an address if it has webhooks. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    address: Option<SocketAddr>,
    output: Lines<BufReader<ChildStdout>>,
    name: String,
}

impl Program {
    /// Builds the package in `folder` and finds its binary.
    pub(crate) async fn build(folder: &Path) -> Outcome<Self> {
        let manifest = folder.join("Cargo.toml");
        if !manifest.is_file() {
            return Err(
                Failure::new(format!("{} holds no Cargo.toml", folder.display()))
                    .hint("name the folder of a Rust package, such as examples/annotate-pod"),
            );
        }
        let cargo = Command::new("cargo")
            .args([
                "build",
                "--message-format=json-render-diagnostics",
                "--manifest-path",
            ])
            .arg(&manifest)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .context("cannot run cargo")?;
        // Not `output`, which would take standard error, too, and with it whatever the compiler has to say.
        let output = cargo.wait_with_output().await.context("cannot run cargo")?;
        if !output.status.success() {
            return Err(Failure::new(format!(
                "cargo could not build {}",
                folder.display()
            )));
        }
        let messages = output.stdout.split(|byte| *byte == b'\n');
        let executable = messages
            .filter_map(|line| serde_json::from_slice::<Value>(line).ok())
            .filter_map(|message| message["executable"].as_str().map(PathBuf::from))
            .next_back();
        let Some(executable) = executable else {
            return Err(
                Failure::new(format!("{} builds no binary", folder.display()))
                    .hint("add a src/main.rs that calls kubewright::run"),
            );
        };
        let name = executable
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        Ok(Self { executable, name })
    }

    /// The program's name, for people.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Starts the program with the certificate in `certificates`, on the cluster of `kubeconfig`, and waits until it serves
    /// or, without webhooks, runs.
    pub(crate) async fn start(
        &self,
        certificates: &Path,
        kubeconfig: &Path,
        asked: &Asked<'_>,
    ) -> Outcome<Running> {
        let mut command = Command::new(&self.executable);
        command
            .env("KUBECONFIG", kubeconfig)
            .args(["run", "--listen", "127.0.0.1:0", "--certificates"])
            .arg(certificates);
        if let Some(directory) = asked.record {
            command.arg("--record").arg(directory);
        }
        let mut child = command
            .args(asked.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {}", self.executable.display()))?;
        let stdout = child.stdout.take().context("the program has no output")?;
        let stderr = child
            .stderr
            .take()
            .context("the program has no error output")?;
        let mut output = BufReader::new(stdout).lines();
        let mut errors = BufReader::new(stderr).lines();
        let Some(ready) = ready(&mut output).await? else {
            let last = last_words(&mut errors).await;
            return Err(
                Failure::new(format!("{} ended before it was ready:\n{last}", self.name))
                    .hint("a program under `kubewright dev` has to call kubewright::run"),
            );
        };
        let name = self.name.clone();
        tokio::spawn(async move {
            let ui = Ui::new();
            while let Ok(Some(line)) = errors.next_line().await {
                ui.note(format!("{name} | {line}"));
            }
        });
        Ok(Running {
            child,
            address: ready.address(),
            output,
            name: self.name.clone(),
        })
    }

    /// The program's webhook configurations, in URL form for `address`, trusting `ca_file`.
    pub(crate) async fn manifests(
        &self,
        address: SocketAddr,
        ca_file: &Path,
        more: &[String],
    ) -> Outcome<Vec<Value>> {
        let url = format!("https://{address}");
        let mut command = Command::new(&self.executable);
        command.args(["manifests", "--url", &url, "--ca-file"]);
        command.arg(ca_file).args(more);
        self.printed("manifests", command).await
    }

    /// Everything that installs the program, in the order in which it is applied.
    pub(crate) async fn installer(&self, place: &[String], more: &[String]) -> Outcome<Vec<Value>> {
        let mut command = Command::new(&self.executable);
        command.arg("manifests").args(place).args(more);
        self.printed("manifests", command).await
    }

    /// Has the program write the files that install it, or compare them. The inner error is what it says against that.
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

impl Running {
    /// Where the program answers, if it has webhooks.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Waits until the program ends by itself, passing its output on.
    ///
    /// # Cancel safety
    /// Dropping the future loses no line that was not yet read.
    pub(crate) async fn ended(&mut self, ui: &Ui) -> Failure {
        while let Ok(Some(line)) = self.output.next_line().await {
            ui.note(format!("{} | {line}", self.name));
        }
        match self.child.wait().await {
            Ok(status) => Failure::new(format!("{} ended: {status}", self.name)),
            Err(error) => Failure::from(error),
        }
    }

    /// Ends the program and waits until it is gone.
    pub(crate) async fn stop(mut self) {
        // The only way to fail is that it has ended already.
        let _ = self.child.kill().await;
    }
}

/// How a program says that it is ready.
enum Ready {
    Serving(SocketAddr),
    /// It has no webhooks.
    Running,
}

impl Ready {
    fn address(self) -> Option<SocketAddr> {
        match self {
            Self::Serving(address) => Some(address),
            Self::Running => None,
        }
    }
}

async fn ready(output: &mut Lines<impl AsyncBufRead + Unpin>) -> Outcome<Option<Ready>> {
    while let Some(line) = output.next_line().await? {
        if let Some((_, address)) = line.split_once("serving webhooks on https://") {
            let address = address.trim().parse().context("the program's ready line")?;
            return Ok(Some(Ready::Serving(address)));
        }
        if line.trim() == "running" {
            return Ok(Some(Ready::Running));
        }
    }
    Ok(None)
}

async fn last_words(errors: &mut Lines<impl AsyncBufRead + Unpin>) -> String {
    let mut lines = Vec::new();
    while let Ok(Some(line)) = errors.next_line().await {
        lines.push(line);
    }
    lines.split_off(lines.len().saturating_sub(20)).join("\n")
}
