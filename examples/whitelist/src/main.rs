//! Runs the controller, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run(whitelist::app)
}
