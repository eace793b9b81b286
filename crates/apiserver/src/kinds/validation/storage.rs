//! Claims, persistent volumes and storage classes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::check::{
    Errors, immutable, immutable_as, label, one_of_if_set, problems, quantity, required, selector,
    subdomain,
};
use super::pod;
use crate::field::{FieldError, Path};
use crate::kinds::internal::difference;
use crate::kinds::names;
use crate::kinds::quantity::Quantity;
use crate::kinds::strategy::same;
use crate::kinds::view::{Edit, View};

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];
const VOLUME_MODES: [&str; 2] = ["Block", "Filesystem"];

/// The spec of a claim, also inside templates.
pub(super) fn claim_spec(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let modes = spec.list("accessModes");
    let modes_path = path.child("accessModes");
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(FieldError::required(&modes_path, detail));
    }
    if spec.has("selector") {
        selector(spec.at("selector"), &path.child("selector"), errors);
    }
    access_modes(modes, &modes_path, errors);
    let at = path.child("resources");
    let at = at.key("storage");
    let size = spec.at("resources").at("requests").at("storage");
    match Quantity::from_value(size) {
        None => errors.push(FieldError::required(&at, "")),
        Some(amount) if amount.is_negative() || amount.is_zero() => {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, size.clone(), detail));
        }
        Some(_) => quantity("storage", size, &at, errors),
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    one_of_if_set(spec, path, "volumeMode", &VOLUME_MODES, errors);
    for field in ["dataSource", "dataSourceRef"] {
        if spec.has(field) {
            data_source(spec.at(field), &path.child(field), errors);
        }
    }
    two_sources(spec, path, errors);
    let class = spec.text("volumeAttributesClassName");
    if !class.is_empty() {
        subdomain(&path.child("volumeAttributesClassName"), class, errors);
    }
}

pub(super) fn claim(object: &Value, errors: &mut Errors) {
    claim_spec(object.at("spec"), &Path::new("spec"), errors);
}

pub(super) fn claim_update(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let before = old.at("spec");
    let mut spec = new.at("spec").clone();
    let mut was = before.clone();
    if before.text("volumeName").is_empty() {
        was.take_from(&spec, "volumeName");
    }
    if !before.has("storageClassName") {
        spec.take_from(before, "storageClassName");
    }
    let bound = new.at("status").text("phase") == "Bound";
    let size =
        |spec: &Value| Quantity::from_value(spec.at("resources").at("requests").at("storage"));
    if bound {
        if let Some(requests) = spec
            .existing("resources")
            .and_then(|resources| resources.existing("requests"))
        {
            requests.take_from(before.at("resources").at("requests"), "storage");
        }
        if spec.has("volumeAttributesClassName") {
            spec.take_from(before, "volumeAttributesClassName");
        }
    }
    if !same(&spec, &was) {
        let detail = format!(
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound \
             claims\n{}",
            difference("PersistentVolumeClaimSpec", &was, &spec)
        );
        errors.push(FieldError::forbidden(&path, &detail));
    }
    let capacity = Quantity::from_value(old.at("status").at("capacity").at("storage"));
    if let (Some(now), Some(then)) = (size(new.at("spec")), size(before))
        && now < then
        && capacity.is_some_and(|capacity| now <= capacity)
    {
        let at = path.child("resources.requests.storage");
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden(&at, detail));
    }
    // The path lacks `spec`, as the real one does.
    let root = Path::root();
    immutable(new.at("spec"), before, &root, "volumeMode", errors);
}

pub(super) fn volume(object: &Value, errors: &mut Errors) {
    volume_spec(object.at("spec"), false, &Path::new("spec"), errors);
}

