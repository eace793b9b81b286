//! The group discovery.k8s.io.

mod endpoint_slice;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "EndpointSlice" => Arc::new(endpoint_slice::EndpointSlice),
        _ => return None,
    })
}
