//! Runs the operator, or writes its manifests.

use std::process::ExitCode;

/// Gives memory back after a burst of requests; the allocator of the system may keep it.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright::run_with(valkey_operator::app)
}
