//! Aggregation of ClusterRoles.

use serde_json::json;

use super::{all, settled};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles";

#[tokio::test(start_paused = true)]
async fn a_role_has_the_rules_of_the_roles_that_it_selects() {
    let cluster = all();
    let sum = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "sum"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"part": "yes"}}]},
        "rules": [],
    });
    cluster.made(ROLES, &sum).await;
    let rule =
        |resource: &str| json!({"apiGroups": [""], "resources": [resource], "verbs": ["get"]});
    for (name, resource) in [("b", "pods"), ("a", "services"), ("c", "pods")] {
        let part = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {"part": "yes"}},
            "rules": [rule(resource)],
        });
        cluster.made(ROLES, &part).await;
    }
    let path = format!("{ROLES}/sum");
    let rules = cluster.read(&path).await["rules"].clone();
    assert_eq!(rules, json!([rule("services"), rule("pods")]));
    cluster.delete(&format!("{ROLES}/a")).await.expect(200);
    settled().await;
    assert_eq!(cluster.read(&path).await["rules"], json!([rule("pods")]));
    // A reader may read what an aggregated role of the server lets him.
    let view = cluster.read(&format!("{ROLES}/view")).await;
    assert!(!view["rules"].as_array().unwrap().is_empty());
}
