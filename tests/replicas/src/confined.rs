//! A process with a limit of memory, set by a control group or else by the process's own limit.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A process with a limit of memory. It is killed when this is dropped, and also when this process is killed.
#[derive(Debug)]
pub struct Confined {
    /// The shell that watches over the process for as long as its input is open.
    _guard: Child,
    output: BufReader<ChildStdout>,
    id: u32,
}

/// Starts a program, kills it when the input ends, and removes its control group.
const GUARD: &str = r#"
trap '' HUP INT TERM
limit=$1 place=$2
shift 2
sh -c "$limit"' && echo $$ && exec "$@"' "$place" "$@" </dev/null &
exec >/dev/null
read -r _
exec 2>/dev/null # A shell may report that the program was killed.
kill -9 $!
wait $!
# The program may have started others, and a group has its processes until they are gone entirely.
while [ -d "$place" ] && ! rmdir "$place"; do
  kill -9 $(cat "$place/cgroup.procs")
  sleep 0.1
done
"#;

/// Moves a shell into the control group.
const BY_GROUP: &str = r#"echo $$ >"$0/cgroup.procs""#;

/// Limits what a shell may allocate, in KiB.
const BY_DATA: &str = r#"ulimit -d "$0""#;

impl Confined {
    /// Starts a program with a limit of memory, in bytes.
    ///
    /// # Errors
    ///
    /// When the program cannot be started.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends the program.
    pub async fn start(program: &Path, arguments: &[&str], memory: usize) -> Result<Self> {
        let (limit, place) = match group(memory) {
            Some(directory) => (BY_GROUP, directory),
            None => (BY_DATA, PathBuf::from((memory / 1024).to_string())),
        };
        let mut guard = Command::new("sh")
            .args(["-c", GUARD, "sh", limit])
            .arg(place)
            .arg(program)
            .args(arguments)
            // Stacks count where there is no control group: as many threads as in a small container.
            .env("TOKIO_WORKER_THREADS", "2")
            // As an installed program has it.
            .env("MIMALLOC_PURGE_DELAY", "0")
            .env("MIMALLOC_PAGE_RECLAIM_ON_FREE", "-1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let output = guard.stdout.take().context("the process has no output")?;
        let mut confined = Self {
            _guard: guard,
            output: BufReader::new(output),
            id: 0,
        };
        let id = confined.line().await?;
        confined.id = id
            .parse()
            .with_context(|| format!("starting {}: it prints {id:?}", program.display()))?;
        Ok(confined)
    }

    /// Returns the next line that the program prints.
    ///
    /// # Errors
    ///
    /// When the program prints nothing for a long time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a part of the line.
    pub async fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        timeout(TIMEOUT, self.output.read_line(&mut line)).await??;
        line.truncate(line.trim_end().len());
        Ok(line)
    }

    /// Returns how much memory the process has.
    ///
    /// # Errors
    ///
    /// When the process has ended, as if it was killed for its memory.
    pub fn memory(&self) -> Result<Memory> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let bytes = |name| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            // A process that has ended has a status without memory.
            let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
            let kibibytes: usize = kibibytes.context("the process has ended")?.parse()?;
            anyhow::Ok(kibibytes * 1024)
        };
        Ok(Memory {
            anonymous: bytes("RssAnon:")?,
            resident: bytes("VmRSS:")?,
            peak: bytes("VmHWM:")?,
        })
    }
}

/// The memory of a process, in bytes.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Memory {
    /// The pages that only the process can give back: without those of files, such as its program.
    pub anonymous: usize,
    /// All pages.
    pub resident: usize,
    /// The most pages that it has had.
    pub peak: usize,
}

/// Makes a control group with a limit of memory inside of that of this process, where that is allowed.
fn group(memory: usize) -> Option<PathBuf> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    own.lines().find_map(|line| {
        let (controllers, own) = line.split_once(':')?.1.split_once(':')?;
        let (top, limit) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => return None,
        };
        let own = Path::new(top).join(own.trim_start_matches('/'));
        group_in(&own, limit, memory).ok()
    })
}

fn group_in(own: &Path, limit: &str, memory: usize) -> io::Result<PathBuf> {
    let group = tempfile::Builder::new()
        .prefix("confined-")
        .tempdir_in(own)?;
    let group = group.keep();
    // In version 2 a group has this file only if the one around it says so.
    let limited = fs::OpenOptions::new()
        .write(true)
        .open(group.join(limit))
        .and_then(|mut file| io::Write::write_all(&mut file, memory.to_string().as_bytes()));
    if let Err(error) = limited {
        fs::remove_dir(&group)?;
        return Err(error);
    }
    Ok(group)
}

const TIMEOUT: Duration = Duration::from_mins(1);
