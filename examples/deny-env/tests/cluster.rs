//! The program beside an API server.

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use kubewright::Needs;
use kubewright::testing::{TestCluster, unique, yaml};
use serde_json::json;

use super::options;

/// A cluster that calls the program, with the configurations that `manifests` writes.
async fn cluster(arguments: &[&str]) -> TestCluster {
    let app = |needs: &mut Needs| deny_env::app(options(arguments), needs);
    TestCluster::builder()
        .app(app)
        .exact_permissions()
        .start()
        .await
}

const WITH_ENV: &str = include_str!("../demo/nginx-with-env.yaml");

#[tokio::test]
async fn a_pod_without_env_is_stored() {
    let cluster = cluster(&[]).await;
    cluster
        .create::<Pod>(&yaml(include_str!("../demo/nginx.yaml")))
        .await
        .expect_allowed();
    assert!(cluster.get::<Pod>("nginx").await.is_some());
}

#[tokio::test]
async fn a_pod_with_env_is_denied_and_not_stored() {
    let cluster = cluster(&[]).await;
    let denied = cluster.create::<Pod>(&yaml(WITH_ENV)).await.expect_denied();
    assert_eq!(denied.by(), "denyenv.hightowerlabs.com");
    assert_eq!(denied.message(), "nginx-with-env is using env vars");
    assert_eq!(denied.code(), 402);
    assert_eq!(
        denied.status().message,
        "admission webhook \"denyenv.hightowerlabs.com\" denied the request: \
         nginx-with-env is using env vars"
    );
    assert!(cluster.get::<Pod>("nginx-with-env").await.is_none());
}

#[tokio::test]
async fn every_offender_is_a_warning() {
    let cluster = cluster(&["--init-containers"]).await;
    let env = json!([{"name": "PASSWORD", "value": "fail"}]);
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "two"},
        "spec": {
            "containers": [{"name": "first", "image": "nginx", "env": env}],
            "initContainers": [{"name": "second", "image": "nginx", "env": env}],
        },
    });
    let request = Request::post(format!("/api/v1/namespaces/{}/pods", cluster.namespace()))
        .header("content-type", "application/json")
        .body(pod.to_string().into_bytes())
        .unwrap();
    let answer = cluster.send(request).await;
    assert_eq!(answer.status(), 402);
    let warnings: Vec<_> = answer
        .headers()
        .get_all("warning")
        .iter()
        .map(|header| header.to_str().unwrap())
        .collect();
    assert_eq!(
        warnings,
        [
            "299 - \"first is using env vars\"",
            "299 - \"second is using env vars\""
        ]
    );
    let status: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(
        status["message"],
        "admission webhook \"denyenv.hightowerlabs.com\" denied the request: first is using env vars"
    );
}

#[tokio::test]
async fn a_reserved_namespace_is_closed_to_all_but_listed_users() {
    let name = unique("billing");
    let cluster = cluster(&["--reserved-namespaces", &name, "--reserved-for", "alice"]).await;
    let billing = cluster.new_namespace(&name, &[]).await;
    let map: ConfigMap = yaml("{apiVersion: v1, kind: ConfigMap, metadata: {name: rates}}");

    let admins = ["system:masters"];
    let denied = billing
        .as_user("bob", &admins)
        .create(&map)
        .await
        .expect_denied();
    assert_eq!(denied.by(), "reserved-namespaces.hightowerlabs.com");
    assert_eq!(
        denied.message(),
        format!("namespace `{name}` is reserved: `bob` cannot create objects in it")
    );
    assert_eq!(denied.code(), 403);

    billing
        .as_user("alice", &admins)
        .create(&map)
        .await
        .expect_allowed();
    cluster
        .as_user("bob", &admins)
        .create(&map)
        .await
        .expect_allowed();
    let change = json!({"data": {"rate": "7"}});
    billing
        .as_user("bob", &admins)
        .merge::<ConfigMap>("rates", &change)
        .await
        .expect_allowed();
}

#[tokio::test]
async fn a_claim_that_names_no_class_gets_the_default() {
    let cluster = cluster(&["--default-storage-class", "fast"]).await;
    let claim = |name: &str, class: &str| -> PersistentVolumeClaim {
        yaml(&format!(
            "{{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {{name: {name}}}, spec: {{\
             accessModes: [ReadWriteOnce], resources: {{requests: {{storage: 1Gi}}}}{class}}}}}"
        ))
    };
    for (name, class, expected) in [
        ("plain", "", "fast"),
        ("slow", ", storageClassName: slow", "slow"),
        ("none", ", storageClassName: \"\"", ""),
    ] {
        let stored = cluster.create(&claim(name, class)).await.expect_allowed();
        assert_eq!(
            stored.spec.unwrap().storage_class_name.as_deref(),
            Some(expected),
            "{name}"
        );
    }
}

#[tokio::test]
async fn the_other_policies_are_off_by_default() {
    let cluster = cluster(&[]).await;
    let claim: PersistentVolumeClaim = yaml(
        "{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: plain}, spec: {\
         accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}",
    );
    let stored = cluster.create(&claim).await.expect_allowed();
    assert_eq!(stored.spec.unwrap().storage_class_name, None);
    let init: Pod = yaml(
        "{apiVersion: v1, kind: Pod, metadata: {name: init}, spec: {\
         containers: [{name: nginx, image: nginx, envFrom: [{secretRef: {name: database}}]}],\
         initContainers: [{name: setup, image: nginx, env: [{name: A, value: b}]}]}}",
    );
    cluster.create(&init).await.expect_allowed();
}

#[tokio::test]
async fn an_ephemeral_container_with_env_cannot_be_added() {
    let cluster = cluster(&["--ephemeral-containers"]).await;
    let nginx: Pod = yaml(include_str!("../demo/nginx.yaml"));
    cluster.create(&nginx).await.expect_allowed();
    let debug = async |name: &str, env: serde_json::Value| {
        let container = json!({"name": name, "image": "busybox", "env": env});
        let patch = json!({"spec": {"ephemeralContainers": [container]}});
        let namespace = cluster.namespace();
        let path = format!("/api/v1/namespaces/{namespace}/pods/nginx/ephemeralcontainers");
        let request = Request::patch(path)
            .header("content-type", "application/strategic-merge-patch+json")
            .body(patch.to_string().into_bytes())
            .unwrap();
        let answer = cluster.send(request).await;
        let body: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
        (answer.status().as_u16(), body)
    };

    let (status, answer) = debug("dirty", json!([{"name": "A", "value": "b"}])).await;
    assert_eq!(status, 402, "{answer}");
    assert_eq!(
        answer["message"],
        "admission webhook \"denyenv.hightowerlabs.com\" denied the request: dirty is using env vars"
    );
    let (status, answer) = debug("clean", json!([])).await;
    assert_eq!(status, 200, "{answer}");
    assert_eq!(answer["spec"]["ephemeralContainers"][0]["name"], "clean");
}
