//! Sub-resources (spec sections A.2.6, A.2.7 and C.14).

use http::Method;
use serde_json::json;

use crate::cluster::{Cluster, deployment, pod};

const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_workload_is_scaled_through_its_scale() {
    let cluster = Cluster::start();
    let made = cluster
        .post(DEPLOYMENTS, &deployment("web"))
        .await
        .expect(201);
    let path = format!("{DEPLOYMENTS}/web/scale");
    let scale = cluster.get(&path).await.expect(200);
    let own = &made["metadata"];
    assert_eq!(
        scale,
        json!({
            "kind": "Scale", "apiVersion": "autoscaling/v1",
            "metadata": {
                "name": "web", "namespace": "default", "uid": own["uid"],
                "resourceVersion": own["resourceVersion"], "creationTimestamp": own["creationTimestamp"],
            },
            "spec": {"replicas": 2},
            "status": {"replicas": 0, "selector": "app=web"},
        })
    );
    let scaled = cluster
        .patch("merge", &path, &json!({"spec": {"replicas": 5}}))
        .await
        .expect(200);
    assert_eq!(scaled["spec"]["replicas"], 5);
    let read = cluster.get(&format!("{DEPLOYMENTS}/web")).await.expect(200);
    assert_eq!(
        (&read["spec"]["replicas"], &read["metadata"]["generation"]),
        (&json!(5), &json!(2))
    );
    let mut stale = scale.clone();
    stale["spec"]["replicas"] = 9.into();
    let _ = cluster.put(&path, &stale).await.refused(409, "Conflict");
    stale["metadata"]["resourceVersion"] = scaled["metadata"]["resourceVersion"].clone();
    cluster.put(&path, &stale).await.expect(200);
    let message = cluster
        .patch("merge", &path, &json!({"spec": {"replicas": -1}}))
        .await
        .refused(422, "Invalid");
    assert_eq!(
        message,
        "Scale.autoscaling \"web\" is invalid: spec.replicas: Invalid value: -1: must be greater \
         than or equal to 0",
    );
}

#[tokio::test]
async fn a_pod_is_bound_once() {
    let cluster = Cluster::start();
    cluster.post(PODS, &pod("x")).await.expect(201);
    let binding = json!({
        "apiVersion": "v1", "kind": "Binding",
        "metadata": {"name": "x", "annotations": {"by": "test"}},
        "target": {"kind": "Node", "name": "n1"},
    });
    let path = format!("{PODS}/x/binding");
    let status = cluster.post(&path, &binding).await.expect(201);
    assert_eq!(status["status"], "Success");
    let bound = cluster.get(&format!("{PODS}/x")).await.expect(200);
    assert_eq!(bound["spec"]["nodeName"], "n1");
    assert_eq!(bound["metadata"]["annotations"]["by"], "test");
    assert_eq!(bound["status"]["conditions"][0]["type"], "PodScheduled");
    let message = cluster.post(&path, &binding).await.refused(409, "Conflict");
    assert_eq!(
        message,
        "Operation cannot be fulfilled on pods/binding \"x\": pod x is already assigned to node \"n1\"",
    );
    cluster.post(PODS, &pod("y")).await.expect(201);
    let mut other = binding.clone();
    other["metadata"]["name"] = "y".into();
    cluster
        .post("/api/v1/namespaces/default/bindings", &other)
        .await
        .expect(201);
    let bound = cluster.get(&format!("{PODS}/y")).await.expect(200);
    assert_eq!(bound["spec"]["nodeName"], "n1");
}

