//! The group autoscaling.

mod conversion;
mod defaults;
mod horizontal_pod_autoscaler;
mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;
use horizontal_pod_autoscaler::HorizontalPodAutoscaler;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    if kind != "HorizontalPodAutoscaler" {
        return None;
    }
    let version = if version == "v1" { "v1" } else { "v2" };
    Some(Arc::new(HorizontalPodAutoscaler { version }))
}
