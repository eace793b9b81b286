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
}

impl Supervised {
    /// Starts a program in a folder that exists, and that ends with it.
    pub(super) fn start(
        folder: PathBuf,
        program: &Path,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> io::Result<Self> {
        let supervisor = Command::new("sh")
            .args(["-c", include_str!("supervise.sh"), "supervise"])
            .arg(&folder)
            .arg("-")
            .arg(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C is for the test: what it holds is cleaned up after it.
            .process_group(0)
            .spawn()?;
        Ok(Self { supervisor, folder })
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

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }
}

impl Drop for Supervised {
    fn drop(&mut self) {
        // Without this end of the pipe the supervisor kills its program, which takes milliseconds; one that has another
        // holder is left to it.
        if let Some(held) = self.supervisor.stdin.take() {
            drop(held);
            let _ = self.supervisor.wait();
        }
    }
}

fn last_lines(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let from = lines.len().saturating_sub(LINES);
    lines[from..].join("\n")
}

/// How much of a log stands in an error.
const LINES: usize = 12;
