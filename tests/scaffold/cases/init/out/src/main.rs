//! Runs the program, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run(guard::app)
}
