//! A replica as a process.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// How a replica ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a process is asked to end, or it is not"
)]
pub enum Ending {
    /// By SIGTERM, with the time that a graceful shutdown takes.
    Graceful,
    /// By SIGKILL.
    Killed,
}

/// A process, which is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Replica {
    name: String,
    child: Child,
}

impl Replica {
    /// Starts one, and returns it with the lines that it says: so many as it says from its start to its work.
    pub(crate) async fn start<const LINES: usize>(
        program: &Path,
        name: &str,
        arguments: &[&str],
        kubeconfig: &Path,
    ) -> Result<(Self, [String; LINES])> {
        let mut child = Command::new(program)
            .arg("run")
            .args(arguments)
            .env("KUBECONFIG", kubeconfig)
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let output = child.stdout.take().context("it has no output")?;
        let mut output = BufReader::new(output);
        let mut lines = [const { String::new() }; LINES];
        for line in &mut lines {
            timeout(TIMEOUT, output.read_line(line)).await??;
        }
        let replica = Self {
            name: name.to_owned(),
            child,
        };
        Ok((replica, lines))
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Ends it, and waits until it has.
    pub(crate) async fn end(mut self, ending: Ending) -> Result<()> {
        match ending {
            Ending::Killed => self.child.start_kill()?,
            Ending::Graceful => {
                let id = self.child.id().context("it has ended already")?;
                let mut kill = Command::new("kill");
                let told = kill.args(["-TERM", &id.to_string()]).status().await?;
                ensure!(told.success(), "{} cannot be told to end", self.name);
            }
        }
        let status = timeout(TIMEOUT, self.child.wait()).await??;
        let is_graceful = status.success();
        ensure!(
            is_graceful == (ending == Ending::Graceful),
            "{} ended with {status}",
            self.name
        );
        Ok(())
    }
}

/// What a program prints that ends by itself.
pub(crate) async fn output(program: &Path, arguments: &[&str]) -> Result<String> {
    let done = Command::new(program).args(arguments).output();
    let done = timeout(TIMEOUT, done).await??;
    ensure!(
        done.status.success(),
        "{} {arguments:?} ended with {}: {}",
        program.display(),
        done.status,
        String::from_utf8_lossy(&done.stderr)
    );
    Ok(String::from_utf8(done.stdout)?)
}

const TIMEOUT: Duration = Duration::from_secs(20);
