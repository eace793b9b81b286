//! Versioned defaults: what the API server fills in after decoding and after every change by a webhook.
//!
//! Beside the defaulting functions of Kubernetes' own types, this also writes what Go's encoder always writes: parts
//! that are structs and not pointers (`resources: {}`, `status: {}`), and counters without `omitempty`.

mod admission;
mod autoscaling;
mod core;
mod definitions;
pub(crate) use definitions::storage_version;
mod devices;
mod image;
mod network;
mod pod;
pub(super) mod status;
#[cfg(test)]
mod tests;
mod volumes;
mod workloads;

use kubewright_apimachinery::view::Edit;
use serde_json::Value;

use super::Resource;

/// Fills in the defaults of the object's kind. Applying it twice changes nothing more.
pub fn apply(resource: &Resource, object: &mut Value) {
    if !object.is_object() {
        return;
    }
    if let Some(custom) = &resource.custom {
        return custom.default(object);
    }
    object.part("metadata");
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => pod::pod(object),
        ("", "PodTemplate") => pod::template(object, "template"),
        ("", "ReplicationController") => workloads::replication_controller(object),
        ("", "Service") => core::service(object),
        ("", "Namespace") => core::namespace(object),
        ("", "Secret") => core::secret(object),
        ("", "Node") => core::node(object),
        ("", "Endpoints") => core::endpoints(object),
        ("", "Event") => core::event(object),
        ("", "LimitRange") => core::limit_range(object),
        ("", "ResourceQuota") => core::resource_quota(object),
        ("", "PersistentVolume") => volumes::persistent_volume(object),
        ("", "PersistentVolumeClaim") => volumes::claim(object),
        ("apps", "Deployment") => workloads::deployment(object),
        ("apps", "ReplicaSet") => workloads::replica_set(object),
        ("apps", "StatefulSet") => workloads::stateful_set(object),
        ("apps", "DaemonSet") => workloads::daemon_set(object),
        ("batch", "Job") => workloads::job(object),
        ("batch", "CronJob") => workloads::cron_job(object),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            autoscaling::autoscaler(&resource.version, object);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            core::role_binding(object);
        }
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            object.fill("rules", Value::Null);
        }
        ("discovery.k8s.io", "EndpointSlice") => network::endpoint_slice(object),
        ("networking.k8s.io", "Ingress") => network::ingress(object),
        ("networking.k8s.io", "IngressClass") => network::ingress_class(object),
        ("networking.k8s.io", "NetworkPolicy") => network::network_policy(object),
        ("scheduling.k8s.io", "PriorityClass") => {
            object.fill("preemptionPolicy", "PreemptLowerPriority");
            object.fill("value", 0);
        }
        ("storage.k8s.io", "StorageClass") => {
            object.fill("reclaimPolicy", "Delete");
            object.fill("volumeBindingMode", "Immediate");
        }
        ("storage.k8s.io", "VolumeAttachment") => volumes::attachment(object),
        ("storage.k8s.io", "CSIDriver") => core::csi_driver(object),
        ("coordination.k8s.io", "Lease")
        | ("autoscaling", "Scale")
        | ("policy", "PodDisruptionBudget") => {
            object.part("spec");
        }
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => network::flow_schema(object),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            network::priority_level(object);
        }
        ("resource.k8s.io", "ResourceClaim") => devices::claim(object),
        ("resource.k8s.io", "ResourceSlice") => devices::slice(object),
        ("resource.k8s.io", "ResourceClaimTemplate") => {
            if let Some(spec) = object.part("spec") {
                devices::claim(spec);
            }
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::apply(object),
        ("admissionregistration.k8s.io", _) => admission::apply(&resource.kind, object),
        _ => {}
    }
    status::fill(resource, object);
}
