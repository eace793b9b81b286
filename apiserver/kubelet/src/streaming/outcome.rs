//! How a command ended, as a kubelet says it on the error channel.

use serde_json::json;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a command ends in these ways alone"
)]
pub enum Outcome {
    /// With an exit code.
    Exit(i32),
    /// It could not be run, for this reason.
    Failed(String),
}

/// The exit code of a process that was killed.
pub(super) const KILLED: i32 = 137;

/// What a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Exec,
    Attach,
}

/// How the error channel says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// A Status, since the fourth version of the protocol.
    Status,
    /// A sentence, and nothing about a success.
    Text,
}

impl Outcome {
    /// The bytes for the error channel.
    pub(super) fn write(&self, form: Form, verb: Verb, command: &[String]) -> Vec<u8> {
        let (status, message) = match self {
            Self::Exit(0) => (json!({"metadata": {}, "status": "Success"}), String::new()),
            Self::Exit(code) => {
                let command = command.join(" ");
                let message = format!(
                    "command terminated with non-zero exit code: error executing command [{command}], exit code {code}"
                );
                let status = json!({
                    "metadata": {},
                    "status": "Failure",
                    "message": message,
                    "reason": "NonZeroExitCode",
                    "details": {"causes": [{"reason": "ExitCode", "message": code.to_string()}]},
                });
                (status, message)
            }
            Self::Failed(why) => {
                let what = match verb {
                    Verb::Exec => "error executing command in container",
                    Verb::Attach => "error attaching to container",
                };
                let cause = format!("{what}: {why}");
                let message = format!("Internal error occurred: {cause}");
                let status = json!({
                    "metadata": {},
                    "status": "Failure",
                    "message": message,
                    "reason": "InternalError",
                    "details": {"causes": [{"message": cause}]},
                    "code": 500,
                });
                (status, message)
            }
        };
        match form {
            Form::Status => status.to_string().into_bytes(),
            Form::Text => message.into_bytes(),
        }
    }
}
