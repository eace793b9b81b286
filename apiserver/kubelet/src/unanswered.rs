//! What only a kubelet could answer: the one reason for which the API server answers 501.

use std::fmt::{self, Display};

use kubewright_apimachinery::status::Status;

/// A request that needs a container which does not run, or a part of one that a program does not have.
///
/// Its text says what a test can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unanswered {
    /// `nodes/proxy`: no kubelet listens on a node.
    Node,
    /// `pods/proxy` and `services/proxy`: the image of the pod has no program.
    Proxy,
    /// `pods/log`: the image of the container has no program.
    Log,
    /// `pods/exec` in a container whose image has a program: it has no file system and no shell.
    Program {
        /// The name of the container.
        container: String,
        /// The command that was asked for, as one line.
        command: String,
    },
    /// `pods/exec` of a command that simulated containers do not know.
    Command {
        /// The name of the container.
        container: String,
        /// The command that was asked for, as one line.
        command: String,
    },
    /// `pods/attach` to a simulated container.
    Output {
        /// The name of the container.
        container: String,
    },
    /// `pods/attach` with standard input to a container whose image has a program.
    Input {
        /// The name of the container.
        container: String,
    },
}

impl Unanswered {
    /// One of each, about a container and a command with these names.
    pub fn all(container: &str, command: &str) -> [Self; 7] {
        let (container, command) = (container.to_owned(), command.to_owned());
        [
            Self::Command {
                container: container.clone(),
                command: command.clone(),
            },
            Self::Program {
                container: container.clone(),
                command,
            },
            Self::Output {
                container: container.clone(),
            },
            Self::Input { container },
            Self::Log,
            Self::Proxy,
            Self::Node,
        ]
    }
}

impl Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ATTACH: &str = "answer in a test with `on_attach` of the cluster's pods";
        const EXEC: &str = "answer in a test with `on_exec` of the cluster's pods";
        const IMAGE: &str = "give the image a program (`Workloads::container`, or `--container` of `kubewright apiserver`)";
        match self {
            Self::Node => f.write_str("no kubelet listens on a node of this server"),
            Self::Proxy => write!(
                f,
                "the containers of the pod are simulated, so there is nothing to connect to: {IMAGE}"
            ),
            Self::Log => write!(
                f,
                "the container is simulated, so there are no logs to read: {IMAGE}"
            ),
            Self::Program { container, command } => write!(
                f,
                "container {container} runs a program that was given for its image, in which `{command}` cannot be run: {EXEC}"
            ),
            Self::Command { container, command } => write!(
                f,
                "container {container} is simulated, and what `{command}` does is not known: {EXEC}"
            ),
            Self::Output { container } => {
                write!(
                    f,
                    "container {container} is simulated and has no output: {ATTACH}"
                )
            }
            Self::Input { container } => write!(
                f,
                "container {container} reads no standard input of clients: {ATTACH}"
            ),
        }
    }
}

impl From<Unanswered> for Status {
    fn from(unanswered: Unanswered) -> Self {
        Self::new(501, "NotImplemented", unanswered.to_string())
    }
}
