//! Validation: which objects of the built-in kinds are refused, and with which words.
//!
//! Checks run in the API server's order, since its errors are shown in that order. A correct object costs no
//! allocation worth speaking of: paths are written out only for errors.

mod access;
mod asn1;
mod attachments;
mod check;
mod config;
mod cron;
pub(crate) mod definitions;
mod devices;
mod events;
mod flowcontrol;
mod indexes;
mod job_policies;
mod job_status;
mod jobs;
mod metadata;
pub(crate) use metadata::{embedded as embedded_metadata, field_manager};
mod networking;
mod pod;
mod quotas;
mod requests;
mod scaling;
pub(in crate::kinds) mod services;
mod status;
mod storage;
#[cfg(test)]
mod tests;
mod volume_sources;
mod webhooks;
mod workloads;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::{Map, Value};

use super::Resource;

/// The labels or annotations that a conversion webhook gave an object, at the paths that the real server shows.
pub(crate) fn converted_entries(field: &str, entries: &Map<String, Value>) -> Vec<FieldError> {
    let mut holder = Map::new();
    holder.insert(field.to_owned(), Value::Object(entries.clone()));
    let (holder, path) = (Value::Object(holder), Path::new("metadata"));
    let mut errors = Vec::new();
    if field == "labels" {
        check::labels(&holder, &path, field, &mut errors);
    } else {
        check::annotations_at(&holder, &path.child("annotation"), &mut errors);
    }
    errors
}

/// The metadata of a new object that a definition made; its name is a subdomain.
pub(crate) fn custom_metadata(resource: &Resource, object: &Value, errors: &mut Vec<FieldError>) {
    metadata::named(
        resource.namespaced,
        object,
        names::dns1123_subdomain,
        errors,
    );
}

/// The metadata of a changed object, as every storage checks them.
pub(crate) fn any_changed_metadata(
    resource: &Resource,
    new: &Value,
    old: &Value,
    errors: &mut Vec<FieldError>,
) {
    metadata::common(resource, new, errors);
    metadata::changed(new, old, errors);
}

/// The same, as most strategies check them again.
pub(crate) fn changed_metadata(new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    metadata::changed(new, old, errors);
}

/// Checks a new object after defaults, admission and `strategy::prepare_for_create`.
pub fn create(resource: &Resource, object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let out = &mut errors;
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apiextensions.k8s.io", "CustomResourceDefinition") => definitions::create(object, out),
        ("", "Pod") => {
            metadata::create(resource, object, out);
            pod::create(object, out);
        }
        ("" | "events.k8s.io", "Event") => events::create(resource, object, out),
        // The strategy of budgets looks at the spec alone; the metadata come after it, if it is fine.
        ("policy", _) => {
            own(resource, object, &Value::Null, out);
            if out.is_empty() {
                metadata::create(resource, object, out);
            }
        }
        // Any name will do for the strategy of requests.
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            metadata::named(resource.namespaced, object, |_| Vec::new(), out);
            own(resource, object, &Value::Null, out);
        }
        _ => {
            metadata::create(resource, object, out);
            own(resource, object, &Value::Null, out);
        }
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("networking.k8s.io", "Ingress") => networking::ingress_annotation(object, out),
        ("batch", "CronJob") => jobs::name_of_cron_job(object, out),
        _ => {}
    }
    if errors.is_empty() {
        metadata::fits_into_a_path(object, &mut errors);
    }
    errors
}

