//! The states of a container.

/// What became of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContainerStatus {
    /// What it does now.
    pub state: ContainerState,
    /// How it ended before it was started again.
    pub last: Option<Terminated>,
    /// How often it was started again.
    pub restarts: u32,
    /// Whether its probes say that it is ready.
    pub ready: bool,
    /// Whether its startup probe has succeeded.
    pub started: bool,
}

/// The state of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the three states of the API")]
pub enum ContainerState {
    /// It does not run yet, or not yet again.
    Waiting {
        /// One word.
        reason: String,
        /// A sentence.
        message: String,
    },
    /// It runs.
    Running {
        /// Since when.
        since: String,
    },
    /// It has ended.
    Terminated(Terminated),
}

/// How a container ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Terminated {
    /// The exit code.
    pub code: i32,
    /// One word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// When it was started.
    pub started: String,
    /// When it ended.
    pub finished: String,
}

impl Default for ContainerState {
    fn default() -> Self {
        Self::Waiting {
            reason: "ContainerCreating".to_owned(),
            message: String::new(),
        }
    }
}

impl ContainerState {
    /// How the container ended.
    pub fn terminated(&self) -> Option<&Terminated> {
        match self {
            Self::Terminated(terminated) => Some(terminated),
            _ => None,
        }
    }
}
