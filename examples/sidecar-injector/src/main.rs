//! Runs the sidecar injector, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run_with(sidecar_injector::app)
}