/// Checks a changed object after `strategy::prepare_for_update`.
///
/// The API server looks at the metadata of every changed object, and then the strategy of its kind does so again, some
/// of them twice: a wrong label is told several times over.
pub fn update(resource: &Resource, subresource: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let out = &mut errors;
    any_changed_metadata(resource, new, old, out);
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    match (group, kind, subresource) {
        ("apiextensions.k8s.io", _, "") => definitions::update(new, old, out),
        ("apiextensions.k8s.io", _, "status") => definitions::update_status(new, old, out),
        ("", "Pod", "") => pod::update(resource, new, old, out),
        ("", "Pod", "status") => pod::status(new, old, out),
        ("", "Pod", "ephemeralcontainers") => pod::ephemeral_containers(resource, new, old, out),
        ("", "Pod", "resize") => pod::resize(resource, new, old, out),
        ("" | "events.k8s.io", "Event", "") => events::update(resource, new, old, out),
        ("certificates.k8s.io", "CertificateSigningRequest", _) => {
            requests::update(subresource, new, old, out);
        }
        (_, _, "") => {
            for step in sequence(group, kind) {
                match step {
                    Step::Changed => metadata::kind_changed(resource, new, old, out),
                    // The names of device classes are validated when they are created, by declarative rules.
                    Step::Metadata if kind == "DeviceClass" => {
                        metadata::named(false, new, |_| Vec::new(), out);
                    }
                    Step::Metadata => metadata::create(resource, new, out),
                    Step::Difference => changed(resource, new, old, out),
                    Step::Object => own(resource, new, old, out),
                }
            }
        }
        ("apps", "StatefulSet", "status") => {
            status::check(group, kind, new, old, out);
            metadata::kind_changed(resource, new, old, out);
        }
        ("batch", "CronJob", "status") => {}
        ("policy" | "flowcontrol.apiserver.k8s.io", _, "status") => {
            status::check(group, kind, new, old, out);
        }
        ("", "Service", "status") => {
            metadata::kind_changed(resource, new, old, out);
            services::status(new, out);
        }
        (_, _, "status") => {
            metadata::kind_changed(resource, new, old, out);
            status::check(group, kind, new, old, out);
        }
        ("", "Namespace", "finalize") => {
            metadata::kind_changed(resource, new, old, out);
            config::namespace_finalize(new, out);
        }
        _ => {}
    }
    errors
}

/// One part of what a strategy does with a changed object.
#[derive(Clone, Copy)]
enum Step {
    /// The metadata, against those that are stored.
    Changed,
    /// The metadata, as those of a new object.
    Metadata,
    /// What only an update can do wrong.
    Difference,
    /// The kind's own rules.
    Object,
}

/// The order in which the strategy of a kind checks a changed object.
fn sequence(group: &str, kind: &str) -> &'static [Step] {
    use Step::{Changed, Difference, Metadata, Object};
    match (group, kind) {
        ("", "ConfigMap" | "Secret" | "ServiceAccount" | "Endpoints")
        | ("networking.k8s.io", "Ingress" | "IngressClass")
        | ("storage.k8s.io", "VolumeAttributesClass") => &[Changed, Difference, Metadata, Object],
        ("", "PersistentVolumeClaim") | ("apps", "ControllerRevision") => {
            &[Changed, Metadata, Object, Difference]
        }
        ("", "PersistentVolume") => &[Metadata, Object, Metadata, Object, Difference],
        (
            "" | "apps",
            "ResourceQuota" | "ReplicationController" | "Deployment" | "ReplicaSet" | "StatefulSet",
        )
        | ("storage.k8s.io", "CSIDriver") => &[Changed, Object, Difference],
        ("", "Namespace" | "Node")
        | ("batch", "Job")
        | ("networking.k8s.io", "IPAddress")
        | ("resource.k8s.io", "ResourceClaimTemplate")
        | ("storage.k8s.io", "StorageClass" | "CSIStorageCapacity")
        | ("node.k8s.io" | "rbac.authorization.k8s.io", _) => {
            &[Metadata, Object, Changed, Difference]
        }
        ("discovery.k8s.io", _) | ("storage.k8s.io", "VolumeAttachment" | "CSINode") => {
            &[Metadata, Object, Difference]
        }
        ("", "LimitRange")
        | ("flowcontrol.apiserver.k8s.io" | "admissionregistration.k8s.io", _) => {
            &[Metadata, Object]
        }
        ("policy", _) => &[Object],
        ("resource.k8s.io", "DeviceClass" | "ResourceClaim") => {
            &[Metadata, Changed, Difference, Object]
        }
        ("scheduling.k8s.io", "PriorityClass") => &[Changed, Difference],
        _ => &[Changed, Difference, Object],
    }
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

