//! The group apiregistration.k8s.io.

mod api_service;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "APIService" => Arc::new(api_service::APIService),
        _ => return None,
    })
}
