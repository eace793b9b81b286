//! Drivers for storage and what they report: capacities, attachments, nodes, classes of attributes.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::check::{
    Errors, immutable_as, not_negative, one_of_if_set, qualified_name, quantity, required,
    selector, subdomain,
};
use super::storage::{driver_name, parameters, provisioner, volume_spec};
use crate::kinds::internal::shown;
use crate::kinds::strategy::same;

const IMMUTABLE: &str = super::check::IMMUTABLE;

/// The rules of each kind for new objects.
pub(super) fn check(kind: &str, object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    match kind {
        "CSIDriver" => driver(spec, errors),
        "CSINode" => node(spec, errors),
        "VolumeAttachment" => attachment(spec, errors),
        "CSIStorageCapacity" => capacity(object, errors),
        "VolumeAttributesClass" => {
            let root = Path::root();
            provisioner(object, "driverName", errors);
            parameters(object, errors);
            if object.entries("parameters").next().is_none() {
                let detail = "must contain at least one key/value pair";
                errors.push(FieldError::required(&root.child("parameters"), detail));
            }
        }
        _ => {}
    }
}

/// What may not change.
pub(super) fn update(kind: &str, new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    let (spec, before) = (new.at("spec"), old.at("spec"));
    match kind {
        "CSIDriver" => {
            // The name in the text is not quite the field's.
            for (field, name) in [
                ("attachRequired", "attachedRequired"),
                ("volumeLifecycleModes", "volumeLifecycleModes"),
            ] {
                if !same(spec.at(field), before.at(field)) {
                    let value = spec.at(field).clone();
                    let at = Path::new("spec");
                    errors.push(FieldError::invalid(&at.child(name), value, IMMUTABLE));
                }
            }
        }
        "CSINode" => node_update(spec, before, errors),
        "VolumeAttachment" if !same_type("api.storage.v1.VolumeAttachmentSpec", spec, before) => {
            errors.push(FieldError::invalid_shown(
                &root.child("spec"),
                &shown("storage.VolumeAttachmentSpec", spec),
                IMMUTABLE,
            ));
        }
        "CSIStorageCapacity" => {
            if !same(new.at("nodeTopology"), old.at("nodeTopology")) {
                let value = shown("?m.LabelSelector", new.at("nodeTopology"));
                let at = root.child("nodeTopology");
                errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
            }
            immutable_as("s", new, old, &root, "storageClassName", errors);
        }
        "VolumeAttributesClass" => {
            for field in ["driverName", "parameters"] {
                if !same(new.at(field), old.at(field)) {
                    let detail = format!("updates to {field} are forbidden.");
                    errors.push(FieldError::forbidden(&root.child(field), &detail));
                }
            }
        }
        _ => {}
    }
}

