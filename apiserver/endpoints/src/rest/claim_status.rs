//! Who may write which part of a device claim's status: schedulers bind it, drivers report on their own devices.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::user::User;
use kubewright_apimachinery::version::KubernetesVersion::V1_36;
use kubewright_apimachinery::view::View;
use kubewright_auth::{About, Question};
use kubewright_validation::semantic::same;
use serde_json::Value;

use super::call::Call;

/// Asks the authorizer about the parts that an update of the status changes, beside its own permission.
pub(crate) fn may_change(call: &Call, new: &Value, old: &Value) -> Vec<FieldError> {
    let is_claim = call.resource.group == "resource.k8s.io"
        && call.resource.plural == "resourceclaims"
        && call.path.subresource == "status";
    if !is_claim || call.shared.served.now().version() < V1_36 {
        return Vec::new();
    }
    let (new, old) = (new.at("status"), old.at("status"));
    let verb = if call.method == Method::PATCH {
        "patch"
    } else {
        "update"
    };
    let path = Path::new("status");
    let mut errors = Vec::new();
    let binds = ["allocation", "reservedFor"]
        .iter()
        .any(|field| !same(new.at(field), old.at(field)));
    if binds && let Err(why) = asked(call, verb, "binding", "", "") {
        let detail = format!(
            "changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", \
             verb=\"{verb}\" permission: {why}"
        );
        errors.push(FieldError::forbidden(&path.child("allocation"), &detail));
    }
    if !new.has("allocation") {
        return errors;
    }
    let mut verbs = vec![format!("arbitrary-node:{verb}")];
    if is_on_node(&call.user, node_of(new.at("allocation"))) {
        verbs.insert(0, format!("associated-node:{verb}"));
    }
    for driver in changed_drivers(new, old) {
        if let Err(why) = may_report(call, &verbs, driver) {
            let verbs = verbs.join(" ");
            let detail = format!(
                "changing status.devices requires resource=\"resourceclaims/driver\", verb=\"[{verbs}]\" permission: {why}"
            );
            errors.push(FieldError::forbidden(&path.child("devices"), &detail));
        }
    }
    errors
}

/// Whether one of the verbs is allowed for a driver, or why the first one is not.
fn may_report(call: &Call, verbs: &[String], driver: &str) -> Result<(), String> {
    let mut first = Ok(());
    for verb in verbs {
        let answer = asked(call, verb, "driver", &call.path.namespace, driver);
        if answer.is_ok() {
            return answer;
        }
        first = first.and(answer);
    }
    first
}

/// Why the user may not do something with a part of claims that is no part of the API.
fn asked(call: &Call, verb: &str, part: &str, namespace: &str, name: &str) -> Result<(), String> {
    let about = About::Resource {
        group: "resource.k8s.io",
        resource: "resourceclaims",
        subresource: part,
        namespace,
        name,
        fields: None,
    };
    let user = &call.user;
    let question = Question { user, verb, about };
    kubewright_auth::check(&*call.shared.access.authorizer, &question)
        .map(drop)
        .map_err(|status| status.message().to_owned())
}

/// The drivers of devices of which something else is said.
fn changed_drivers<'a>(new: &'a Value, old: &'a Value) -> BTreeSet<&'a str> {
    type Key<'a> = [&'a str; 4];
    let devices = |status: &'a Value| -> BTreeMap<Key<'a>, &'a Value> {
        let key = |device: &'a Value| {
            ["driver", "pool", "device", "shareID"].map(|field| device.text(field))
        };
        let devices = status.list("devices").iter();
        devices.map(|device| (key(device), device)).collect()
    };
    let (new, mut old) = (devices(new), devices(old));
    let mut changed = BTreeSet::new();
    for (key, device) in new {
        if !old.remove(&key).is_some_and(|before| same(before, device)) {
            changed.insert(key[0]);
        }
    }
    changed.extend(old.into_keys().map(|[driver, ..]| driver));
    changed
}

/// The one node that an allocation is for.
fn node_of(allocation: &Value) -> Option<&str> {
    let [term] = allocation.at("nodeSelector").list("nodeSelectorTerms") else {
        return None;
    };
    let ([], [field]) = (term.list("matchExpressions"), term.list("matchFields")) else {
        return None;
    };
    match field.list("values") {
        [Value::String(node)]
            if field.text("key") == "metadata.name" && field.text("operator") == "In" =>
        {
            Some(node)
        }
        _ => None,
    }
}

/// Whether the token of a service account was given to a pod on the node.
fn is_on_node(user: &User, node: Option<&str>) -> bool {
    let nodes = user.extra.get("authentication.kubernetes.io/node-name");
    let is_account = user.username.starts_with("system:serviceaccount:");
    match (nodes.map(Vec::as_slice), node) {
        (Some([own]), Some(node)) => is_account && own == node,
        _ => false,
    }
}
