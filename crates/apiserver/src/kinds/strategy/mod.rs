//! What a write may set: status, generation, immutable metadata, and the part that each sub-resource owns.

mod app_armor;
mod behavior;
mod decoded;
mod definitions;
pub(crate) use decoded::{as_decoded, conversion_fault};
mod gates;
mod pods;
pub(crate) use pods::quality_of_service;
mod read_back;
pub(crate) use read_back::{empty_maps, is_read_back, read_back};
pub mod scale;
pub mod services;
#[cfg(test)]
mod tests;
mod warnings;

use kubewright_apimachinery::equality;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};
use uuid::Uuid;

use super::Resource;
use super::conversion;
use super::defaults::status;
use crate::admission::User;
use crate::rest::now;

pub(crate) use app_armor::sync as sync_app_armor;
pub use behavior::{Behavior, Propagation, behavior, grace_period};
pub use warnings::warnings;

/// Prepares a new object for its first write: what clients may not set is reset, what the server owns is filled in.
/// The name (also a generated one) and the uid must be set before.
pub fn prepare_for_create(resource: &Resource, object: &mut Value) {
    if let Some(custom) = &resource.custom {
        return custom.prepare_for_create(object);
    }
    if has_generation(resource)
        && let Some(metadata) = object.part("metadata")
    {
        metadata.put("generation", 1);
    }
    if owns_status(resource) {
        // A status that clients cannot set on creation starts as Go's zero value.
        let claimed = object.at("status").at("qosClass").clone();
        object.put("status", empty());
        if resource.kind == "Pod" && claimed.is_string() {
            object.put("status", json!({ "qosClass": claimed }));
        }
        status::fill(resource, object);
    }
    gates::close(resource, object);
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Pod") => pods::create(object),
        ("", "Namespace") => namespace(object),
        ("", "ServiceAccount") => service_account(object),
        ("", "LimitRange") => {
            if let Some(metadata) = object.part("metadata") {
                metadata.fill_text("name", &Uuid::new_v4().to_string());
            }
        }
        ("", "PersistentVolumeClaim") => {
            data_sources(object, &Value::Null);
            if let Some(status) = object.part("status") {
                status.drop_field("phase");
            }
        }
        ("certificates.k8s.io", "CertificateSigningRequest") => {
            object.put("status", empty());
        }
        ("storage.k8s.io", "VolumeAttributesClass") => protect(object),
        ("", "PersistentVolume") => {
            if let Some(status) = object.part("status") {
                status.put("lastPhaseTransitionTime", now());
            }
        }
        ("", "Node") => {
            drop_part(object, "spec", "configSource");
            drop_part(object, "status", "config");
        }
        ("apps", "DaemonSet") => template_generation(object, None),
        ("coordination.k8s.io", "Lease") => coordinated(object, &Value::Null),
        ("discovery.k8s.io", "EndpointSlice") => without_topology(object),
        ("batch", "Job") => job(object),
        ("autoscaling", "HorizontalPodAutoscaler") if resource.version == "v1" => {
            conversion::keep_autoscaler_annotations(true, object, &Value::Null);
        }
        ("apiextensions.k8s.io", _) => definitions::create(object),
        _ => {}
    }
}

/// Prepares a changed object: what this path may not change is taken from the stored object. `subresource` is empty
/// for the object itself, otherwise `status`, `finalize`, `approval`, `ephemeralcontainers`, `resize`.
pub fn prepare_for_update(resource: &Resource, subresource: &str, new: &mut Value, old: &Value) {
    let old_metadata = old.at("metadata");
    if let Some(metadata) = new.part("metadata") {
        for field in ["generation", "creationTimestamp"] {
            metadata.take_from(old_metadata, field);
        }
        // What a deletion has set stays; what none has set is refused later.
        if old_metadata.has("deletionTimestamp") {
            metadata.take_from(old_metadata, "deletionTimestamp");
        }
        let grace = "deletionGracePeriodSeconds";
        if old_metadata.has(grace) && !metadata.has(grace) {
            metadata.take_from(old_metadata, grace);
        }
        if metadata.text("uid").is_empty() {
            metadata.take_from(old_metadata, "uid");
        }
    }
    if let Some(custom) = &resource.custom {
        return custom.prepare_for_update(subresource, new, old);
    }
    // What of a slice is behind a closed gate is dropped only after it counted as a change.
    let sliced = resource.kind == "ResourceSlice" && is_new_generation(resource, new, old);
    match subresource {
        "" => update(resource, new, old),
        "status" => update_status(resource, new, old),
        "approval" => {
            condition_times(new, old);
            let mut status = old.at("status").clone();
            status.take_from(new.at("status"), "conditions");
            new.take_from(old, "spec");
            new.put("status", status);
        }
        "finalize" => new.take_from(old, "status"),
        "ephemeralcontainers" => pods::ephemeral_containers(new, old),
        "resize" => pods::resize(new, old),
        _ => {}
    }
    let counted = matches!(subresource, "" | "ephemeralcontainers" | "resize");
    // Drivers are only counted once they change.
    let has_generation = has_generation(resource) || resource.kind == "CSIDriver";
    if counted && has_generation && (sliced || is_new_generation(resource, new, old)) {
        let generation = old_metadata.int("generation").unwrap_or(0).wrapping_add(1);
        if let Some(metadata) = new.part("metadata") {
            metadata.put("generation", generation);
        }
    }
    // What is lost counts as a change.
    if resource.group == "discovery.k8s.io" {
        without_topology(new);
    }
}

