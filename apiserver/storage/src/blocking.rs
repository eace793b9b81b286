//! Waiting for a backend in the middle of a task.

use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

/// Waits, and lets other threads of the runtime run the other tasks meanwhile, if it has any.
pub(crate) fn blocking<T>(wait: impl FnOnce() -> T) -> T {
    let flavor = Handle::try_current().map(|runtime| runtime.runtime_flavor());
    match flavor {
        Ok(RuntimeFlavor::MultiThread) => block_in_place(wait),
        _ => wait(),
    }
}