/// The spec of a persistent volume, also inside an attachment.
pub(super) fn volume_spec(spec: &Value, inline: bool, path: &Path<'_>, errors: &mut Errors) {
    if inline {
        let detail = "may not be specified in the context of inline volumes";
        for field in ["claimRef", "capacity"] {
            if !same(spec.at(field), &Value::Null) {
                errors.push(FieldError::forbidden(&path.child(field), detail));
            }
        }
        if !spec.has("csi") {
            let detail = "has to be specified in the context of inline volumes";
            errors.push(FieldError::required(&path.child("csi"), detail));
        }
    }
    let modes = spec.list("accessModes");
    let at = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    access_modes(modes, &at, errors);
    if !inline {
        capacity(spec, &path.child("capacity"), errors);
    }
    let policy = "persistentVolumeReclaimPolicy";
    if !inline {
        let policies = ["Delete", "Recycle", "Retain"];
        one_of_if_set(spec, path, policy, &policies, errors);
    } else if !matches!(spec.text(policy), "" | "Retain") {
        let detail = "may only be Retain in the context of inline volumes";
        errors.push(FieldError::forbidden(&path.child(policy), detail));
    }
    let (affinity, at) = (spec.at("nodeAffinity"), path.child("nodeAffinity"));
    if inline && !affinity.is_null() {
        let detail = "may not be specified in the context of inline volumes";
        errors.push(FieldError::forbidden(&at, detail));
    } else if affinity.has("required") {
        let at = at.child("required");
        pod::node_selector(affinity.at("required"), &at, errors);
    } else if !affinity.is_null() {
        let detail = "must specify required node constraints";
        errors.push(FieldError::required(&at.child("required"), detail));
    }
    source(spec, path, errors);
    if spec.at("hostPath").text("path") == "/" && spec.text(policy) == "Recycle" {
        let detail = "may not be 'recycle' for a hostPath mount of '/'";
        errors.push(FieldError::forbidden(&path.child(policy), detail));
    }
    let class = spec.text("storageClassName");
    if !class.is_empty() && inline {
        let detail = "may not be specified in the context of inline volumes";
        errors.push(FieldError::forbidden(
            &path.child("storageClassName"),
            detail,
        ));
    } else if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    one_of_if_set(spec, path, "volumeMode", &VOLUME_MODES, errors);
    let field = "volumeAttributesClassName";
    if spec.has(field) {
        let (class, at) = (spec.text(field), path.child(field));
        if class.is_empty() {
            errors.push(FieldError::required(&at, "an empty string is disallowed"));
        } else {
            subdomain(&at, class, errors);
        }
        if !spec.has("csi") {
            let detail = "has to be specified when using volumeAttributesClassName";
            errors.push(FieldError::required(&path.child("csi"), detail));
        }
    }
}

fn capacity(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let amounts = spec.map("capacity");
    if amounts.is_none_or(serde_json::Map::is_empty) {
        errors.push(FieldError::required(path, ""));
    }
    if amounts.is_none_or(|amounts| amounts.len() != 1 || !amounts.contains_key("storage")) {
        let value = spec.at("capacity").clone();
        errors.push(FieldError::not_supported(path, value, &["storage"]));
    }
    for (name, value) in spec.entries("capacity") {
        let at = path.key(name);
        let Some(amount) = Quantity::from_value(value) else {
            continue;
        };
        if amount.is_negative() {
            let detail = "must be a valid resource quantity";
            errors.push(FieldError::invalid_shown(&at, &amount.to_string(), detail));
        }
        if amount.is_negative() || amount.is_zero() {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, amount.to_string(), detail));
        }
    }
}

pub(super) fn volume_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    if SOURCES
        .iter()
        .any(|kind| !same(spec.at(kind), before.at(kind)))
    {
        let detail = format!(
            "spec.persistentvolumesource is immutable after creation\n{}",
            difference("PersistentVolumeSource", before, spec)
        );
        errors.push(FieldError::forbidden(
            &Path::new("spec.persistentvolumesource"),
            &detail,
        ));
    }
    let root = Path::root();
    immutable(spec, before, &root, "volumeMode", errors);
    if before.has("nodeAffinity") {
        let kind = "?VolumeNodeAffinity";
        immutable_as(kind, spec, before, &root, "nodeAffinity", errors);
    }
}

pub(super) fn class(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    provisioner(object, "provisioner", errors);
    parameters(object, errors);
    let policies = ["Delete", "Retain"];
    one_of_if_set(object, &root, "reclaimPolicy", &policies, errors);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(object, &root, "volumeBindingMode", &modes, errors);
    topologies(object, errors);
}

/// Who provides volumes of a class; upper case is taken, too.
pub(super) fn provisioner(object: &Value, field: &str, errors: &mut Errors) {
    let root = Path::root();
    if required(object, &root, field, errors) {
        let name = object.text(field).to_lowercase();
        let found = names::qualified_name(&name);
        problems(&root.child(field), &name, found, errors);
    }
}

/// What a class tells its provisioner.
pub(super) fn parameters(object: &Value, errors: &mut Errors) {
    let path = Path::new("parameters");
    let mut size = 0;
    for (key, value) in object.entries("parameters") {
        if key.is_empty() {
            let detail = "field can not be empty.";
            errors.push(FieldError::invalid(&path, key, detail));
        }
        size += key.len() + value.as_str().map_or(0, str::len);
    }
    if object.entries("parameters").count() > 512 {
        errors.push(FieldError::too_long(&path, 512));
    }
    if size > 256 * 1024 {
        errors.push(FieldError::too_long(&path, 256 * 1024));
    }
}

