//! What validation refuses, as a client sees it (spec sections C.4, C.9 and E.2).

use serde_json::json;

use crate::cluster::{Cluster, deployment, map};

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const PODS: &str = "/api/v1/namespaces/default/pods";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

#[tokio::test]
async fn a_bad_name_is_refused_with_its_rule() {
    let cluster = Cluster::start();
    let status = cluster.post(MAPS, &map("Bad_Name")).await.expect(422);
    assert_eq!(status["reason"], "Invalid");
    assert_eq!(status["details"]["name"], "Bad_Name");
    assert_eq!(status["details"]["kind"], "ConfigMap");
    let cause = &status["details"]["causes"][0];
    assert_eq!(cause["reason"], "FieldValueInvalid");
    assert_eq!(cause["field"], "metadata.name");
    assert!(cause["message"].as_str().unwrap().starts_with(
        "Invalid value: \"Bad_Name\": a lowercase RFC 1123 subdomain must consist of"
    ));
}

#[tokio::test]
async fn an_invalid_object_is_refused_with_every_cause() {
    let cluster = Cluster::start();
    let bad = json!({"metadata": {"name": "x"}, "spec": {"containers": [{"name": "a"}, {"name": "a", "image": "i"}]}});
    let status = cluster.post(PODS, &bad).await.expect(422);
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("Pod \"x\" is invalid: ["), "{message}");
    let fields: Vec<_> = status["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| cause["field"].as_str().unwrap())
        .collect();
    assert!(fields.contains(&"spec.containers[0].image"), "{fields:?}");
    assert!(fields.contains(&"spec.containers[1].name"), "{fields:?}");
}

#[tokio::test]
async fn a_name_is_required() {
    let cluster = Cluster::start();
    let message = cluster
        .post(MAPS, &json!({"metadata": {}}))
        .await
        .refused(422, "Invalid");
    assert_eq!(
        message,
        "ConfigMap \"\" is invalid: metadata.name: Required value: name or generateName is required",
    );
}

#[tokio::test]
async fn no_finalizer_is_added_to_what_is_being_deleted() {
    let cluster = Cluster::start();
    let mut held = deployment("x");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    cluster.post(DEPLOYMENTS, &held).await.expect(201);
    let path = format!("{DEPLOYMENTS}/x");
    cluster.delete(&path).await.expect(200);
    let more = json!({"metadata": {"finalizers": ["example.com/hold", "example.com/new"]}});
    let message = cluster
        .patch("merge", &path, &more)
        .await
        .refused(422, "Invalid");
    assert!(
        message.contains(
            "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being \
             deleted, found new finalizers []string{\"example.com/new\"}"
        ),
        "{message}"
    );
}
