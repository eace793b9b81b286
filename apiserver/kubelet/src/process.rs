//! A container as a process.

use std::path::Path;
use std::process::Stdio;

use bytes::Bytes;
use futures::future::join;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};
use tokio::process::{Child, Command};
use tokio::time::{Duration, timeout};

use crate::arguments::placed;
use crate::container::Container;
use crate::log::Log;
use crate::program::Process;

/// How a process ended.
pub(crate) type Exit = Result<i32, String>;

impl Process {
    /// Runs the process of a container until it ends. When the future is dropped, it is killed.
    pub(crate) async fn run(&self, container: &Container) -> Exit {
        let arguments = self.arguments(container)?;
        let spawned = self.command(container).args(arguments).spawn();
        let path = self.path.display();
        let mut child = spawned.map_err(|error| format!("cannot run {path}: {error}"))?;
        let _group = Group(child.id());
        let output = join(
            copy(child.stdout.take(), &container.log),
            copy(child.stderr.take(), &container.log),
        );
        let mut output = std::pin::pin!(output);
        let ended = async {
            tokio::select! {
                ended = child.wait() => return ended,
                () = container.stopped() => {}
            }
            terminate(&child);
            child.wait().await
        };
        let mut ended = std::pin::pin!(ended);
        let status = tokio::select! {
            status = &mut ended => {
                // A child of the process may hold its output open.
                let _ = timeout(Duration::from_secs(1), output).await;
                status
            }
            _ = &mut output => ended.await,
        };
        let status = status.map_err(|error| format!("cannot wait for {path}: {error}"))?;
        Ok(status.code().unwrap_or_else(|| killed(status)))
    }

    /// Runs a command in a container: the arguments of its program.
    pub(crate) fn command(&self, container: &Container) -> Command {
        let mut command = Command::new(&self.path);
        command
            .env_clear()
            .env("PATH", SEARCHED)
            .env("HOME", &container.directory)
            .envs(
                container
                    .env
                    .iter()
                    .map(|(name, value)| (name, placed(value, &container.mounts))),
            )
            .current_dir(&container.directory)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        #[cfg(unix)]
        command.process_group(0);
        command
    }

    fn arguments(&self, container: &Container) -> Result<Vec<String>, String> {
        let Container { command, args, .. } = container;
        let arguments = match command.split_first() {
            None if args.is_empty() => self.default_args.clone(),
            None => args.clone(),
            Some((program, first)) => {
                self.check(program)?;
                first.iter().chain(args).cloned().collect()
            }
        };
        let placed = arguments.iter().map(|text| placed(text, &container.mounts));
        Ok(placed.collect())
    }

    /// Checks that a command names this program: nothing else is run.
    pub(crate) fn check(&self, program: &str) -> Result<(), String> {
        if Path::new(program).file_name() == self.path.file_name() {
            return Ok(());
        }
        Err(format!(
            "exec: {program:?}: the image has the program {} and no other",
            self.path.display()
        ))
    }
}

/// As container runtimes set it for images that do not.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The most bytes of a line, as container runtimes cut them, so that one without an end does not grow in memory.
const LONGEST: u64 = 16 << 10;

async fn copy(output: Option<impl AsyncRead + Unpin>, log: &Log) {
    let Some(output) = output else {
        return;
    };
    let mut output = BufReader::new(output);
    let mut line = Vec::new();
    while let Ok(read) = (&mut output)
        .take(LONGEST)
        .read_until(b'\n', &mut line)
        .await
        && read > 0
    {
        log.write(Bytes::from(std::mem::take(&mut line)));
    }
}

#[cfg(unix)]
fn terminate(child: &Child) {
    let id = child.id().and_then(|id| i32::try_from(id).ok());
    if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
        // It may have ended just now.
        let _ = rustix::process::kill_process(id, rustix::process::Signal::TERM);
    }
}

#[cfg(not(unix))]
fn terminate(_: &Child) {}

/// The processes of a container. Those that the first one has started are killed with it.
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "other systems have no process groups")
)]
struct Group(Option<u32>);

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        let id = self.0.and_then(|id| i32::try_from(id).ok());
        if let Some(id) = id.and_then(rustix::process::Pid::from_raw) {
            // Most often none is left.
            let _ = rustix::process::kill_process_group(id, rustix::process::Signal::KILL);
        }
    }
}

/// The exit code of a process that a signal has ended.
#[cfg(unix)]
fn killed(status: std::process::ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt as _;
    128 + status.signal().unwrap_or_default()
}

#[cfg(not(unix))]
fn killed(_: std::process::ExitStatus) -> i32 {
    1
}
