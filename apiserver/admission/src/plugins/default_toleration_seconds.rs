//! DefaultTolerationSeconds: a pod stays five minutes on a node that is not ready or cannot be reached.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::{Value, json};

use super::subject::is_about;
use crate::attributes::{Attributes, Operation};

pub(super) fn admit(attributes: &mut Attributes) {
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    if !writes || !is_about(attributes, "", "pods") {
        return;
    }
    let Some(spec) = attributes.object.part("spec") else {
        return;
    };
    let given = spec.list("tolerations");
    let missing: Vec<Value> = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"]
        .into_iter()
        .filter(|key| !given.iter().any(|toleration| tolerates(toleration, key)))
        .map(|key| {
            json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300})
        })
        .collect();
    if !missing.is_empty() {
        let all: Vec<Value> = given.iter().cloned().chain(missing).collect();
        spec.put("tolerations", all);
    }
}

fn tolerates(toleration: &Value, key: &str) -> bool {
    let is = |field: &str, wanted: &str| {
        let given = toleration.text(field);
        given.is_empty() || given == wanted
    };
    is("key", key) && is("effect", "NoExecute")
}
