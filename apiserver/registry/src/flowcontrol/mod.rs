//! The group flowcontrol.apiserver.k8s.io.

mod conditions;
mod defaults;
mod flow_schema;
mod mandatory;
mod priority_level_configuration;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "FlowSchema" => Arc::new(flow_schema::FlowSchema),
        "PriorityLevelConfiguration" => {
            Arc::new(priority_level_configuration::PriorityLevelConfiguration)
        }
        _ => return None,
    })
}
