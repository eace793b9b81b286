//! Defaults of the core kinds without pods, of bindings and of drivers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Map, Value, json};

use super::pod::resource_list;

const RBAC: &str = "rbac.authorization.k8s.io";

pub(super) fn service(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        service_spec(spec);
    }
    let balanced = object.at("spec").text("type") == "LoadBalancer";
    if let Some(status) = object.part("status")
        && let Some(balancer) = status.part("loadBalancer")
        && balanced
    {
        for ingress in balancer.each("ingress") {
            if !ingress.text("ip").is_empty() {
                ingress.fill("ipMode", "VIP");
            }
        }
    }
}

fn service_spec(spec: &mut Value) {
    spec.fill_text("sessionAffinity", "None");
    match spec.text("sessionAffinity") {
        "None" => spec.drop_field("sessionAffinityConfig"),
        "ClientIP" => {
            let client = spec.at("sessionAffinityConfig").at("clientIP");
            if !client.has("timeoutSeconds") {
                let three_hours = json!({ "clientIP": { "timeoutSeconds": 10800 } });
                spec.put("sessionAffinityConfig", three_hours);
            }
        }
        _ => {}
    }
    spec.fill_text("type", "ClusterIP");
    for port in spec.each("ports") {
        port.fill_text("protocol", "TCP");
        let target = port.at("targetPort");
        if target.is_null() || target.as_i64() == Some(0) || target.as_str() == Some("") {
            let number = port.at("port").clone();
            port.put(
                "targetPort",
                if number.is_null() { json!(0) } else { number },
            );
        }
    }
    let kind = spec.text("type").to_owned();
    let balanced = kind == "LoadBalancer";
    let external = balanced
        || kind == "NodePort"
        || (kind == "ClusterIP" && !spec.list("externalIPs").is_empty());
    if external {
        spec.fill_text("externalTrafficPolicy", "Cluster");
    }
    if balanced || kind == "NodePort" || kind == "ClusterIP" {
        spec.fill("internalTrafficPolicy", "Cluster");
    }
    if balanced {
        spec.fill("allocateLoadBalancerNodePorts", true);
    }
}

pub(super) fn namespace(object: &mut Value) {
    let name = object.at("metadata").text("name").to_owned();
    if !name.is_empty()
        && let Some(labels) = object
            .part("metadata")
            .and_then(|metadata| metadata.part("labels"))
    {
        labels.put("kubernetes.io/metadata.name", name);
    }
    object.part("spec");
}

pub(super) fn secret(object: &mut Value) {
    object.fill_text("type", "Opaque");
    let Some(map) = object.as_object_mut() else {
        return;
    };
    // Write only: the texts overwrite the data of the same keys.
    let Some(Value::Object(texts)) = map.remove("stringData") else {
        return;
    };
    if texts.is_empty() {
        return;
    }
    if let Some(data) = object.part("data").and_then(Value::as_object_mut) {
        for (key, text) in texts {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

pub(super) fn node(object: &mut Value) {
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
    // What is empty is read back from the storage as none, and gets its default then.
    let is_none = status.map("allocatable").is_none_or(Map::is_empty);
    if status.has("capacity") && is_none {
        let capacity = status.at("capacity").clone();
        status.put("allocatable", capacity);
    }
}

pub(super) fn endpoints(object: &mut Value) {
    for subset in object.each("subsets") {
        for port in subset.each("ports") {
            port.fill_text("protocol", "TCP");
        }
    }
}

pub(super) fn event(object: &mut Value) {
    object.part("involvedObject");
    object.part("source");
    for field in ["reportingComponent", "reportingInstance"] {
        object.fill(field, "");
    }
    for field in ["eventTime", "firstTimestamp", "lastTimestamp"] {
        object.fill(field, Value::Null);
    }
}

pub(super) fn limit_range(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    for limit in spec.each("limits") {
        for list in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            if let Some(list) = limit.existing(list) {
                resource_list(list);
            }
        }
        if limit.text("type") == "Container" {
            for (from, to) in [
                ("max", "default"),
                ("default", "defaultRequest"),
                ("min", "defaultRequest"),
            ] {
                inherit(limit, from, to);
            }
        }
    }
}

/// Takes the quantities of `from` that `to` does not have.
fn inherit(limit: &mut Value, from: &str, to: &str) {
    let Some(source) = limit.map(from).filter(|map| !map.is_empty()).cloned() else {
        return;
    };
    if let Some(target) = limit.part(to).and_then(Value::as_object_mut) {
        for (name, quantity) in source {
            target.entry(name).or_insert(quantity);
        }
    }
}

pub(super) fn resource_quota(object: &mut Value) {
    for (part, lists) in [("spec", &["hard"][..]), ("status", &["hard", "used"][..])] {
        let Some(part) = object.part(part) else {
            continue;
        };
        for list in lists {
            if let Some(list) = part.existing(list) {
                resource_list(list);
            }
        }
    }
}

pub(super) fn role_binding(object: &mut Value) {
    if let Some(reference) = object.part("roleRef") {
        reference.fill_text("apiGroup", RBAC);
    }
    for subject in object.each("subjects") {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.fill_text("apiGroup", RBAC);
        }
    }
}

pub(super) fn csi_driver(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.fill("attachRequired", true);
    for field in [
        "podInfoOnMount",
        "storageCapacity",
        "requiresRepublish",
        "seLinuxMount",
    ] {
        spec.fill(field, false);
    }
    spec.fill("fsGroupPolicy", "ReadWriteOnceWithFSType");
    if spec.list("volumeLifecycleModes").is_empty() {
        spec.put("volumeLifecycleModes", json!(["Persistent"]));
    }
}
