//! Whether a pod may run on a node: node selectors, required node affinity, taints and tolerations.

use serde_json::{Value, json};

use super::super::object::{list, map, text};

/// Whether a node is one of those that the specification of a pod asks for.
pub(super) fn matches(node: &Value, spec: &Value) -> bool {
    const REQUIRED: &str = "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    let labels = map(node, "/metadata/labels");
    let selector = map(spec, "/nodeSelector");
    if !selector
        .iter()
        .all(|(key, value)| labels.get(key) == Some(value))
    {
        return false;
    }
    let Some(required) = spec.pointer(REQUIRED) else {
        return true;
    };
    list(required, "/nodeSelectorTerms").iter().any(|term| {
        let expressions = list(term, "/matchExpressions");
        let fields = list(term, "/matchFields");
        let some = !expressions.is_empty() || !fields.is_empty();
        some && expressions.iter().all(|requirement| {
            let value = labels.get(text(requirement, "/key"));
            holds(requirement, value.and_then(Value::as_str))
        }) && fields.iter().all(|requirement| {
            let is_name = text(requirement, "/key") == "metadata.name";
            let name = is_name.then(|| text(node, "/metadata/name"));
            holds(requirement, name)
        })
    })
}

fn holds(requirement: &Value, value: Option<&str>) -> bool {
    let values = list(requirement, "/values");
    let among = value.is_some_and(|value| values.iter().any(|one| one == value));
    let compared = || {
        let value: i64 = value?.parse().ok()?;
        let bound: i64 = values.first()?.as_str()?.parse().ok()?;
        Some(value.cmp(&bound))
    };
    match text(requirement, "/operator") {
        "In" => among,
        "NotIn" => !among,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared().is_some_and(std::cmp::Ordering::is_gt),
        "Lt" => compared().is_some_and(std::cmp::Ordering::is_lt),
        _ => false,
    }
}

/// Whether the tolerations let a pod on a node.
pub(super) fn tolerates(node: &Value, tolerations: &[Value]) -> bool {
    list(node, "/spec/taints")
        .iter()
        .filter(|taint| taint["effect"] != "PreferNoSchedule")
        .all(|taint| tolerations.iter().any(|one| is_tolerated(taint, one)))
}

/// How many taints ask a pod not to use a node if it can be on another.
pub(super) fn avoided(node: &Value, tolerations: &[Value]) -> usize {
    list(node, "/spec/taints")
        .iter()
        .filter(|taint| taint["effect"] == "PreferNoSchedule")
        .filter(|taint| !tolerations.iter().any(|one| is_tolerated(taint, one)))
        .count()
}

/// Whether the tolerations let a pod on a node that takes no new pods.
pub(super) fn tolerates_closed(tolerations: &[Value]) -> bool {
    let taint = json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"});
    tolerations.iter().any(|one| is_tolerated(&taint, one))
}

pub(super) fn is_tolerated(taint: &Value, toleration: &Value) -> bool {
    let [effect, key] = ["/effect", "/key"].map(|at| text(toleration, at));
    if !effect.is_empty() && effect != text(taint, "/effect") {
        return false;
    }
    if !key.is_empty() && key != text(taint, "/key") {
        return false;
    }
    match text(toleration, "/operator") {
        "Exists" => true,
        _ => !key.is_empty() && text(toleration, "/value") == text(taint, "/value"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_runs_where_its_selector_its_affinity_and_its_tolerations_let_it() {
        let node = json!({
            "metadata": {"name": "a", "labels": {"disk": "ssd", "cores": "8"}},
            "spec": {"taints": [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}]},
        });
        let term = |what: &str, requirement: Value| {
            json!({"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{what: [requirement]}],
            }}}})
        };
        let name = |name: &str| json!({"key": "metadata.name", "operator": "In", "values": [name]});
        let cores = |operator: &str| json!({"key": "cores", "operator": operator, "values": ["4"]});
        for (spec, expected) in [
            (json!({}), true),
            (json!({"nodeSelector": {"disk": "ssd"}}), true),
            (json!({"nodeSelector": {"disk": "hdd"}}), false),
            (term("matchFields", name("a")), true),
            (term("matchFields", name("b")), false),
            (term("matchExpressions", cores("Gt")), true),
            (term("matchExpressions", cores("Lt")), false),
        ] {
            assert_eq!(matches(&node, &spec), expected, "{spec}");
        }
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "gpu", "operator": "Exists"}), true),
            (json!({"key": "gpu", "value": "yes"}), true),
            (json!({"key": "gpu", "value": "no"}), false),
            (
                json!({"key": "gpu", "value": "yes", "effect": "NoExecute"}),
                false,
            ),
        ] {
            let tolerations = [toleration];
            assert_eq!(tolerates(&node, &tolerations), expected, "{tolerations:?}");
        }
    }
}