fn update(resource: &Resource, new: &mut Value, old: &Value) {
    gates::close(resource, new);
    if owns_status(resource) || resource.kind == "Node" {
        new.take_from(old, "status");
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace") => {
            if let Some(spec) = new.part("spec") {
                spec.take_from(old.at("spec"), "finalizers");
            }
        }
        ("", "Node") if !old.at("spec").has("configSource") => {
            drop_part(new, "spec", "configSource");
        }
        ("", "Service") => services::normalize_addresses(new, Some(old)),
        ("", "ServiceAccount") => service_account(new),
        ("", "PersistentVolumeClaim") => data_sources(new, old),
        ("apps", "DaemonSet") => template_generation(new, Some(old)),
        ("coordination.k8s.io", "Lease") => coordinated(new, old),
        ("certificates.k8s.io", "CertificateSigningRequest") => new.take_from(old, "spec"),
        ("autoscaling", "HorizontalPodAutoscaler") if resource.version == "v1" => {
            conversion::keep_autoscaler_annotations(true, new, old);
        }
        ("apiextensions.k8s.io", _) => definitions::update(new, old),
        _ => {}
    }
}

fn drop_part(object: &mut Value, part: &str, field: &str) {
    if let Some(part) = object.existing(part) {
        part.drop_field(field);
    }
}

fn update_status(resource: &Resource, new: &mut Value, old: &Value) {
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    if matches!(
        kind,
        "ValidatingAdmissionPolicy" | "ResourceClaim" | "ServiceCIDR" | "VolumeAttachment"
    ) {
        reset_metadata(new, old);
    }
    match (group, kind) {
        ("", "Pod") => {
            if let Some(metadata) = new.part("metadata") {
                metadata.take_from(old.at("metadata"), "deletionTimestamp");
            }
            pods::status(new, old);
        }
        ("resource.k8s.io", "ResourceClaim") => {
            new.take_from(old, "spec");
            forget_devices(new, old);
        }
        ("", "PersistentVolume") => {
            new.take_from(old, "spec");
            phase_time(new, old);
        }
        ("certificates.k8s.io", _) => {
            new.take_from(old, "spec");
            condition_times(new, old);
        }
        ("apps", "Deployment") => {
            if let Some(metadata) = new.part("metadata") {
                metadata.take_from(old.at("metadata"), "labels");
            }
            new.take_from(old, "spec");
        }
        ("autoscaling", "HorizontalPodAutoscaler") if resource.version == "v1" => {
            new.take_from(old, "spec");
            conversion::keep_autoscaler_annotations(false, new, old);
        }
        ("apps", "DaemonSet") => {
            new.take_from(old, "spec");
            template_generation(new, Some(old));
        }
        _ => new.take_from(old, "spec"),
    }
}

/// What drivers said of devices goes with the devices.
fn forget_devices(new: &mut Value, old: &Value) {
    let results = |claim: &Value| {
        let allocation = claim.at("status").at("allocation");
        allocation.at("devices").list("results").to_vec()
    };
    let (had, has) = (results(old), results(new));
    let Some(status) = new.existing("status") else {
        return;
    };
    let mut said = status.list("devices").to_vec();
    said.retain(|device| {
        let is_it = |result: &Value| device_identity(result) == device_identity(device);
        has.iter().any(is_it) || !had.iter().any(is_it)
    });
    if said.is_empty() {
        status.drop_field("devices");
    } else {
        status.put("devices", said);
    }
}

/// By what a device is known in a claim.
pub(crate) fn device_identity(device: &Value) -> [&str; 4] {
    ["driver", "pool", "device", "shareID"].map(|field| device.text(field))
}

