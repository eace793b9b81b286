//! The servers as processes of their own, and the processor's time they take.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result};
use kubewright_certificates::TrustBundle;
use replicas::Confined;
use serde::{Deserialize, Serialize};

/// Which server a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Kind {
    /// The constant answer.
    Echo,
    /// The webhooks.
    Webhooks,
    /// Probes and metrics.
    Diagnostics,
    /// The embedded API server.
    #[value(name = "apiserver")]
    ApiServer,
    /// Handshakes with a certificate that never changes.
    FixedCertificate,
    /// Handshakes with a certificate that changes all the time.
    LiveCertificate,
}

/// What a server says about itself once it listens.
#[derive(Serialize, Deserialize)]
pub(crate) struct Hello {
    pub(crate) address: SocketAddr,
    pub(crate) trust: String,
    pub(crate) token: Option<String>,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Webhooks => "webhooks",
            Self::Diagnostics => "diagnostics",
            Self::ApiServer => "apiserver",
            Self::FixedCertificate => "fixed-certificate",
            Self::LiveCertificate => "live-certificate",
        }
    }
}

impl Hello {
    fn read(line: &str) -> Result<Self> {
        serde_json::from_str(line).context("the server did not start")
    }
}

/// Starts the webhooks in a limit of memory, in bytes; returns their address and the certificates that they are trusted by.
pub(crate) async fn confined_webhooks(
    memory: usize,
) -> Result<(Confined, SocketAddr, TrustBundle)> {
    let program = std::env::current_exe()?;
    let mut process = Confined::start(&program, &["serve", Kind::Webhooks.name()], memory).await?;
    let hello = Hello::read(&process.line().await?)?;
    let trust = TrustBundle::from_pem(hello.trust)?;
    Ok((process, hello.address, trust))
}

/// A server that runs until it is dropped.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The file with the server's trust bundle.
    pub(crate) trust: PathBuf,
    pub(crate) token: Option<String>,
}

impl Process {
    /// Starts a server on a processor of its own, or wherever the system likes.
    pub(crate) fn start(kind: Kind, processor: Option<usize>, dir: &Path) -> Result<Self> {
        let mut child = this_program(processor)
            .args(["serve", kind.name()])
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the server")?;
        let output = child.stdout.take().context("the server has no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let hello = Hello::read(&line)?;
        let trust = dir.join(format!("{}.pem", kind.name()));
        std::fs::write(&trust, hello.trust)?;
        Ok(Self {
            child,
            address: hello.address,
            trust,
            token: hello.token,
        })
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The time that the server's threads have run, from the scheduler's accounts.
    pub(crate) fn processor_time(&self) -> Result<Duration> {
        let mut nanoseconds = 0;
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let account = std::fs::read_to_string(task?.path().join("schedstat"))?;
            let first = account.split(' ').next().context("an empty account")?;
            nanoseconds += first.parse::<u64>()?;
        }
        Ok(Duration::from_nanos(nanoseconds))
    }
}

/// What a process has of the machine's memory, in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) now: u64,
    /// The most it has had so far.
    pub(crate) peak: u64,
}

impl Memory {
    /// The memory of a process, `self` for this one.
    pub(crate) fn of(process: &str) -> Result<Self> {
        let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
        let bytes = |name: &str| -> Result<u64> {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let line = line.with_context(|| format!("no {name} in the accounts"))?;
            let kibibytes = line.trim().trim_end_matches(" kB").parse::<u64>()?;
            Ok(kibibytes * 1024)
        };
        Ok(Self {
            now: bytes("VmRSS:")?,
            peak: bytes("VmHWM:")?,
        })
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// This program again, bound to a processor if it should and the system can.
pub(crate) fn this_program(processor: Option<usize>) -> Command {
    let this = std::env::current_exe().unwrap_or_else(|_| PathBuf::from("bench"));
    let Some(number) = processor.filter(|_| Command::new("taskset").arg("-V").output().is_ok())
    else {
        return Command::new(this);
    };
    let mut command = Command::new("taskset");
    command.arg("-c").arg(number.to_string()).arg(this);
    command
}
