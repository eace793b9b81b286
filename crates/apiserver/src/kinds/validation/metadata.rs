//! Object metadata: names per kind, labels, annotations, owners, finalizers (spec C.4, C.9.1, C.9.2).

use serde_json::Value;

use super::check::{
    Errors, annotations, immutable, labels, not_negative, problems, qualified_name,
};
use crate::field::{FieldError, Path, quoted};
use crate::kinds::view::View;
use crate::kinds::{Resource, names};

pub(super) fn create(resource: &Resource, object: &Value, errors: &mut Errors) {
    let metadata = object.at("metadata");
    let path = Path::new("metadata");
    let name = metadata.text("name");
    let generated = metadata.text("generateName");
    if !generated.is_empty() {
        let base = without_dash(generated);
        let found = name_problems(resource, &base);
        problems(&path.child("generateName"), generated, found, errors);
    }
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required(&path.child("name"), detail));
    } else {
        let found = name_problems(resource, name);
        problems(&path.child("name"), name, found, errors);
    }
    let namespace = metadata.text("namespace");
    let namespace_path = path.child("namespace");
    if resource.namespaced {
        if namespace.is_empty() {
            errors.push(FieldError::required(&namespace_path, ""));
        } else {
            let found = names::dns1123_label(namespace);
            problems(&namespace_path, namespace, found, errors);
        }
    } else if !namespace.is_empty() {
        let detail = "not allowed on this type";
        errors.push(FieldError::forbidden(&namespace_path, detail));
    }
    common(resource, metadata, &path, errors);
}

/// What may not change, and what must still be right. The resource version is the store's business.
///
/// The real server looks at an update's metadata once for all kinds and again for the kind, and each time counts.
pub(super) fn update(resource: &Resource, new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("metadata");
    let (new, old) = (new.at("metadata"), old.at("metadata"));
    common(resource, new, &path, errors);
    changes(new, old, &path, errors);
    if asks_again(resource) {
        changes(new, old, &path, errors);
    }
    if asks_for_all_again(resource) {
        common(resource, new, &path, errors);
    }
}

fn asks_again(resource: &Resource) -> bool {
    !matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        ("", "Event") | ("policy", "PodDisruptionBudget")
    )
}

/// Kinds that check a changed object as a whole, too (measured on v1.36).
fn asks_for_all_again(resource: &Resource) -> bool {
    match resource.group.as_str() {
        "rbac.authorization.k8s.io" => true,
        "" => matches!(
            resource.kind.as_str(),
            "ConfigMap"
                | "Endpoints"
                | "Namespace"
                | "Node"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "Pod"
                | "Secret"
                | "ServiceAccount"
        ),
        "apps" => resource.kind == "ControllerRevision",
        "batch" => resource.kind == "Job",
        "networking.k8s.io" => matches!(resource.kind.as_str(), "Ingress" | "IngressClass"),
        "node.k8s.io" => resource.kind == "RuntimeClass",
        "resource.k8s.io" => matches!(resource.kind.as_str(), "DeviceClass" | "ResourceClaim"),
        "storage.k8s.io" => resource.kind == "StorageClass",
        _ => false,
    }
}

fn changes(new: &Value, old: &Value, path: &Path<'_>, errors: &mut Errors) {
    if old.has("deletionTimestamp") {
        let added: Vec<String> = new
            .list("finalizers")
            .iter()
            .filter(|name| !old.list("finalizers").contains(name))
            .filter_map(|name| name.as_str().map(quoted))
            .collect();
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                &path.child("finalizers"),
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    added.join(", ")
                ),
            ));
        }
    }
    for field in [
        "name",
        "namespace",
        "uid",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
    ] {
        immutable(new, old, path, field, errors);
    }
    labels(new, path, "labels", errors);
    annotations(new, path, errors);
    owners(new, path, errors);
}

fn common(resource: &Resource, metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    not_negative(metadata, path, "generation", errors);
    labels(metadata, path, "labels", errors);
    annotations(metadata, path, errors);
    owners(metadata, path, errors);
    finalizers(resource, metadata, path, errors);
}

fn owners(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("ownerReferences");
    let references = metadata.list("ownerReferences");
    let mut controller: Option<String> = None;
    // The real server's paths have no index here.
    for reference in references {
        let version = reference.text("apiVersion");
        let parts = version.split('/').count();
        if version.is_empty() || version.ends_with('/') || parts > 2 {
            errors.push(FieldError::invalid(
                &path.child("apiVersion"),
                version,
                "version must not be empty",
            ));
        }
        for field in ["kind", "name", "uid"] {
            if reference.text(field).is_empty() {
                errors.push(FieldError::invalid(
                    &path.child(field),
                    "",
                    "must not be empty",
                ));
            }
        }
        if version == "v1" && reference.text("kind") == "Event" {
            errors.push(FieldError::invalid(
                &path,
                reference.clone(),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if !reference.flag("controller") {
            continue;
        }
        let this = format!("{}/{}", reference.text("kind"), reference.text("name"));
        match &controller {
            Some(first) => errors.push(FieldError::invalid_as_shown(
                &path,
                &shown(references),
                &format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                ),
            )),
            None => controller = Some(this),
        }
    }
}

/// Owner references in the order of Go's struct.
fn shown(references: &[Value]) -> String {
    const FIELDS: [&str; 6] = [
        "apiVersion",
        "kind",
        "name",
        "uid",
        "controller",
        "blockOwnerDeletion",
    ];
    let all: Vec<String> = references
        .iter()
        .map(|reference| {
            let fields: Vec<String> = FIELDS
                .iter()
                .filter(|field| reference.has(field))
                .map(|field| format!("{}:{}", quoted(field), reference.at(field)))
                .collect();
            format!("{{{}}}", fields.join(","))
        })
        .collect();
    format!("[{}]", all.join(","))
}

fn finalizers(resource: &Resource, metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("finalizers");
    let all = metadata.list("finalizers");
    for name in all {
        qualified_name(&path, name.as_str().unwrap_or_default(), errors);
    }
    let has = |wanted: &str| all.iter().any(|name| name == wanted);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            &path,
            metadata.at("finalizers").clone(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
    // The core group and the workloads have this older rule as well.
    if matches!(resource.group.as_str(), "" | "apps" | "batch") {
        for (index, name) in all.iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            standard_finalizer(name, &path.index(index), errors);
        }
    }
}

pub(super) fn standard_finalizer(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let standard = matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    if !name.contains('/') && !standard {
        errors.push(FieldError::invalid(
            path,
            name,
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
}

fn name_problems(resource: &Resource, name: &str) -> Vec<String> {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Namespace" | "Service") => names::dns1123_label(name),
        // Events of the core group are taken as they come, however their sources name them.
        ("", "Event")
        | ("rbac.authorization.k8s.io" | "certificates.k8s.io" | "apiregistration.k8s.io", _) => {
            names::path_segment(name)
        }
        ("batch", "CronJob") => {
            let mut found = names::dns1123_subdomain(name);
            // The controller appends 11 characters for the names of jobs, which are labels.
            if found.is_empty() && name.len() > 52 {
                found.push("must be no more than 52 characters".to_owned());
            }
            found
        }
        _ => names::dns1123_subdomain(name),
    }
}

/// A prefix may end with a dash, since something will follow it.
fn without_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest.push('a');
            rest
        }
        _ => name.to_owned(),
    }
}
