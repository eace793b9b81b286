//! A program that runs as a child process: its output is passed on, and it gets SIGTERM before it is killed.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, Command};

use super::record::Process;
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// A program that runs, and answers on an address if it has webhooks. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    address: Option<SocketAddr>,
    name: String,
}

impl Running {
    /// Waits until a program that was just started serves or, without webhooks, runs. Its output has to be piped.
    pub(crate) async fn ready(ui: &Arc<Ui>, name: &str, mut command: Command) -> Outcome<Self> {
        // Ctrl-C must not end the program while the API server still calls it.
        apart(&mut command);
        let mut child = command
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("cannot run {name}"))?;
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
                Failure::new(format!("{name} ended before it was ready:\n{last}"))
                    .hint("a program under `kubewright dev` has to call kubewright::run"),
            );
        };
        pass_on(ui, name, output);
        pass_on(ui, name, errors);
        Ok(Self {
            child,
            address: ready.address(),
            name: name.to_owned(),
        })
    }

    /// Where the program answers, if it has webhooks.
    pub(crate) fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// What others know the program by.
    pub(crate) fn process(&self, executable: &Path) -> Option<Process> {
        Some(Process {
            id: self.child.id()?,
            executable: executable.canonicalize().ok()?,
        })
    }

    /// Waits until the program ends by itself.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn ended(&mut self) -> Failure {
        match self.child.wait().await {
            Ok(status) => Failure::new(format!("{} ended: {status}", self.name)),
            Err(error) => Failure::from(error),
        }
    }

    /// Sends SIGTERM to the program, waits for its end, and kills it after a timeout.
    ///
    /// # Cancel safety
    /// Dropping the future kills the program.
    pub(crate) async fn stop(mut self) {
        if tell_to_end(&self.child)
            && tokio::time::timeout(SHUTDOWN_TIMEOUT, self.child.wait())
                .await
                .is_ok()
        {
            return;
        }
        // The only way to fail is that it has ended already.
        let _ = self.child.kill().await;
    }
}

/// Shields a program from the terminal's signals, such as Ctrl-C: the parent process ends it with SIGTERM.
#[cfg(unix)]
pub(crate) fn apart(command: &mut Command) {
    command.process_group(0);
}

/// Does nothing: this system has no process groups.
#[cfg(not(unix))]
pub(crate) fn apart(_: &mut Command) {}

/// Ends a program whose starter was killed, and returns whether it still ran.
#[cfg(target_os = "linux")]
pub(crate) async fn end_left_over(program: &Process) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let path = format!("/proc/{}/exe", program.id);
    let expected = program.executable.display();
    // The number may be another program's by now. One that was built again since is called as in the second name.
    let names = [expected.to_string(), format!("{expected} (deleted)")];
    let runs = || {
        let found = std::fs::read_link(&path).ok();
        found.is_some_and(|found| names.iter().any(|name| found == Path::new(name)))
    };
    let id = i32::try_from(program.id).ok().and_then(Pid::from_raw);
    let Some(id) = id.filter(|_| runs()) else {
        return false;
    };
    // It may end by itself at this very moment.
    let _ = kill_process(id, Signal::TERM);
    let ended = async {
        while runs() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    if tokio::time::timeout(SHUTDOWN_TIMEOUT, ended).await.is_err() && runs() {
        let _ = kill_process(id, Signal::KILL);
    }
    true
}

/// Returns false: this system does not tell which executable a process runs.
#[cfg(not(target_os = "linux"))]
pub(crate) async fn end_left_over(_: &Process) -> bool {
    false
}

/// Sends SIGTERM to the program, and returns whether that succeeded.
#[cfg(unix)]
pub(crate) fn tell_to_end(child: &Child) -> bool {
    use rustix::process::{Pid, Signal, kill_process};
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    let id = id.and_then(Pid::from_raw);
    id.is_some_and(|id| kill_process(id, Signal::TERM).is_ok())
}

/// Returns false: this system has no SIGTERM.
#[cfg(not(unix))]
pub(crate) fn tell_to_end(_: &Child) -> bool {
    false
}

/// Shows what the program prints, for as long as it does.
fn pass_on(ui: &Arc<Ui>, name: &str, mut lines: Lines<impl AsyncBufRead + Unpin + Send + 'static>) {
    let (ui, name) = (Arc::clone(ui), name.to_owned());
    tokio::spawn(async move {
        while let Ok(Some(line)) = lines.next_line().await {
            ui.note(format!("{name} | {line}"));
        }
    });
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

/// Time between SIGTERM and SIGKILL. A program's own shutdown timeout is thirty seconds by default.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(35);
