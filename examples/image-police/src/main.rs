//! Runs the police, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run_with(image_police::app)
}
