//! A process that may use only so much memory: in a control group, or else by its own limit.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

/// A process within a limit of memory, which is killed when this is dropped.
#[derive(Debug)]
pub struct Confined {
    child: Child,
    output: BufReader<ChildStdout>,
    _group: Option<Group>,
}

/// A control group of this process's own, which is removed when it is dropped.
#[derive(Debug)]
struct Group(PathBuf);

impl Confined {
    /// Starts a program within a limit of memory, in bytes.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub fn start(program: &Path, arguments: &[&str], memory: usize) -> Result<Self> {
        let group = Group::limited_to(memory);
        let mut command = Command::new("sh");
        match &group {
            Some(Group(directory)) => command
                .args(["-c", r#"echo $$ > "$0/cgroup.procs" && exec "$@""#])
                .arg(directory),
            // Without a control group what it may allocate is limited.
            None => command
                .args(["-c", r#"ulimit -d "$0" && exec "$@""#])
                .arg((memory / 1024).to_string()),
        };
        let mut child = command
            .arg(program)
            .args(arguments)
            // Stacks count where there is no control group: as many threads as a small container has.
            .env("TOKIO_WORKER_THREADS", "2")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .with_context(|| format!("starting {}", program.display()))?;
        let output = child.stdout.take().context("it has no output")?;
        Ok(Self {
            child,
            output: BufReader::new(output),
            _group: group,
        })
    }

    /// Returns what follows these words in the next line that it prints.
    ///
    /// # Errors
    ///
    /// When it prints something else, or nothing for a long time.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future may lose a part of the line.
    pub async fn says(&mut self, words: &str) -> Result<String> {
        let mut line = String::new();
        timeout(PATIENCE, self.output.read_line(&mut line)).await??;
        let said = line.trim_end().strip_prefix(words);
        said.map(str::to_owned)
            .with_context(|| format!("it says {line:?} instead of {words:?}"))
    }

    /// Returns how much memory it has of its own, in bytes: pages of files, such as its program, are the system's to take back.
    ///
    /// # Errors
    ///
    /// When it has ended, as if it was killed for its memory, or the system does not say.
    pub fn memory(&mut self) -> Result<usize> {
        let ended = self.child.try_wait()?;
        ensure!(ended.is_none(), "the process has ended: {ended:?}");
        let id = self.child.id().context("the process has ended")?;
        let status = fs::read_to_string(format!("/proc/{id}/status"))?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
        let kibibytes: usize = kibibytes.context("no RssAnon")?.parse()?;
        Ok(kibibytes * 1024)
    }
}

impl Group {
    fn limited_to(memory: usize) -> Option<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        own.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let (top, limit) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            // Where it cannot be beside this process, it can be at the top.
            [path.trim_start_matches('/'), ""].iter().find_map(|path| {
                let name = format!("confined-{}-{}", std::process::id(), next_number());
                let group = Self(Path::new(top).join(path).join(name));
                fs::create_dir(&group.0).ok()?;
                fs::write(group.0.join(limit), memory.to_string()).ok()?;
                group.0.join("cgroup.procs").exists().then_some(group)
            })
        })
    }
}

/// A number that no other thread of this process has.
fn next_number() -> usize {
    use std::sync::atomic::{AtomicUsize, Ordering};
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

impl Drop for Group {
    fn drop(&mut self) {
        // A process that was just killed is in it for a moment more.
        for _ in 0..1000 {
            if fs::remove_dir(&self.0).is_ok() || !self.0.exists() {
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

const PATIENCE: Duration = Duration::from_mins(1);
