//! Runs the annotate-pod webhook, or writes its manifests.

use std::process::ExitCode;

fn main() -> ExitCode {
    kubewright::run_with(annotate_pod::app)
}
