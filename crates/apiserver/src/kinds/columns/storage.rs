//! The rows of volumes, storage classes, drivers and devices.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{int_or_text, or, or_none};

pub(super) fn volume(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let claim = spec.at("claimRef");
    let claim = if claim.is_null() {
        String::new()
    } else {
        format!("{}/{}", claim.text("namespace"), claim.text("name"))
    };
    vec![
        row.name(),
        or(int_or_text(spec.at("capacity").at("storage"), ""), "0").into(),
        access_modes(spec).into(),
        spec.text("persistentVolumeReclaimPolicy").into(),
        phase(row).into(),
        claim.into(),
        class_name(row).into(),
        text_or_unset(spec, "volumeAttributesClassName").into(),
        status.text("reason").into(),
        row.age(),
        text_or_unset(spec, "volumeMode").into(),
    ]
}

pub(super) fn claim(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let bound = !spec.text("volumeName").is_empty();
    let (capacity, modes) = if bound {
        let capacity = int_or_text(status.at("capacity").at("storage"), "");
        (or(capacity, "0"), access_modes(status))
    } else {
        (String::new(), String::new())
    };
    vec![
        row.name(),
        phase(row).into(),
        spec.text("volumeName").into(),
        capacity.into(),
        modes.into(),
        class_name(row).into(),
        text_or_unset(spec, "volumeAttributesClassName").into(),
        row.age(),
        text_or_unset(spec, "volumeMode").into(),
    ]
}

pub(super) fn class(row: Row<'_>) -> Vec<Value> {
    let object = row.object;
    vec![
        default_name(
            row,
            &[
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            ],
        ),
        object.text("provisioner").into(),
        or(object.text("reclaimPolicy"), "Delete").into(),
        or(object.text("volumeBindingMode"), "Immediate").into(),
        object.flag("allowVolumeExpansion").into(),
        row.age(),
    ]
}

pub(super) fn attributes_class(row: Row<'_>) -> Vec<Value> {
    let mark = "volumeattributesclass.alpha.kubernetes.io/is-default-class";
    let driver = row.object.text("driverName").into();
    vec![default_name(row, &[mark]), driver, row.age()]
}

pub(super) fn attachment(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("attacher").into(),
        spec.at("source").text("persistentVolumeName").into(),
        spec.text("nodeName").into(),
        row.status().flag("attached").into(),
        row.age(),
    ]
}

pub(super) fn driver(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let join = |list: &[Value], text: fn(&Value) -> &str| {
        let texts: Vec<&str> = list.iter().map(text).collect();
        texts.join(",")
    };
    let tokens = if spec.has("tokenRequests") {
        join(spec.list("tokenRequests"), |request| {
            request.text("audience")
        })
    } else {
        "<unset>".to_owned()
    };
    let modes = join(spec.list("volumeLifecycleModes"), |mode| {
        mode.as_str().unwrap_or_default()
    });
    vec![
        row.name(),
        spec.at("attachRequired").as_bool().unwrap_or(true).into(),
        spec.flag("podInfoOnMount").into(),
        spec.flag("storageCapacity").into(),
        tokens.into(),
        spec.flag("requiresRepublish").into(),
        or_none(modes).into(),
        row.age(),
    ]
}

pub(super) fn node(row: Row<'_>) -> Vec<Value> {
    let drivers = row.spec().list("drivers").len().into();
    vec![row.name(), drivers, row.age()]
}

pub(super) fn resource_claim(row: Row<'_>) -> Vec<Value> {
    let status = row.status();
    let mut states = Vec::new();
    if row.is_going() {
        states.push("deleted");
    }
    if status.has("allocation") {
        states.push("allocated");
        if !status.list("reservedFor").is_empty() {
            states.push("reserved");
        }
    } else if !row.is_going() {
        states.push("pending");
    }
    vec![row.name(), states.join(",").into(), row.age()]
}

pub(super) fn resource_slice(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("nodeName").into(),
        spec.text("driver").into(),
        spec.at("pool").text("name").into(),
        row.age(),
    ]
}

fn phase(row: Row<'_>) -> &str {
    if row.is_going() {
        "Terminating"
    } else {
        row.status().text("phase")
    }
}

/// The modes in Kubernetes' order, each once.
fn access_modes(holder: &Value) -> String {
    let has = |mode: &str| holder.list("accessModes").iter().any(|have| have == mode);
    let short: Vec<&str> = [
        ("ReadWriteOnce", "RWO"),
        ("ReadOnlyMany", "ROX"),
        ("ReadWriteMany", "RWX"),
        ("ReadWriteOncePod", "RWOP"),
    ]
    .into_iter()
    .filter(|(mode, _)| has(mode))
    .map(|(_, short)| short)
    .collect();
    short.join(",")
}

fn class_name(row: Row<'_>) -> &str {
    let annotations = row.metadata().at("annotations");
    match annotations.text("volume.beta.kubernetes.io/storage-class") {
        "" => row.spec().text("storageClassName"),
        class => class,
    }
}

fn text_or_unset<'a>(holder: &'a Value, field: &str) -> &'a str {
    holder.at(field).as_str().unwrap_or("<unset>")
}

fn default_name(row: Row<'_>, marks: &[&str]) -> Value {
    let annotations = row.metadata().at("annotations");
    let name = row.metadata().text("name");
    if marks.iter().any(|mark| annotations.text(mark) == "true") {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}