fn driver(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    let policies = ["File", "None", "ReadWriteOnceWithFSType"];
    one_of_if_set(spec, &path, "fsGroupPolicy", &policies, errors);
    let requests = spec.list("tokenRequests");
    let at = path.child("tokenRequests");
    for (index, request) in requests.iter().enumerate() {
        let at = at.index(index);
        let audience = request.text("audience");
        let twice = |other: &Value| other.text("audience") == audience;
        if requests[..index].iter().any(twice) {
            errors.push(FieldError::duplicate(&at.child("audience"), audience));
            continue;
        }
        let detail = match request.int("expirationSeconds") {
            Some(..600) => "may not specify a duration less than 10 minutes",
            Some(seconds) if seconds > 1 << 32 => {
                "may not specify a duration larger than 2^32 seconds"
            }
            _ => continue,
        };
        let value = request.at("expirationSeconds").clone();
        errors.push(FieldError::invalid(
            &at.child("expirationSeconds"),
            value,
            detail,
        ));
    }
    for mode in spec.list("volumeLifecycleModes") {
        let mode = mode.as_str().unwrap_or_default();
        let modes = ["Persistent", "Ephemeral"];
        if !modes.contains(&mode) {
            let at = path.child("volumeLifecycleModes");
            errors.push(FieldError::not_supported(&at, mode, &modes));
        }
    }
    if let Some(seconds) = spec
        .int("nodeAllocatableUpdatePeriodSeconds")
        .filter(|s| *s < 10)
    {
        let at = path.child("nodeAllocatableUpdatePeriodSeconds");
        let detail = "must be greater than or equal to 10 seconds";
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    let field = "serviceAccountTokenInSecrets";
    if spec.has(field) && requests.is_empty() {
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        let value = spec.at(field).clone();
        errors.push(FieldError::invalid(&path.child(field), value, detail));
    }
}

fn node(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec.drivers");
    let drivers = spec.list("drivers");
    for (index, driver) in drivers.iter().enumerate() {
        let at = path.index(index);
        let (name, id) = (driver.text("name"), driver.text("nodeID"));
        driver_name(name, &at.child("name"), errors);
        required(driver, &at, "nodeID", errors);
        if id.len() > 192 {
            let detail = "must be 192 characters or less";
            errors.push(FieldError::invalid(&at.child("nodeID"), id, detail));
        }
        let allocatable = at.child("allocatable");
        not_negative(driver.at("allocatable"), &allocatable, "count", errors);
        let twice = |other: &Value| other.text("name") == name;
        if drivers[..index].iter().any(twice) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
        let keys = driver.list("topologyKeys");
        for (index, key) in keys.iter().enumerate() {
            let text = key.as_str().unwrap_or_default();
            if text.is_empty() {
                errors.push(FieldError::required(&at, ""));
            }
            if keys[..index].contains(key) {
                errors.push(FieldError::duplicate(&at, text));
            }
            qualified_name(&at, text, errors);
        }
    }
}

/// What a driver said of itself stays, but for how much it can take.
fn node_update(spec: &Value, before: &Value, errors: &mut Errors) {
    for old in before.list("drivers") {
        for new in spec.list("drivers") {
            let mut new = new.clone();
            new.take_from(old, "allocatable");
            if new.text("name") == old.text("name") && !same(&new, old) {
                new.drop_field("allocatable");
                let value = shown("storage.CSINodeDriver", &new);
                let at = Path::new("spec.drivers");
                errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
            }
        }
    }
}

fn attachment(spec: &Value, errors: &mut Errors) {
    let path = Path::new("spec");
    driver_name(spec.text("attacher"), &path.child("attacher"), errors);
    let (source, at) = (spec.at("source"), path.child("source"));
    let one = "must specify exactly one of inlineVolumeSpec and persistentVolumeName";
    let named = source.has("persistentVolumeName");
    match (named, source.has("inlineVolumeSpec")) {
        (false, false) => errors.push(FieldError::required(&at, one)),
        (true, true) => errors.push(FieldError::forbidden(&at, one)),
        (true, false) => {
            if source.text("persistentVolumeName").is_empty() {
                let detail = "must specify non empty persistentVolumeName";
                let at = at.child("persistentVolumeName");
                errors.push(FieldError::required(&at, detail));
            }
        }
        (false, true) => {
            let at = at.child("inlineVolumeSpec");
            volume_spec(source.at("inlineVolumeSpec"), None, &at, errors);
        }
    }
    subdomain(&path.child("nodeName"), spec.text("nodeName"), errors);
    if named {
        let at = Path::new("spec.source.persistentVolumeName");
        subdomain(&at, source.text("persistentVolumeName"), errors);
    }
}

fn capacity(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    if object.has("nodeTopology") {
        let at = root.child("nodeTopology");
        selector(object.at("nodeTopology"), &at, errors);
    }
    let class = object.text("storageClassName");
    subdomain(&root.child("storageClassName"), class, errors);
    quantity(
        "storage",
        object.at("capacity"),
        &root.child("capacity"),
        errors,
    );
}
