//! The rows of volumes, storage classes, drivers and devices.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{int_or_text, or};

pub(crate) fn volume(row: Row<'_>) -> Vec<Value> {
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

pub(crate) fn claim(row: Row<'_>) -> Vec<Value> {
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
