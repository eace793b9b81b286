//! TaintNodesByCondition: a new node takes no pods until its kubelet reports it ready.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::json;

use super::subject::creates;
use crate::attributes::Attributes;

const NOT_READY: &str = "node.kubernetes.io/not-ready";

pub(super) fn admit(attributes: &mut Attributes) {
    if !creates(attributes, "", "nodes") {
        return;
    }
    let Some(spec) = attributes.object.part("spec") else {
        return;
    };
    let mut taints = spec.list("taints").to_vec();
    let has = |taint: &serde_json::Value| {
        taint.text("key") == NOT_READY && taint.text("effect") == "NoSchedule"
    };
    if !taints.iter().any(has) {
        taints.push(json!({"key": NOT_READY, "effect": "NoSchedule"}));
        spec.put("taints", taints);
    }
}
