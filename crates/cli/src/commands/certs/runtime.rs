//! The async runtime of the commands that connect to a cluster.

use anyhow::Context as _;

use crate::failure::{Failure, Outcome};

/// Runs a command to its end.
pub(super) fn run_with_runtime(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Runtime::new();
    let runtime = runtime
        .context("cannot start the runtime")
        .map_err(Failure::internal)?;
    runtime.block_on(work)
}
