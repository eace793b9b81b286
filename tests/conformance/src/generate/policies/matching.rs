//! What policies and bindings match: rules, names, scopes, exclusions, selectors and the match policy.

use serde_json::{Value, json};

use super::objects::{GROUP, Kind};
use crate::generate::random::Random;

/// The constraints of a policy that is about objects of a kind. Nothing outside of the case's namespace matches: objects of
/// the cluster have the label `case`.
pub(super) fn constraints(random: &mut Random, kind: Kind, mutating: bool) -> Value {
    let mut rules = vec![rule(random, kind)];
    if random.one_in(5) {
        let other = Kind::any(random);
        rules.push(rule(random, other));
    }
    if mutating {
        rules.iter_mut().for_each(writes);
    }
    for rule in &mut rules {
        within(rule, kind);
    }
    let mut constraints = json!({"resourceRules": rules});
    if random.one_in(6) {
        let mut excluded = rule(random, kind);
        if mutating {
            writes(&mut excluded);
        }
        constraints["excludeResourceRules"] = json!([excluded]);
    }
    if random.one_in(5) {
        constraints["matchPolicy"] = random.pick(&["Exact", "Equivalent"]).into();
    }
    if kind.namespaced {
        if random.one_in(6) {
            constraints["objectSelector"] = selector(random);
        }
        if random.one_in(6) {
            let expressions = selector(random);
            let mut whole = json!({"matchLabels": {"kubernetes.io/metadata.name": "{ns}"}});
            whole["matchExpressions"] = expressions["matchExpressions"].clone();
            if whole["matchExpressions"].is_null() {
                whole["matchExpressions"] =
                    json!([{"key": "env", "operator": "In", "values": ["prod", "test"]}]);
            }
            constraints["namespaceSelector"] = whole;
        }
    } else {
        constraints["objectSelector"] = json!({"matchLabels": {"case": "{ns}"}});
    }
    constraints
}

/// What a binding matches beyond its policy.
pub(super) fn resources(random: &mut Random, kind: Kind) -> Value {
    let mut resources = json!({});
    match random.below(5) {
        0 => resources["resourceRules"] = json!([rule(random, kind)]),
        1 => resources["excludeResourceRules"] = json!([rule(random, kind)]),
        2 => resources["objectSelector"] = selector(random),
        3 => resources["namespaceSelector"] = selector(random),
        _ => {}
    }
    if random.one_in(4) {
        resources["matchPolicy"] = random.pick(&["Exact", "Equivalent"]).into();
    }
    resources
}

/// Keeps deletions out of the rules of constraints: what mutates cannot see them.
pub(super) fn only_writes(constraints: &mut Value) {
    for rules in ["resourceRules", "excludeResourceRules"] {
        let rules = constraints.get_mut(rules).and_then(Value::as_array_mut);
        rules.into_iter().flatten().for_each(writes);
    }
}

fn writes(rule: &mut Value) {
    let operations = rule["operations"].as_array().cloned().unwrap_or_default();
    if !operations
        .iter()
        .all(|one| one == "CREATE" || one == "UPDATE")
    {
        rule["operations"] = json!(["CREATE", "UPDATE"]);
    }
}

/// Objects of the whole cluster that other cases have must not match.
fn within(rule: &mut Value, kind: Kind) {
    if kind.namespaced {
        rule["scope"] = "Namespaced".into();
    }
}

fn rule(random: &mut Random, kind: Kind) -> Value {
    let operations = random.one_of(&[
        json!(["*"]),
        json!(["CREATE", "UPDATE"]),
        json!(["CREATE", "UPDATE", "DELETE"]),
        json!(["CREATE"]),
        json!(["UPDATE"]),
        json!(["DELETE"]),
        json!(["CONNECT", "CREATE"]),
    ]);
    let resource = kind.resource;
    let resources = random.one_of(&[
        json!([resource]),
        json!([resource]),
        json!([resource]),
        json!(["*"]),
        json!(["*/*"]),
        json!([format!("{resource}/*")]),
        json!([
            resource,
            format!("{resource}/status"),
            format!("{resource}/scale")
        ]),
        json!(["*/scale", "*/status"]),
        json!([
            resource,
            "pods/exec",
            "pods/eviction",
            "pods/ephemeralcontainers",
            "pods/binding"
        ]),
    ]);
    let groups = random.one_of(&[
        json!([kind.group]),
        json!([kind.group]),
        json!(["*"]),
        json!(["", "apps", GROUP]),
    ]);
    let versions = random.one_of(&[
        json!(["*"]),
        json!([kind.version]),
        json!([kind.version]),
        json!(["v1beta1"]),
    ]);
    let mut rule = json!({
        "operations": operations, "apiGroups": groups, "apiVersions": versions, "resources": resources,
    });
    if random.one_in(8) {
        rule["resourceNames"] =
            random.one_of(&[json!(["a"]), json!(["old"]), json!(["a", "old", "new"])]);
    }
    if random.one_in(6) {
        rule["scope"] = random.pick(&["*", "Namespaced", "Cluster"]).into();
    }
    rule
}

fn selector(random: &mut Random) -> Value {
    random.one_of(&[
        json!({}),
        json!({"matchLabels": {"l": "x"}}),
        json!({"matchExpressions": [{"key": "l", "operator": "Exists"}]}),
        json!({"matchExpressions": [{"key": "l", "operator": "DoesNotExist"}]}),
        json!({"matchExpressions": [{"key": "l", "operator": "In", "values": ["x", "z"]}]}),
        json!({"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}),
        json!({"matchLabels": {"env": "prod"}}),
    ])
}
