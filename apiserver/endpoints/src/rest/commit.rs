//! The outcome of a commit to the store, as a request sees it.

use std::error::Error as _;
use std::sync::Arc;

use kubewright_apimachinery::status::{Result, Status};
use kubewright_storage::{CommitError, Object, Raced};

/// Tells a lost race, after which the object is read again, from a write that cannot be committed.
pub(crate) fn committed(
    outcome: std::result::Result<Arc<Object>, CommitError>,
) -> Result<std::result::Result<Arc<Object>, Raced>> {
    match outcome {
        Ok(object) => Ok(Ok(object)),
        Err(CommitError::Raced(raced)) => Ok(Err(raced)),
        Err(CommitError::Backend(error)) => {
            let cause = error.source().map(ToString::to_string);
            tracing::error!(%error, cause, "an object cannot be stored");
            Err(Status::internal(&error.to_string()))
        }
    }
}
