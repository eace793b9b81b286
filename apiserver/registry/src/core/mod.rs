//! The core group, whose name is empty, but for its events.

mod component_status;
mod config_map;
mod endpoints;
mod limit_range;
mod namespace;
mod node;
mod persistent_volume;
mod persistent_volume_claim;
pub(crate) mod pod;
mod pod_template;
mod replication_controller;
mod resource_quota;
mod secret;
pub(crate) mod service;
mod service_account;
pub(crate) mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "ComponentStatus" => Arc::new(component_status::ComponentStatus),
        "ConfigMap" => Arc::new(config_map::ConfigMap),
        "Endpoints" => Arc::new(endpoints::Endpoints),
        "LimitRange" => Arc::new(limit_range::LimitRange),
        "Namespace" => Arc::new(namespace::Namespace),
        "Node" => Arc::new(node::Node),
        "PersistentVolume" => Arc::new(persistent_volume::PersistentVolume),
        "PersistentVolumeClaim" => Arc::new(persistent_volume_claim::PersistentVolumeClaim),
        "Pod" => Arc::new(pod::Pod::NEWEST),
        "PodTemplate" => Arc::new(pod_template::PodTemplate),
        "ReplicationController" => Arc::new(replication_controller::ReplicationController),
        "ResourceQuota" => Arc::new(resource_quota::ResourceQuota),
        "Secret" => Arc::new(secret::Secret),
        "Service" => Arc::new(service::Service::NEWEST),
        "ServiceAccount" => Arc::new(service_account::ServiceAccount),
        _ => return None,
    })
}
