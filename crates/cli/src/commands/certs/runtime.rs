//! The runtime of the commands that ask a cluster.

use anyhow::Context as _;

use crate::failure::{Failure, Outcome};

/// Waits for what a command does.
pub(super) fn run_with_runtime(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime
        .context("cannot start the runtime")
        .map_err(Failure::internal)?;
    runtime.block_on(work)
}
