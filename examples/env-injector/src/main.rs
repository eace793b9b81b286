//! Runs the injector, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run(env_injector::app)
}
