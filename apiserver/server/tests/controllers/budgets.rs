//! PodDisruptionBudgets.

use std::time::Duration;

use serde_json::{Value, json};

use super::{DEPLOYMENTS, MAPS, PODS, all, condition, deployment, settled, template};
use crate::cluster::Cluster;

const BUDGETS: &str = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";

async fn budget(cluster: &Cluster, spec: &Value) -> Value {
    let mut object = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "keep"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
    });
    for (name, value) in spec.as_object().unwrap() {
        object["spec"][name] = value.clone();
    }
    cluster.made(BUDGETS, &object).await;
    status(cluster).await
}

async fn status(cluster: &Cluster) -> Value {
    let budget = cluster.read(&format!("{BUDGETS}/keep")).await;
    budget["status"].clone()
}

async fn evict(cluster: &Cluster, pod: &str, code: u16) -> Value {
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}});
    let path = format!("{PODS}/{pod}/eviction");
    let answer = cluster.post(&path, &eviction).await.expect(code);
    settled().await;
    answer
}

fn numbers(status: &Value) -> [i64; 4] {
    [
        "expectedPods",
        "desiredHealthy",
        "currentHealthy",
        "disruptionsAllowed",
    ]
    .map(|name| status[name].as_i64().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_budget_counts_the_pods_of_its_selector() {
    for (spec, expected) in [
        (json!({"minAvailable": 2}), [3, 2, 3, 1]),
        (json!({"minAvailable": "50%"}), [3, 2, 3, 1]),
        (json!({"maxUnavailable": 1}), [3, 2, 3, 1]),
        (json!({"maxUnavailable": "100%"}), [3, 0, 3, 3]),
        (json!({"minAvailable": 3}), [3, 3, 3, 0]),
    ] {
        let cluster = all();
        cluster.made(DEPLOYMENTS, &deployment("web", 3)).await;
        let status = budget(&cluster, &spec).await;
        assert_eq!(numbers(&status), expected, "{spec}");
        assert_eq!(status["observedGeneration"], 1);
        let allowed = condition(&json!({"status": status}), "DisruptionAllowed").clone();
        let (is, reason) = if expected[3] > 0 {
            ("True", "SufficientPods")
        } else {
            ("False", "InsufficientPods")
        };
        assert_eq!(
            (&allowed["status"], &allowed["reason"]),
            (&json!(is), &json!(reason))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_budget_of_no_pods_allows_no_disruption() {
    let cluster = all();
    let status = budget(&cluster, &json!({"minAvailable": 0})).await;
    assert_eq!(numbers(&status), [0, 0, 0, 0]);
}

#[tokio::test(start_paused = true)]
async fn an_owner_without_a_scale_fails_a_budget_that_needs_one() {
    let cluster = all();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    for (name, value) in template("web").as_object().unwrap() {
        pod[name] = value.clone();
    }
    pod["metadata"]["name"] = "a".into();
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}});
    let map = cluster.made(MAPS, &map).await;
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": map["metadata"]["uid"], "controller": true,
    }]);
    let status = budget(&cluster, &json!({"maxUnavailable": 1})).await;
    assert_eq!(status["disruptionsAllowed"], 0);
    cluster.made(PODS, &pod).await;
    let status = json!({"status": self::status(&cluster).await});
    let failed = condition(&status, "DisruptionAllowed");
    assert_eq!(failed["reason"], "SyncFailed");
    assert_eq!(
        failed["message"],
        "configmaps does not implement the scale subresource"
    );
}

#[tokio::test(start_paused = true)]
async fn an_eviction_uses_up_the_budget_until_the_pod_is_replaced() {
    let cluster = all();
    cluster.made(DEPLOYMENTS, &deployment("web", 2)).await;
    budget(&cluster, &json!({"minAvailable": 2})).await;
    let pod = cluster.names(PODS).await.remove(0);
    let refused = evict(&cluster, &pod, 429).await;
    assert_eq!(
        refused["details"]["causes"][0]["message"],
        "The disruption budget keep needs 2 healthy pods and has 2 currently"
    );
    let less = json!({"spec": {"minAvailable": 1}});
    cluster
        .patch("merge", &format!("{BUDGETS}/keep"), &less)
        .await
        .expect(200);
    settled().await;
    evict(&cluster, &pod, 201).await;
    cluster.get(&format!("{PODS}/{pod}")).await.expect(404);
    // The Deployment has made another pod.
    assert_eq!(numbers(&status(&cluster).await), [2, 1, 2, 1]);
    assert_eq!(status(&cluster).await.get("disruptedPods"), None);
}

#[tokio::test(start_paused = true)]
async fn an_unready_pod_goes_where_the_budget_is_healthy_or_lets_it() {
    for (policy, code) in [(None, 429), (Some("AlwaysAllow"), 201)] {
        let cluster = all();
        let mut web = deployment("web", 1);
        web["spec"]["template"]["metadata"]["annotations"] =
            json!({"kubewright.dev/simulate": "unready"});
        cluster.made(DEPLOYMENTS, &web).await;
        let mut spec = json!({"minAvailable": 1});
        if let Some(policy) = policy {
            spec["unhealthyPodEvictionPolicy"] = policy.into();
        }
        budget(&cluster, &spec).await;
        let pod = cluster.names(PODS).await.remove(0);
        evict(&cluster, &pod, code).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_disruption_that_never_came_is_taken_back() {
    let cluster = all();
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod"});
    for (name, value) in template("web").as_object().unwrap() {
        pod[name] = value.clone();
    }
    pod["metadata"]["name"] = "a".into();
    cluster.made(PODS, &pod).await;
    let path = format!("{PODS}/a");
    let target = json!({"status": {"conditions": [
        {"type": "DisruptionTarget", "status": "True", "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z"},
    ]}});
    cluster
        .patch("strategic", &format!("{path}/status"), &target)
        .await
        .expect(200);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let pod = cluster.read(&path).await;
    assert_eq!(condition(&pod, "DisruptionTarget")["status"], "False");
}
