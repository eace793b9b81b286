//! Locks whose holders never panic while they hold them, so that poison means nothing.

pub(crate) use std::sync::{Mutex, RwLock};

use std::sync::{LockResult, PoisonError};

/// The guard of a lock that was taken.
pub(crate) fn locked<G>(result: LockResult<G>) -> G {
    result.unwrap_or_else(PoisonError::into_inner)
}
