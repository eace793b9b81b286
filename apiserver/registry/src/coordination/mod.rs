//! The group coordination.k8s.io.

mod lease;
mod lease_candidate;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Lease" => Arc::new(lease::Lease),
        "LeaseCandidate" => Arc::new(lease_candidate::LeaseCandidate),
        _ => return None,
    })
}
