//! A program that does not outlive the process that started it, and leaves no file behind.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program in a folder of its own. Both end when this is dropped, or when its holder ends in whatever way.
#[derive(Debug)]
pub(super) struct Supervised {
    supervisor: Child,
    folder: PathBuf,
    left_to_holder: bool,
}

/// Whom a program must not outlive.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holder {
    /// This process.
    This,
    /// The process with this number.
    Process(u32),
}

impl Supervised {
    /// Starts a program in a folder that exists, and that ends with it.
    pub(super) fn start(
        folder: PathBuf,
        holder: Holder,
        program: &Path,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> io::Result<Self> {
        let (stdin, holder) = match holder {
            Holder::This => (Stdio::piped(), "-".to_owned()),
            Holder::Process(id) => (Stdio::null(), id.to_string()),
        };
        let supervisor = Command::new("sh")
            .args(["-c", include_str!("supervise.sh"), "supervise"])
            .arg(&folder)
            .arg(holder)
            .arg(program)
            .args(arguments)
            .stdin(stdin)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the test: what it holds is cleaned up after it.
            .process_group(0)
            .spawn()?;
        Ok(Self {
            supervisor,
            folder,
            left_to_holder: false,
        })
    }

    /// The exit code of a program that has ended by itself.
    pub(super) fn ended(&self) -> Option<String> {
        let code = fs::read_to_string(self.folder.join("exit")).ok()?;
        Some(code.trim().to_owned())
    }

    /// The end of the program's log.
    pub(super) fn last_words(&self) -> String {
        last_lines(&fs::read_to_string(self.folder.join("log")).unwrap_or_default())
    }

    /// Lets the program live as long as its holder, whatever becomes of this.
    pub(super) fn leave_to_holder(mut self) {
        self.left_to_holder = true;
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        if self.left_to_holder {
            return;
        }
        // Without this end of the pipe the supervisor kills its program, which takes milliseconds.
        let told = match self.supervisor.stdin.take() {
            Some(held) => {
                drop(held);
                true
            }
            None => fs::write(self.folder.join("stop"), "").is_ok(),
        };
        if told {
            let _ = self.supervisor.wait();
        }
    }
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].join("\n")
}

/// Number of lines of a log that an error contains.
const LINES: usize = 12;