#[tokio::test]
async fn an_eviction_asks_the_budget() {
    let cluster = Cluster::start();
    let mut object = pod("x");
    object["spec"]["nodeName"] = "n1".into();
    cluster.post(PODS, &object).await.expect(201);
    let running = json!({"status": {
        "phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
    }});
    cluster
        .patch("merge", &format!("{PODS}/x/status"), &running)
        .await
        .expect(200);
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    let budget = json!({
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "x"}}},
    });
    cluster.post(budgets, &budget).await.expect(201);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "x"}});
    let path = format!("{PODS}/x/eviction");
    let status = cluster.post(&path, &eviction).await.expect(429);
    assert_eq!(
        status["message"],
        "Cannot evict pod as it would violate the pod's disruption budget."
    );
    assert_eq!(status["details"]["causes"][0]["reason"], "DisruptionBudget");
    let allowed = json!({"status": {
        "disruptionsAllowed": 1, "observedGeneration": 1, "currentHealthy": 2, "desiredHealthy": 1, "expectedPods": 2,
    }});
    cluster
        .patch("merge", &format!("{budgets}/b/status"), &allowed)
        .await
        .expect(200);
    cluster.post(&path, &eviction).await.expect(201);
    let leaving = cluster.get(&format!("{PODS}/x")).await.expect(200);
    assert!(leaving["metadata"]["deletionTimestamp"].is_string());
    let used = cluster.get(&format!("{budgets}/b")).await.expect(200);
    assert_eq!(used["status"]["disruptionsAllowed"], 0);
}

#[tokio::test]
async fn ephemeral_containers_have_their_own_path() {
    let cluster = Cluster::start();
    cluster.post(PODS, &pod("x")).await.expect(201);
    let patch = json!({"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}});
    let path = format!("{PODS}/x/ephemeralcontainers");
    let patched = cluster.patch("strategic", &path, &patch).await.expect(200);
    assert_eq!(patched["spec"]["ephemeralContainers"][0]["name"], "debug");
}

#[tokio::test]
async fn connections_have_nothing_to_connect_to() {
    let cluster = Cluster::start();
    cluster.post(PODS, &pod("x")).await.expect(201);
    let unbound = "pod x does not have a host assigned";
    for (path, code, reason, expected) in [
        (
            format!("{PODS}/x/exec?command=ls&stdout=true"),
            400,
            "BadRequest",
            unbound,
        ),
        (format!("{PODS}/x/attach"), 400, "BadRequest", unbound),
        (
            format!("{PODS}/x/portforward?ports=80"),
            400,
            "BadRequest",
            unbound,
        ),
        (
            format!("{PODS}/x/exec?command=ls&container=none"),
            400,
            "BadRequest",
            "container none is not valid for pod x",
        ),
        (
            format!("{PODS}/x/proxy/healthz"),
            400,
            "BadRequest",
            "address not allowed",
        ),
        (
            "/api/v1/namespaces/default/services/none/proxy/".to_owned(),
            503,
            "ServiceUnavailable",
            "no endpoints available for service \"none\"",
        ),
    ] {
        let answer = cluster.send(Method::POST, &path, &[], "").await;
        assert_eq!(answer.refused(code, reason), expected, "{path}");
    }
    let log = cluster.get(&format!("{PODS}/x/log")).await;
    assert_eq!(log.code, 204, "{log:?}");
    let path = format!("{PODS}/x/exec?dryRun=All");
    let message = cluster
        .send(Method::POST, &path, &[], "")
        .await
        .refused(400, "BadRequest");
    assert_eq!(message, "dryRun is not supported");
    let _ = cluster
        .send(Method::POST, &format!("{PODS}/none/exec"), &[], "")
        .await
        .refused(404, "NotFound");
}

#[tokio::test]
async fn sub_resources_that_do_not_exist_are_not_found() {
    let cluster = Cluster::start();
    let message = cluster
        .get(&format!("{PODS}/x/nope"))
        .await
        .refused(404, "NotFound");
    assert_eq!(message, "the server could not find the requested resource");
    let _ = cluster
        .delete(&format!("{PODS}/x/status"))
        .await
        .refused(405, "MethodNotAllowed");
    let _ = cluster
        .get(&format!("{PODS}/x/binding"))
        .await
        .refused(405, "MethodNotAllowed");
}
