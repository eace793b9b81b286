//! The group node.k8s.io.

mod runtime_class;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "RuntimeClass" => Arc::new(runtime_class::RuntimeClass),
        _ => return None,
    })
}
