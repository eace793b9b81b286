//! Runs the hook, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run_with(topolvm_hook::app)
}