/// What only an update can do wrong.
fn changed(resource: &Resource, new: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "ConfigMap") => config::sealed(&["data", "binaryData"], new, old, errors),
        ("", "Secret") => {
            let root = Path::root();
            check::immutable_as("s", new, old, &root, "type", errors);
            config::sealed(&["data"], new, old, errors);
        }
        ("", "Service") => services::service_update(new, old, errors),
        ("", "Node") => config::node_update(new, old, errors),
        ("", "ResourceQuota") => quotas::quota_update(new, old, errors),
        ("", "PersistentVolumeClaim") => storage::claim_update(new, old, errors),
        ("", "PersistentVolume") => storage::volume_update(new, old, errors),
        ("apps", "Deployment" | "ReplicaSet" | "DaemonSet") => {
            workloads::selector_update(new, old, errors);
        }
        ("apps", "StatefulSet") => workloads::stateful_update(new, old, errors),
        // The data are bytes to the server: an empty object is not nothing.
        ("apps", "ControllerRevision") if new.at("data") != old.at("data") => {
            let at = Path::new("data");
            let value = new.at("data").clone();
            errors.push(FieldError::invalid(&at, value, check::IMMUTABLE));
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
        ("storage.k8s.io", kind) => attachments::update(kind, new, old, errors),
        ("resource.k8s.io", kind) => devices::update(kind, new, old, errors),
        ("node.k8s.io", "RuntimeClass") => {
            let root = Path::root();
            check::immutable_as("s", new, old, &root, "handler", errors);
        }
        ("networking.k8s.io", "ServiceCIDR") => {
            networking::service_range_update(new, old, errors);
        }
        ("networking.k8s.io", "IPAddress") => {
            let (new, old) = (new.at("spec"), old.at("spec"));
            check::immutable(new, old, &Path::new("spec"), "parentRef", errors);
        }
        ("discovery.k8s.io", "EndpointSlice") => {
            let root = Path::root();
            check::immutable_as("s", new, old, &root, "addressType", errors);
        }
        _ => {}
    }
}

/// The rules of the kind itself, for new objects and for changed ones; `old` is null for new ones.
fn own(resource: &Resource, object: &Value, old: &Value, errors: &mut Vec<FieldError>) {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    match (group, kind) {
        ("", "PodTemplate") => {
            let path = Path::new("template");
            pod::template(&object["template"], &path, errors);
        }
        ("", "ReplicationController") => workloads::replication_controller(object, errors),
        ("", "Service") => services::service(object, errors),
        ("", "Endpoints") => services::endpoints(object, old, errors),
        ("", "ConfigMap") => config::config_map(object, errors),
        ("", "Secret") => config::secret(object, errors),
        ("", "Namespace") => config::namespace(object, errors),
        ("", "Node") => config::node(object, errors),
        ("", "ResourceQuota") => quotas::quota(object, errors),
        ("", "LimitRange") => quotas::limit_range(object, errors),
        ("", "PersistentVolume") => storage::volume(object, errors),
        ("", "PersistentVolumeClaim") => storage::claim(object, old, errors),
        ("apps", "Deployment") => workloads::deployment(object, errors),
        ("apps", "ReplicaSet") => workloads::replica_set(object, errors),
        ("apps", "StatefulSet") => workloads::stateful_set(object, old, errors),
        ("apps", "DaemonSet") => workloads::daemon_set(object, errors),
        ("apps", "ControllerRevision") => config::controller_revision(object, old, errors),
        ("batch", "Job") => jobs::job(object, old, errors),
        ("batch", "CronJob") => jobs::cron_job(object, errors),
        ("autoscaling", "HorizontalPodAutoscaler") => {
            scaling::autoscaler(&resource.version, object, errors);
        }
        ("policy", "PodDisruptionBudget") => scaling::disruption_budget(object, errors),
        ("networking.k8s.io", "Ingress") => networking::ingress(object, errors),
        ("networking.k8s.io", "IngressClass") => networking::ingress_class(object, errors),
        ("networking.k8s.io", "NetworkPolicy") => networking::network_policy(object, errors),
        ("discovery.k8s.io", "EndpointSlice") => services::endpoint_slice(object, old, errors),
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
        ("storage.k8s.io", kind) => attachments::check(kind, object, errors),
        ("resource.k8s.io", kind) => devices::check(kind, object, old, errors),
        ("certificates.k8s.io", "CertificateSigningRequest") => requests::create(object, errors),
        ("flowcontrol.apiserver.k8s.io", "FlowSchema") => flowcontrol::schema(object, errors),
        ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration") => {
            flowcontrol::priority_level(object, errors);
        }
        ("networking.k8s.io", "ServiceCIDR") if old.is_null() => {
            networking::service_range(object, errors);
        }
        ("networking.k8s.io", "IPAddress") => networking::address(object, errors),
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => webhooks::configuration(object, old, errors),
        _ => {}
    }
}
