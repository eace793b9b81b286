//! Defaults of the networking, discovery and flow control kinds.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Value, json};

pub(super) fn endpoint_slice(object: &mut Value) {
    for port in object.each("ports") {
        port.fill("name", "");
        port.fill("protocol", "TCP");
    }
    for endpoint in object.each("endpoints") {
        endpoint.part("conditions");
    }
}

pub(super) fn ingress(object: &mut Value) {
    object.part("spec");
}

pub(super) fn ingress_class(object: &mut Value) {
    if let Some(spec) = object.part("spec")
        && let Some(parameters) = spec.existing("parameters")
    {
        parameters.fill("scope", "Cluster");
    }
}

pub(super) fn network_policy(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    spec.part("podSelector");
    for direction in ["ingress", "egress"] {
        for rule in spec.each(direction) {
            for port in rule.each("ports") {
                port.fill("protocol", "TCP");
            }
        }
    }
    if spec.list("policyTypes").is_empty() {
        let types = if spec.list("egress").is_empty() {
            json!(["Ingress"])
        } else {
            json!(["Ingress", "Egress"])
        };
        spec.put("policyTypes", types);
    }
}

pub(super) fn flow_schema(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        number(spec, "matchingPrecedence", 1000);
        spec.part("priorityLevelConfiguration");
    }
}

pub(super) fn priority_level(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        if let Some(exempt) = spec.existing("exempt") {
            exempt.fill("nominalConcurrencyShares", 0);
            exempt.fill("lendablePercent", 0);
        }
        if let Some(limited) = spec.existing("limited") {
            limited.fill("nominalConcurrencyShares", 30);
            limited.fill("lendablePercent", 0);
            if let Some(queuing) = limited
                .part("limitResponse")
                .and_then(|response| response.existing("queuing"))
            {
                number(queuing, "handSize", 8);
                number(queuing, "queues", 64);
                number(queuing, "queueLengthLimit", 50);
            }
        }
    }
}

/// Sets a number that is absent or zero.
fn number(holder: &mut Value, field: &str, default: i64) {
    if holder.int(field).unwrap_or(0) == 0 {
        holder.put(field, default);
    }
}
