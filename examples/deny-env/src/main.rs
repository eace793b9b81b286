//! Runs the deny-env webhooks, or writes their manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run_with(deny_env::app)
}
