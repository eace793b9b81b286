//! Validation: which objects of the built-in kinds are refused, and with which words.
//!
//! Checks run in the API server's order, since its errors are shown in that order. A correct object costs no
//! allocation worth speaking of: paths are written out only for errors.

mod access;
mod check;
mod config;
mod cron;
mod events;
mod jobs;
mod metadata;
mod networking;
mod pod;
mod quotas;
mod scaling;
mod services;
mod storage;
#[cfg(test)]
mod tests;
mod webhooks;
mod workloads;

use serde_json::Value;

use super::Resource;
use crate::field::FieldError;

/// Checks a new object after defaults, admission and `strategy::prepare_for_create`.
pub fn create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata::create(resource, object, &mut errors);
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => pod::create(object, &mut errors),
        (group @ ("" | "events.k8s.io"), "Event") => events::create(group, object, &mut errors),
        _ => own(resource, object, &mut errors),
    }
    if has_webhooks(resource) {
        webhooks::match_conditions(object, &Value::Null, &mut errors);
    }
    errors
}

/// Checks a changed object after `strategy::prepare_for_update`.
pub fn update(resource: &Resource, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    metadata::update(resource, new, old, &mut errors);
    let out = &mut errors;
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    match (group, kind, subresource) {
        ("", "Pod", "") => pod::update(new, old, out),
        ("" | "events.k8s.io", "Event", "") => events::update(group, new, old, out),
        ("", "Pod", "status") => pod::status(new, old, out),
        ("", "Pod", "ephemeralcontainers") => pod::ephemeral_containers(new, old, out),
        ("", "Pod", "resize") => pod::resize(new, old, out),
        ("", "Namespace", "status") => config::namespace_status(new, out),
        ("", "Namespace", "finalize") => config::namespace_finalize(new, out),
        ("", "Namespace", "") => {}
        (_, _, "status") => workloads::status(kind, new, out),
        (_, _, "") => {
            changed(resource, new, old, out);
            own(resource, new, out);
            if group == "apps" && matches!(kind, "Deployment" | "ReplicaSet" | "DaemonSet") {
                workloads::selector_update(new, old, out);
            }
            if has_webhooks(resource) {
                webhooks::match_conditions(new, old, out);
            }
        }
        _ => {}
    }
    errors
}

/// Checks what is sent to a sub-resource with a kind of its own: `Scale`, `Binding`.
pub fn part(kind: &str, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match kind {
        "Scale" => config::scale(object, &mut errors),
        "Binding" => config::binding(object, &mut errors),
        _ => {}
    }
    errors
}

fn has_webhooks(resource: &Resource) -> bool {
    resource.group == "admissionregistration.k8s.io"
        && resource.kind.ends_with("WebhookConfiguration")
}

/// What only an update can do wrong.
fn changed(resource: &Resource, new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "ConfigMap") => config::sealed(&["data", "binaryData"], new, old, errors),
        ("", "Secret") => {
            let root = crate::field::Path::root();
            check::immutable(new, old, &root, "type", errors);
            config::sealed(&["data"], new, old, errors);
        }
        ("", "Service") => services::service_update(new, old, errors),
        ("", "Node") => config::node_update(new, old, errors),
        ("", "ResourceQuota") => quotas::quota_update(new, old, errors),
        ("", "PersistentVolumeClaim") => storage::claim_update(new, old, errors),
        ("", "PersistentVolume") => storage::volume_update(new, old, errors),
        ("apps", "StatefulSet") => workloads::stateful_update(new, old, errors),
        ("apps", "ControllerRevision") => {
            check::immutable(new, old, &crate::field::Path::root(), "data", errors);
        }
        ("batch", "Job") => jobs::job_update(new, old, errors),
        ("networking.k8s.io", "IngressClass") => {
            networking::ingress_class_update(new, old, errors);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            access::binding_update(new, old, errors);
        }
        ("scheduling.k8s.io", "PriorityClass") => {
            config::priority_class_update(new, old, errors);
        }
        ("storage.k8s.io", "StorageClass") => storage::class_update(new, old, errors),
        ("discovery.k8s.io", "EndpointSlice") => {
            check::immutable(new, old, &crate::field::Path::root(), "addressType", errors);
        }
        _ => {}
    }
}

/// The rules of the kind itself, for new and changed objects alike.
fn own(resource: &Resource, object: &Value, errors: &mut Vec<FieldError>) {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    match (group, kind) {
        ("", "PodTemplate") => {
            let path = crate::field::Path::new("template");
            pod::template(&object["template"], &path, errors);
        }
        ("", "ReplicationController") => workloads::replication_controller(object, errors),
        ("", "Service") => services::service(object, errors),
        ("", "Endpoints") => services::endpoints(object, errors),
        ("", "ConfigMap") => config::config_map(object, errors),
        ("", "Secret") => config::secret(object, errors),
        ("", "Namespace") => config::namespace(object, errors),
        ("", "Node") => config::node(object, errors),
        ("", "ResourceQuota") => quotas::quota(object, errors),
        ("", "LimitRange") => quotas::limit_range(object, errors),
        ("", "PersistentVolume") => storage::volume(object, errors),
        ("", "PersistentVolumeClaim") => storage::claim(object, errors),
        ("apps", "Deployment") => workloads::deployment(object, errors),
        ("apps", "ReplicaSet") => workloads::replica_set(object, errors),
        ("apps", "StatefulSet") => workloads::stateful_set(object, errors),
        ("apps", "DaemonSet") => workloads::daemon_set(object, errors),
        ("apps", "ControllerRevision") => config::controller_revision(object, errors),
        ("batch", "Job") => jobs::job(object, errors),
        ("batch", "CronJob") => jobs::cron_job(object, errors),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            scaling::autoscaler(&resource.version, object, errors);
        }
        ("policy", "PodDisruptionBudget") => scaling::disruption_budget(object, errors),
        ("networking.k8s.io", "Ingress") => networking::ingress(object, errors),
        ("networking.k8s.io", "IngressClass") => networking::ingress_class(object, errors),
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy(object, errors),
        ("discovery.k8s.io", "EndpointSlice") => services::endpoint_slice(object, errors),
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => {
            access::role(kind, object, errors);
        }
        ("rbac.authorization.k8s.io", "RoleBinding" | "ClusterRoleBinding") => {
            access::binding(kind, object, errors);
        }
        ("coordination.k8s.io", "Lease") => config::lease(object, errors),
        ("scheduling.k8s.io", "PriorityClass") => config::priority_class(object, errors),
        ("node.k8s.io", "RuntimeClass") => config::runtime_class(object, errors),
        ("storage.k8s.io", "StorageClass") => storage::class(object, errors),
        ("storage.k8s.io", "CSIDriver") => config::csi_driver(object, errors),
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            config::signing_request(object, errors);
        }
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => webhooks::configuration(object, errors),
        _ => {}
    }
}
