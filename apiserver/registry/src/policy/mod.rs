//! The group policy.

mod pod_disruption_budget;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "PodDisruptionBudget" => Arc::new(pod_disruption_budget::PodDisruptionBudget),
        _ => return None,
    })
}
