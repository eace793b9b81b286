//! Nodes. They come with their status.

use std::borrow::Cow;
use std::collections::BTreeSet;

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::json;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::ReadBack;
use serde_json::{Value, json};

use crate::columns::Row;
use crate::columns::text::{condition, or, or_none};
use crate::core::validation::config;
use crate::defaults::shared::resource_list;
use crate::fields;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::addresses;
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

const FIELDS: [&str; 1] = ["spec.unschedulable"];

/// The strategy of nodes.
#[derive(Debug)]
pub(crate) struct Node;

impl Strategy for Node {
    fn default(&self, object: &mut Value) {
        default(object);
        if let Some(status) = object.part("status") {
            fill_node_status(status);
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        drop_part(object, "spec", "configSource");
        drop_part(object, "spec", "podPreemptionPolicy");
        drop_part(object, "status", "config");
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            if !old.at("status").has("config") {
                drop_part(new, "status", "config");
            }
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        drop_part(new, "spec", "podPreemptionPolicy");
        if !old.at("spec").has("configSource") {
            drop_part(new, "spec", "configSource");
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        avoided_pods(object, errors);
        config::node(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.create(new, errors);
                avoided_pods(new, errors);
                config::node(new, errors);
                METADATA.changed(new, old, errors);
                config::node_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                avoided_pods(new, errors);
                config::node_update(new, old, errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        let spec = new.at("spec");
        if !spec.text("externalID").is_empty() {
            let old = "this field is deprecated, and is unused by Kubernetes";
            out.push(format!("spec.externalID: {old}"));
        }
        let path = Path::new("spec.podCIDRs");
        addresses::each(&path, spec.list("podCIDRs"), addresses::cidr, &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn is_read_back(&self, object: &Value) -> bool {
        let status = object.at("status");
        status.has("capacity") && !status.has("allocatable")
    }

    /// An empty list of what is allocatable is stored as none, which has a default.
    fn read_back(&self, object: &mut Value) -> ReadBack {
        if object.part("status").is_some_and(fill_allocatable) {
            ReadBack::WithDefaults
        } else {
            ReadBack::AsStored
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, false, field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, false, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(match fields::at(object, field) {
            // Go's values that are not pointers have one even where it is not written.
            Value::Null if field == "spec.unschedulable" => "false".into(),
            other => fields::shown(other),
        })
    }
}

/// The annotation with the pods that a scheduler should avoid on the node: each entry names the controller of its pods.
fn avoided_pods(object: &Value, errors: &mut Errors) {
    const KEY: &str = "scheduler.alpha.kubernetes.io/preferAvoidPods";
    let path = Path::new("metadata.annotations");
    let annotation = object.at("metadata").at("annotations").text(KEY);
    if annotation.is_empty() {
        return;
    }
    let malformed = |detail: &str, errors: &mut Errors| {
        errors.push(FieldError::invalid(&path.child("AvoidPods"), KEY, detail));
    };
    let avoided = match json::parse(annotation.as_bytes()) {
        Ok(parsed) => parsed.value,
        Err(error) => return malformed(&error.to_string(), errors),
    };
    if let Some(found) = other_than_object(&avoided) {
        let detail = format!("json: cannot unmarshal {found} into Go value of type v1.AvoidPods");
        return malformed(&detail, errors);
    }
    let path = path.child(KEY);
    for (index, entry) in avoided.list("preferAvoidPods").iter().enumerate() {
        let path = path.index(index);
        let path = path.child("PodSignature");
        let controller = entry.at("podSignature").at("podController");
        if controller.is_null() {
            errors.push(FieldError::required(&path, ""));
        } else if !controller.flag("controller") {
            let path = path.child("PodController");
            let detail = "must point to a controller";
            errors.push(FieldError::invalid(
                &path.child("Controller"),
                false,
                detail,
            ));
        }
    }
}

/// What Go calls a JSON value that does not fit a struct.
fn other_than_object(value: &Value) -> Option<&'static str> {
    match value {
        Value::Object(_) | Value::Null => None,
        Value::Array(_) => Some("array"),
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
    }
}

fn drop_part(object: &mut Value, part: &str, field: &str) {
    if let Some(part) = object.existing(part) {
        part.drop_field(field);
    }
}

fn fill_node_status(status: &mut Value) {
    if !status.has("daemonEndpoints") {
        status.put(
            "daemonEndpoints",
            json!({ "kubeletEndpoint": { "Port": 0 } }),
        );
    }
    let Some(info) = status.part("nodeInfo") else {
        return;
    };
    for field in [
        "architecture",
        "bootID",
        "containerRuntimeVersion",
        "kernelVersion",
        "kubeProxyVersion",
        "kubeletVersion",
        "machineID",
        "operatingSystem",
        "osImage",
        "systemUUID",
    ] {
        info.fill(field, "");
    }
}

fn default(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        let single = spec.text("podCIDR").to_owned();
        let first = spec.list("podCIDRs").first().cloned();
        match (single.as_str(), first) {
            ("", Some(first)) if first != "" => spec.put("podCIDR", first),
            ("", _) => {}
            (_, first) => {
                if first.is_none_or(|first| first != single.as_str()) {
                    spec.put("podCIDRs", json!([single]));
                }
            }
        }
    }
    let Some(status) = object.part("status") else {
        return;
    };
    for list in ["capacity", "allocatable"] {
        if let Some(list) = status.existing(list) {
            resource_list(list);
        }
    }
    fill_allocatable(status);
}

/// What is allocatable is the capacity, unless something is said of it. Returns whether nothing was.
fn fill_allocatable(status: &mut Value) -> bool {
    let fills = status.has("capacity") && !status.has("allocatable");
    if fills {
        let capacity = status.at("capacity").clone();
        status.put("allocatable", capacity);
    }
    fills
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let ready = status
        .list("conditions")
        .iter()
        .any(|condition| condition.text("type") == "Ready");
    let mut state = match (ready, condition(status, "Ready")) {
        (false, _) => "Unknown",
        (true, true) => "Ready",
        (true, false) => "NotReady",
    }
    .to_owned();
    if spec.flag("unschedulable") {
        state.push_str(",SchedulingDisabled");
    }
    let roles: BTreeSet<&str> = row
        .metadata()
        .entries("labels")
        .map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => role,
                None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
                None => "",
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    let address = |kind: &str| {
        status
            .list("addresses")
            .iter()
            .find(|address| address.text("type") == kind)
            .map_or("<none>", |address| address.text("address"))
    };
    let info = status.at("nodeInfo");
    let known = |field: &str| -> Value { or(info.text(field), "<unknown>").into() };
    vec![
        row.name(),
        state.into(),
        or_none(roles.into_iter().collect::<Vec<_>>().join(",")).into(),
        row.age(),
        info.text("kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        known("osImage"),
        known("kernelVersion"),
        known("containerRuntimeVersion"),
    ]
}