/// What only the main path may change in the metadata.
fn reset_metadata(new: &mut Value, old: &Value) {
    let Some(metadata) = new.part("metadata") else {
        return;
    };
    for field in [
        "deletionTimestamp",
        "generation",
        "selfLink",
        "labels",
        "annotations",
        "finalizers",
        "ownerReferences",
    ] {
        metadata.take_from(old.at("metadata"), field);
    }
}

/// Whether clients can set the status only through its own path.
fn owns_status(resource: &Resource) -> bool {
    match (resource.group.as_str(), resource.kind.as_str()) {
        // Nodes come with their status.
        ("", "Node") => false,
        _ => resource.subresource("status").is_some(),
    }
}

fn has_generation(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        ("", "Pod" | "PodTemplate" | "ReplicationController")
            | (
                "apps",
                "Deployment" | "ReplicaSet" | "StatefulSet" | "DaemonSet"
            )
            | ("batch", "Job" | "CronJob")
            | (
                "networking.k8s.io",
                "Ingress" | "IngressClass" | "NetworkPolicy"
            )
            | ("policy", "PodDisruptionBudget")
            | ("scheduling.k8s.io", "PriorityClass")
            | ("discovery.k8s.io", "EndpointSlice")
            | (
                "flowcontrol.apiserver.k8s.io"
                    | "admissionregistration.k8s.io"
                    | "apiextensions.k8s.io",
                _
            )
            | ("resource.k8s.io", "ResourceSlice" | "DeviceClass")
    )
}

fn is_new_generation(resource: &Resource, new: &Value, old: &Value) -> bool {
    let kind = resource.group_version_kind();
    let changed = |field: &str| !equality::same_field(&kind, field, new, old);
    let metadata_changed = |field: &str| {
        let (new, old) = (new.at("metadata").at(field), old.at("metadata").at(field));
        !same(new, old)
    };
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("apps", "Deployment") => changed("spec") || metadata_changed("annotations"),
        ("", "PodTemplate") => changed("template"),
        ("scheduling.k8s.io", "PriorityClass") => false,
        ("discovery.k8s.io", "EndpointSlice") => {
            metadata_changed("labels")
                || ["addressType", "endpoints", "ports"]
                    .into_iter()
                    .any(changed)
        }
        // These two kinds tell an empty list from none.
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => new.at("webhooks") != old.at("webhooks"),
        ("networking.k8s.io", "NetworkPolicy") => new.at("spec") != old.at("spec"),
        _ => changed("spec"),
    }
}

/// Equality as the API server sees it: absent, null and empty are one.
pub(crate) fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.iter().all(|(key, value)| same(value, b.at(key)))
                && y.iter()
                    .all(|(key, value)| x.contains_key(key) || is_zero(value))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        _ => a == b || (is_zero(a) && is_zero(b)),
    }
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
        _ => false,
    }
}

fn namespace(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    if !name.is_empty()
        && let Some(labels) = object
            .part("metadata")
            .and_then(|metadata| metadata.part("labels"))
    {
        labels.put("kubernetes.io/metadata.name", name);
    }
    if let Some(spec) = object.part("spec") {
        let mut finalizers = spec.list("finalizers").to_vec();
        if !finalizers.iter().any(|name| name == "kubernetes") {
            finalizers.push("kubernetes".into());
        }
        spec.put("finalizers", finalizers);
    }
}

/// Of references to secrets only the names are kept.
fn service_account(object: &mut Value) {
    for secret in object.each("secrets") {
        *secret = match secret.text("name") {
            "" => empty(),
            name => json!({ "name": name }),
        };
    }
}

