//! The group scheduling.k8s.io.

mod priority_class;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "PriorityClass" => Arc::new(priority_class::PriorityClass),
        _ => return None,
    })
}