/// Where volumes of a class may be: terms that differ, of labels that have values.
fn topologies(object: &Value, errors: &mut Errors) {
    let path = Path::new("allowedTopologies");
    let terms = object.list("allowedTopologies");
    // The API server compares each term with as many empty ones as there are terms.
    let mut seen = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        let at = path.index(index);
        let at = at.child("matchLabelExpressions");
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, label) in term.list("matchLabelExpressions").iter().enumerate() {
            let at = at.index(index);
            let values = label.list("values");
            let path = at.child("values");
            if values.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            for (index, value) in values.iter().enumerate() {
                if values[..index].contains(value) {
                    errors.push(FieldError::duplicate(&path.index(index), value.clone()));
                }
            }
            let key = label.text("key");
            let found = names::qualified_name(key);
            problems(&at.child("key"), key, found, errors);
            if labels.contains_key(key) {
                errors.push(FieldError::duplicate(&at.child("key"), key));
            }
            labels.insert(key, values.iter().filter_map(Value::as_str).collect());
        }
        for other in &seen {
            if *other == labels {
                errors.push(FieldError::duplicate(&at, ""));
            }
        }
        seen.push(labels);
    }
}

pub(super) fn class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    for field in [
        "parameters",
        "provisioner",
        "reclaimPolicy",
        "volumeBindingMode",
    ] {
        immutable(new, old, &root, field, errors);
    }
}

/// The name of a CSI driver.
pub(super) fn driver_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    if name.len() > 63 {
        errors.push(FieldError::too_long(path, 63));
    }
    let lower = name.to_lowercase();
    if !name.is_empty() {
        problems(path, name, names::dns1123_subdomain(&lower), errors);
    }
}

const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

fn source(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut found = false;
    for kind in SOURCES {
        if !spec.has(kind) {
            continue;
        }
        let (source, at) = (spec.at(kind), path.child(kind));
        if found {
            let detail = "may not specify more than 1 volume type";
            let at = match kind {
                "cephfs" => path.child("cephFS"),
                _ => at,
            };
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        found = true;
        match kind {
            "hostPath" => pod::host_path(source, &at, errors),
            "nfs" => pod::nfs(source, &at, errors),
            "flocker" => pod::flocker(source, &at, errors),
            "csi" => {
                driver_name(source.text("driver"), &at.child("driver"), errors);
                required(source, &at, "volumeHandle", errors);
                for secret in [
                    "controllerPublishSecretRef",
                    "controllerExpandSecretRef",
                    "nodePublishSecretRef",
                    "nodeExpandSecretRef",
                ] {
                    if source.has(secret) {
                        secret_reference(source.at(secret), &at.child(secret), errors);
                    }
                }
            }
            "local" => {
                required(source, &at, "path", errors);
                if !spec.has("nodeAffinity") {
                    let detail = "Local volume requires node affinity";
                    errors.push(FieldError::required(&path.child("nodeAffinity"), detail));
                }
            }
            _ => {}
        }
    }
    if !found {
        let detail = "must specify a volume type";
        errors.push(FieldError::required(path, detail));
    }
}

fn secret_reference(reference: &Value, path: &Path<'_>, errors: &mut Errors) {
    if required(reference, path, "name", errors) {
        subdomain(&path.child("name"), reference.text("name"), errors);
    }
    if required(reference, path, "namespace", errors) {
        label(
            &path.child("namespace"),
            reference.text("namespace"),
            errors,
        );
    }
}

fn access_modes(modes: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for mode in modes {
        let mode = mode.as_str().unwrap_or_default();
        if !MODES.contains(&mode) {
            errors.push(FieldError::not_supported(path, mode, &MODES));
        }
    }
    let once = modes.iter().any(|mode| mode == "ReadWriteOncePod");
    let other = modes
        .iter()
        .filter_map(Value::as_str)
        .any(|mode| mode != "ReadWriteOncePod" && MODES.contains(&mode));
    if once && other {
        let detail = "may not use ReadWriteOncePod with other access modes";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// Both ways to name a source have to name the same one.
fn two_sources(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    if !spec.has("dataSource") || !spec.has("dataSourceRef") {
        return;
    }
    let (source, reference) = (spec.at("dataSource"), spec.at("dataSourceRef"));
    let same = |field: &str| source.at(field) == reference.at(field);
    let detail = if !reference.text("namespace").is_empty() {
        "may not be specified when dataSourceRef.namespace is specified"
    } else if !["apiGroup", "kind", "name"].into_iter().all(same) {
        "must match dataSourceRef"
    } else {
        return;
    };
    // Where the value belongs, the API server shows a path, of which nothing is seen.
    errors.push(FieldError::invalid_shown(path, "{}", detail));
}

fn data_source(source: &Value, path: &Path<'_>, errors: &mut Errors) {
    for field in ["name", "kind"] {
        required(source, path, field, errors);
    }
    let (group, kind) = (source.text("apiGroup"), source.text("kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        errors.push(FieldError::invalid(
            path,
            kind,
            "must be 'PersistentVolumeClaim' when referencing the default apiGroup",
        ));
    }
    if !group.is_empty() {
        subdomain(&path.child("apiGroup"), group, errors);
    }
    let namespace = source.text("namespace");
    if !namespace.is_empty() {
        label(&path.child("namespace"), namespace, errors);
    }
}