/// `dataSource` and `dataSourceRef` say the same, and only the second one may name what is neither a claim nor a
/// snapshot (KEP-1495). Sources of other namespaces are behind a gate.
fn data_sources(object: &mut Value, old: &Value) {
    let old = old.at("spec");
    let Some(spec) = object.existing("spec") else {
        return;
    };
    if !spec.at("dataSourceRef").text("namespace").is_empty() && !old.has("dataSourceRef") {
        spec.drop_field("dataSourceRef");
    }
    let source = spec.at("dataSource");
    let known = matches!(
        (source.text("apiGroup"), source.text("kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    let was = old.has("dataSource") || old.has("dataSourceRef");
    if !was && !spec.has("dataSourceRef") && !known {
        spec.drop_field("dataSource");
    }
    if spec.has("dataSource") && !spec.has("dataSourceRef") {
        let source = spec.at("dataSource").clone();
        spec.put("dataSourceRef", source);
    } else if spec.has("dataSourceRef")
        && !spec.has("dataSource")
        && spec.at("dataSourceRef").text("namespace").is_empty()
    {
        let mut source = spec.at("dataSourceRef").clone();
        source.drop_field("namespace");
        spec.put("dataSource", source);
    }
}

/// Elections by the server itself are behind a gate.
fn coordinated(new: &mut Value, old: &Value) {
    if let Some(spec) = new.existing("spec") {
        for field in ["strategy", "preferredHolder"] {
            if !old.at("spec").has(field) {
                spec.drop_field(field);
            }
        }
    }
}

/// The first version has no topology any more; what only older ones said is lost.
fn without_topology(object: &mut Value) {
    for endpoint in object.each("endpoints") {
        endpoint.drop_field("deprecatedTopology");
    }
}

/// A class of attributes stays until no volume has it.
fn protect(object: &mut Value) {
    const FINALIZER: &str = "kubernetes.io/vac-protection";
    if let Some(metadata) = object.part("metadata") {
        let mut finalizers = metadata.list("finalizers").to_vec();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            finalizers.push(FINALIZER.into());
            metadata.put("finalizers", finalizers);
        }
    }
}

/// When the phase of a volume changed, unless the client says it.
fn phase_time(new: &mut Value, old: &Value) {
    let field = "lastPhaseTransitionTime";
    let before = old.at("status");
    let Some(status) = new.part("status") else {
        return;
    };
    if status.text("phase") == before.text("phase") {
        if !status.has(field) {
            status.take_from(before, field);
        }
    } else if !status.has(field) || status.at(field) == before.at(field) {
        status.put(field, now());
    }
}

/// Conditions of a request for a certificate are timed when they come.
fn condition_times(new: &mut Value, old: &Value) {
    let time = now();
    let before = old.at("status").list("conditions");
    let Some(status) = new.existing("status") else {
        return;
    };
    for condition in status.each("conditions") {
        condition.fill("lastUpdateTime", time.clone());
        let same = |other: &&Value| {
            let field = |name: &str| other.text(name) == condition.text(name);
            field("type") && field("status") && other.has("lastTransitionTime")
        };
        let since = before.iter().find(same);
        let since = since.map_or_else(
            || time.clone().into(),
            |c| c.at("lastTransitionTime").clone(),
        );
        condition.fill("lastTransitionTime", since);
    }
}

/// Who asks for a certificate, which nobody can say of himself.
pub(crate) fn asked_by(resource: &Resource, object: &mut Value, user: &User) {
    if resource.group != "certificates.k8s.io" || resource.kind != "CertificateSigningRequest" {
        return;
    }
    if let Some(spec) = object.part("spec") {
        for (field, value) in [
            ("username", json!(user.username)),
            ("uid", json!(user.uid)),
            ("groups", json!(user.groups)),
            ("extra", json!(user.extra)),
        ] {
            if is_zero(&value) || value == "" {
                spec.drop_field(field);
            } else {
                spec.put(field, value);
            }
        }
    }
}

const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// The number of the template, which version 1 keeps in an annotation.
fn template_generation(new: &mut Value, old: Option<&Value>) {
    let number = |object: &Value| -> i64 {
        let annotations = object.at("metadata").at("annotations");
        annotations.text(TEMPLATE_GENERATION).parse().unwrap_or(0)
    };
    let next = match old {
        None => number(new).max(1),
        Some(old) => {
            let [new, was] = [&*new, old].map(|object| object.at("spec").at("template"));
            let changed = !equality::same_type("api.core.v1.PodTemplateSpec", new, was);
            number(old) + i64::from(changed)
        }
    };
    if let Some(annotations) = new
        .part("metadata")
        .and_then(|metadata| metadata.part("annotations"))
    {
        annotations.put(TEMPLATE_GENERATION, next.to_string());
    }
}

/// Labels that tie the pods to this very job, and the selector that finds them.
fn job(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    let uid = object.at("metadata").text("uid").to_owned();
    let Some(spec) = object.part("spec") else {
        return;
    };
    if spec.flag("manualSelector") {
        return;
    }
    if let Some(labels) = spec
        .part("template")
        .and_then(|template| template.part("metadata"))
        .and_then(|metadata| metadata.part("labels"))
    {
        for (key, value) in [
            ("job-name", &name),
            ("batch.kubernetes.io/job-name", &name),
            ("controller-uid", &uid),
            ("batch.kubernetes.io/controller-uid", &uid),
        ] {
            labels.fill(key, value.as_str());
        }
    }
    if let Some(labels) = spec
        .part("selector")
        .and_then(|selector| selector.part("matchLabels"))
    {
        labels.fill("batch.kubernetes.io/controller-uid", uid);
    }
}
