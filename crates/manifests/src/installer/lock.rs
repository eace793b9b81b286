//! Whether webhooks would keep the program that serves them from starting.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::ManifestError;

/// The labels of an object.
pub(super) type Labels = BTreeMap<String, String>;

/// Checks that no webhook that fails closed is called for what its own program takes to start: once all replicas are gone,
/// every one of these calls would fail, and so none would come back.
///
/// `namespace` are the labels of the program's namespace, `own` those of its objects. A webhook with match conditions is not
/// judged: they may say anything.
pub(super) fn check(
    configuration: &Value,
    namespace: &Labels,
    own: &Labels,
) -> Result<(), ManifestError> {
    for webhook in items(&configuration["webhooks"]) {
        let fails_closed = webhook["failurePolicy"] == "Fail";
        let judged = webhook["matchConditions"].is_null();
        let selected = selects(&webhook["namespaceSelector"], namespace)
            && selects(&webhook["objectSelector"], own);
        if !(fails_closed && judged && selected) {
            continue;
        }
        let mut rules = items(&webhook["rules"]);
        if let Some(resource) = rules.find_map(lifeline) {
            return Err(ManifestError::SelfLock {
                hook: text(&webhook["name"]).to_owned(),
                resource,
            });
        }
    }
    Ok(())
}

/// What the program takes to start, of that which a rule is for.
fn lifeline(rule: &Value) -> Option<&'static str> {
    let writes = |operation: &Value| operation != "CONNECT";
    if !items(&rule["operations"]).any(writes) {
        return None;
    }
    let group_is = |group: &str| items(&rule["apiGroups"]).any(|one| one == "*" || one == group);
    let resource_is = |plural: &str| {
        let whole = |one: &Value| matches!(text(one), "*" | "*/*") || text(one) == plural;
        let with_parts = |one: &Value| text(one).strip_suffix("/*") == Some(plural);
        items(&rule["resources"]).any(|one| whole(one) || with_parts(one))
    };
    let scope_is = |scope: &str| rule["scope"] == "*" || rule["scope"] == scope;
    let mut lifelines = LIFELINES.into_iter();
    let caught = lifelines
        .find(|(scope, group, plural)| scope_is(scope) && group_is(group) && resource_is(plural));
    caught.map(|(_, _, plural)| plural)
}

/// Whether a label selector selects what has these labels.
fn selects(selector: &Value, labels: &Labels) -> bool {
    let exact = selector["matchLabels"].as_object();
    let mut exact = exact.into_iter().flatten();
    let has = |(key, value): (&String, &Value)| labels.get(key).is_some_and(|own| value == own);
    let mut expressions = items(&selector["matchExpressions"]);
    exact.all(has)
        && expressions.all(|expression| {
            let own = labels.get(text(&expression["key"]));
            let among = |own: &String| items(&expression["values"]).any(|value| value == own);
            match text(&expression["operator"]) {
                "In" => own.is_some_and(among),
                "NotIn" => !own.is_some_and(among),
                "Exists" => own.is_some(),
                _ => own.is_none(),
            }
        })
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Scope, group and plural of what a Deployment with a Secret, a Lease and a Service takes to come up.
const LIFELINES: [(&str, &str, &str); 8] = [
    ("Namespaced", "", "pods"),
    ("Namespaced", "apps", "replicasets"),
    ("Namespaced", "apps", "deployments"),
    ("Namespaced", "", "secrets"),
    ("Namespaced", "coordination.k8s.io", "leases"),
    ("Namespaced", "", "serviceaccounts"),
    ("Namespaced", "discovery.k8s.io", "endpointslices"),
    ("Cluster", "", "namespaces"),
];

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels<const N: usize>(labels: [(&str, &str); N]) -> Labels {
        let labels = labels.into_iter();
        labels
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    /// What a webhook of which these fields are different is refused for.
    fn caught(fields: &Value) -> Option<&'static str> {
        let mut webhook = json!({
            "name": "a.example.com",
            "failurePolicy": "Fail",
            "namespaceSelector": {},
            "objectSelector": {},
            "rules": [{
                "operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                "resources": ["pods"], "scope": "*",
            }],
        });
        for (field, value) in fields.as_object().unwrap() {
            webhook[field] = value.clone();
        }
        let configuration = json!({"webhooks": [webhook]});
        let namespace = labels([("kubernetes.io/metadata.name", "own"), ("level", "high")]);
        match check(&configuration, &namespace, &labels([("app", "own")])) {
            Ok(()) => None,
            Err(ManifestError::SelfLock { hook, resource }) => {
                assert_eq!(hook, "a.example.com");
                Some(resource)
            }
            Err(other) => panic!("{other}"),
        }
    }

    fn rule(group: &str, resource: &str, scope: &str, operation: &str) -> Value {
        json!({"rules": [{
            "operations": [operation], "apiGroups": [group], "apiVersions": ["*"],
            "resources": [resource], "scope": scope,
        }]})
    }

    #[test]
    fn who_fails_closed_is_not_called_for_what_its_program_takes_to_start() {
        for (group, resource, scope, caught_for) in [
            ("", "pods", "Namespaced", Some("pods")),
            ("*", "*", "*", Some("pods")),
            ("", "*/*", "*", Some("pods")),
            ("", "pods/*", "*", Some("pods")),
            ("apps", "*", "Namespaced", Some("replicasets")),
            ("apps", "deployments", "*", Some("deployments")),
            ("", "secrets", "*", Some("secrets")),
            ("coordination.k8s.io", "leases", "*", Some("leases")),
            ("*", "namespaces", "Cluster", Some("namespaces")),
            ("*", "*", "Cluster", Some("namespaces")),
            ("", "pods/status", "*", None),
            ("", "configmaps", "*", None),
            ("apps", "pods", "*", None),
            ("", "pods", "Cluster", None),
            ("example.com", "*", "*", None),
        ] {
            let rule = rule(group, resource, scope, "UPDATE");
            assert_eq!(caught(&rule), caught_for, "{group} {resource} {scope}");
        }
    }

    #[test]
    fn who_fails_open_or_selects_others_is_left_alone() {
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let name = "kubernetes.io/metadata.name";
        for (fields, caught_for) in [
            (json!({}), Some("pods")),
            (json!({"failurePolicy": "Ignore"}), None),
            (
                json!({"matchConditions": [{"name": "a", "expression": "false"}]}),
                None,
            ),
            (
                json!({"namespaceSelector": expression(name, "NotIn", &["own"])}),
                None,
            ),
            (
                json!({"namespaceSelector": expression(name, "NotIn", &["other"])}),
                Some("pods"),
            ),
            (
                json!({"namespaceSelector": expression(name, "In", &["own"])}),
                Some("pods"),
            ),
            (
                json!({"namespaceSelector": expression(name, "Exists", &[])}),
                Some("pods"),
            ),
            (
                json!({"namespaceSelector": expression("level", "DoesNotExist", &[])}),
                None,
            ),
            (
                json!({"namespaceSelector": {"matchLabels": {"level": "high"}}}),
                Some("pods"),
            ),
            (
                json!({"namespaceSelector": {"matchLabels": {"level": "low"}}}),
                None,
            ),
            (
                json!({"objectSelector": {"matchLabels": {"app": "own"}}}),
                Some("pods"),
            ),
            (
                json!({"objectSelector": {"matchLabels": {"app": "other"}}}),
                None,
            ),
            (rule("", "pods", "*", "CONNECT"), None),
        ] {
            assert_eq!(caught(&fields), caught_for, "{fields}");
        }
    }
}
