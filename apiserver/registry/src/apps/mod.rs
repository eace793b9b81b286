//! The group apps.

mod controller_revision;
mod daemon_set;
mod deployment;
mod replica_set;
mod stateful_set;
pub(crate) mod status;
pub(crate) mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ControllerRevision" => Arc::new(controller_revision::ControllerRevision),
        "DaemonSet" => Arc::new(daemon_set::DaemonSet),
        "Deployment" => Arc::new(deployment::Deployment),
        "ReplicaSet" => Arc::new(replica_set::ReplicaSet),
        "StatefulSet" => Arc::new(stateful_set::StatefulSet),
        _ => return None,
    })
}
