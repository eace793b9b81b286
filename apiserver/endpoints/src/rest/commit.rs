//! The outcome of a commit to the store, and the state of a shared one, as a request sees them.

use std::error::Error as _;
use std::sync::Arc;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_storage::{BackendError, CommitError, Object, Raced, Store};

/// Tells a lost race, after which the object is read again, from a write that cannot be committed.
pub(crate) fn committed(
    outcome: std::result::Result<Arc<Object>, CommitError>,
) -> Result<std::result::Result<Arc<Object>, Raced>> {
    match outcome {
        Ok(object) => Ok(Ok(object)),
        Err(CommitError::Raced(raced)) => Ok(Err(raced)),
        Err(CommitError::Backend(error)) => Err(failed(&error)),
    }
}

/// Waits until reads show what other servers have acknowledged.
pub(crate) async fn catch_up(store: &Store) -> Result<()> {
    store.catch_up().await.map_err(|error| failed(&error))
}

fn failed(error: &BackendError) -> Status {
    let cause = error.source().map(ToString::to_string);
    tracing::error!(%error, cause, "the backend of the store failed");
    Status::internal(&error.to_string())
}
