//! Commands in containers that are simulated.

use std::fmt::Debug;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;
use tokio::time::{Duration, Instant, sleep_until};

use crate::streaming::{Outcome, Session};

/// Says what a command does in a simulated container.
pub trait Simulator: Debug + Send + Sync {
    /// What a command does in a container of a pod; none if it is not understood.
    fn exec(&self, pod: &Value, container: &str, command: &[String]) -> Option<Script>;
}

/// What a command writes, and how it ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a simulator makes it")]
pub struct Script {
    /// What it writes, in order.
    pub output: Vec<Written>,
    /// When it ends and its exit code; none for one that runs until it is stopped.
    pub end: Option<(Duration, u8)>,
}

/// Something that a command writes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a simulator makes it")]
pub struct Written {
    /// When, from its start.
    pub after: Duration,
    /// Whether it is an error.
    pub error: bool,
    /// The text.
    pub text: String,
}

impl Script {
    /// Does what the script says.
    ///
    /// # Cancel safety
    /// Dropping the future ends the command.
    pub async fn run(self, mut session: Session) -> Outcome {
        let start = Instant::now();
        for Written { after, error, text } in self.output {
            sleep_until(start + after).await;
            let output = if error {
                &mut session.stderr
            } else {
                &mut session.stdout
            };
            // A command whose output is not read any more goes on, as one that ignores SIGPIPE.
            drop(output.write_all(text.as_bytes()).await);
        }
        let Some((after, code)) = self.end else {
            return std::future::pending().await;
        };
        sleep_until(start + after).await;
        Outcome::Exit(code.into())
    }
}
