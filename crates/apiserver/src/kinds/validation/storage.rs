//! Claims, persistent volumes and storage classes.

use serde_json::Value;

use super::check::{
    Errors, immutable, label, one_of_if_set, problems, quantity, required, selector, subdomain,
};
use super::pod;
use crate::field::{FieldError, Path};
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
        errors.push(FieldError::forbidden(
            &path,
            "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n",
        ));
    }
    let capacity = Quantity::from_value(old.at("status").at("capacity").at("storage"));
    if let (Some(now), Some(then)) = (size(new.at("spec")), size(before))
        && now < then
        && capacity.is_none_or(|capacity| now <= capacity)
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
    let spec = object.at("spec");
    let path = Path::new("spec");
    let modes = spec.list("accessModes");
    let at = path.child("accessModes");
    if modes.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    access_modes(modes, &at, errors);
    let capacity = path.child("capacity");
    let amounts = spec.map("capacity");
    if amounts.is_none_or(serde_json::Map::is_empty) {
        errors.push(FieldError::required(&capacity, ""));
    }
    if amounts.is_some_and(|amounts| amounts.len() != 1 || !amounts.contains_key("storage")) {
        errors.push(FieldError::not_supported(
            &capacity,
            spec.at("capacity").clone(),
            &["storage"],
        ));
    }
    for (name, amount) in spec.entries("capacity") {
        let at = capacity.key(name);
        if Quantity::from_value(amount).is_some_and(|amount| amount.is_zero()) {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(&at, amount.clone(), detail));
        }
        quantity(name, amount, &at, errors);
    }
    let policies = ["Delete", "Recycle", "Retain"];
    one_of_if_set(
        spec,
        &path,
        "persistentVolumeReclaimPolicy",
        &policies,
        errors,
    );
    if spec.at("nodeAffinity").has("required") {
        let at = path.child("nodeAffinity.required");
        pod::node_selector(spec.at("nodeAffinity").at("required"), &at, errors);
    }
    source(spec, &path, errors);
    let class = spec.text("storageClassName");
    if !class.is_empty() {
        subdomain(&path.child("storageClassName"), class, errors);
    }
    one_of_if_set(spec, &path, "volumeMode", &VOLUME_MODES, errors);
}

pub(super) fn volume_update(new: &Value, old: &Value, errors: &mut Errors) {
    let (spec, before) = (new.at("spec"), old.at("spec"));
    if SOURCES
        .iter()
        .any(|kind| !same(spec.at(kind), before.at(kind)))
    {
        errors.push(FieldError::forbidden(
            &Path::new("spec.persistentvolumesource"),
            "spec.persistentvolumesource is immutable after creation\n",
        ));
    }
    let root = Path::root();
    immutable(spec, before, &root, "volumeMode", errors);
    if before.has("nodeAffinity") {
        immutable(spec, before, &root, "nodeAffinity", errors);
    }
}

pub(super) fn class(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    if required(object, &root, "provisioner", errors) {
        let name = object.text("provisioner").to_lowercase();
        let found = names::qualified_name(&name);
        problems(&root.child("provisioner"), &name, found, errors);
    }
    let path = root.child("parameters");
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
    let policies = ["Delete", "Retain"];
    one_of_if_set(object, &root, "reclaimPolicy", &policies, errors);
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(object, &root, "volumeBindingMode", &modes, errors);
}

pub(super) fn class_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    for field in ["parameters", "provisioner"] {
        if !same(new.at(field), old.at(field)) {
            let detail = format!("updates to {field} are forbidden.");
            errors.push(FieldError::forbidden(&root.child(field), &detail));
        }
    }
    immutable(new, old, &root, "reclaimPolicy", errors);
    immutable(new, old, &root, "volumeBindingMode", errors);
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
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        found = true;
        match kind {
            "hostPath" => pod::host_path(source, &at, errors),
            "nfs" => pod::nfs(source, &at, errors),
            "csi" => {
                driver_name(source.text("driver"), &at.child("driver"), errors);
                required(source, &at, "volumeHandle", errors);
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
