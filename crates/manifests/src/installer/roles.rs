//! ClusterRoles that grant users access to the custom resources of a program.

use serde_json::{Value, json};

/// Three ClusterRoles for each CustomResourceDefinition: to view its objects, to edit them, and to administer them. The
/// installation binds no user to them.
pub(super) fn for_people(crds: &[Value], aggregated: bool) -> Vec<Value> {
    let roles = crds.iter().flat_map(|crd| {
        ROLES.map(|(suffix, aggregate, verbs)| {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let group = &crd["spec"]["group"];
            let plural = crd["spec"]["names"]["plural"].as_str().unwrap_or_default();
            let mut rules = vec![json!({
                "apiGroups": [group], "resources": [plural], "verbs": verbs,
            })];
            if has_status(crd) {
                let status = format!("{plural}/status");
                rules.push(json!({"apiGroups": [group], "resources": [status], "verbs": ["get"]}));
            }
            let mut metadata = json!({"name": format!("{name}-{suffix}")});
            if aggregated {
                let label = format!("rbac.authorization.k8s.io/aggregate-to-{aggregate}");
                metadata["labels"][label] = json!("true");
            }
            json!({
                "apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRole",
                "metadata": metadata,
                "rules": rules,
            })
        })
    });
    roles.collect()
}

fn has_status(crd: &Value) -> bool {
    let versions = crd["spec"]["versions"].as_array();
    let mut versions = versions.into_iter().flatten();
    versions.any(|version| version["subresources"]["status"].is_object())
}

/// The name of each role, the role of the cluster that it belongs to, and its verbs.
const ROLES: [(&str, &str, &[&str]); 3] = [
    ("viewer", "view", &["get", "list", "watch"]),
    (
        "editor",
        "edit",
        &[
            "create", "delete", "get", "list", "patch", "update", "watch",
        ],
    ),
    ("admin", "admin", &["*"]),
];
