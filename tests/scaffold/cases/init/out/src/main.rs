//! Runs the program, or prints its manifests.

use std::process::ExitCode;

/// Returns memory to the system after a burst of requests.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    kubewright::run(guard::app)
}
