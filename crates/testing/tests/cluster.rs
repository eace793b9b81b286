//! Objects, namespaces and users of a test cluster.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use serde_json::json;

fn settings(mode: &str) -> ConfigMap {
    yaml(&format!(
        "{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings}}, data: {{mode: {mode}}}}}"
    ))
}

#[tokio::test]
async fn objects_are_created_read_changed_and_deleted() {
    let cluster = TestCluster::start().await;
    assert_eq!(cluster.get::<ConfigMap>("settings").await, None);

    let created = cluster.create(&settings("slow")).await.expect_allowed();
    assert_eq!(
        created.metadata.namespace.as_deref(),
        Some(cluster.namespace())
    );

    let again = cluster.create(&settings("slow")).await.expect_status();
    assert_eq!((again.code, again.reason.as_str()), (409, "AlreadyExists"));

    cluster.replace(&settings("fast")).await.expect_allowed();
    let merged: ConfigMap = cluster
        .merge("settings", &json!({"data": {"more": "1"}}))
        .await
        .expect_allowed();
    assert_eq!(
        merged.data.unwrap().into_iter().collect::<Vec<_>>(),
        [
            ("mode".to_owned(), "fast".to_owned()),
            ("more".to_owned(), "1".to_owned()),
        ]
    );

    cluster
        .delete::<ConfigMap>("settings")
        .await
        .expect_allowed();
    assert_eq!(cluster.get::<ConfigMap>("settings").await, None);
}

#[tokio::test]
async fn a_namespace_is_a_place_of_its_own() {
    let cluster = TestCluster::start().await;
    let name = unique("blue");
    let blue = cluster.new_namespace(&name, &[("team", "blue")]).await;
    blue.create(&settings("slow")).await.expect_allowed();
    assert!(blue.get::<ConfigMap>("settings").await.is_some());
    assert!(cluster.get::<ConfigMap>("settings").await.is_none());

    let namespace: Namespace = blue.get(&name).await.unwrap();
    assert_eq!(namespace.metadata.labels.unwrap()["team"], "blue");
    let nowhere = cluster
        .in_namespace("red")
        .create(&settings("slow"))
        .await
        .expect_status();
    assert_eq!(nowhere.message, "namespaces \"red\" not found");
}

#[tokio::test]
async fn objects_of_any_kind_are_applied() {
    let cluster = TestCluster::start().await;
    let object = |mode: &str| {
        json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "settings"},
            "data": {"mode": mode},
        })
    };
    cluster.apply(&object("slow")).await.expect_allowed();
    let stored = cluster.apply(&object("fast")).await.expect_allowed();
    assert_eq!(stored["data"], json!({"mode": "fast"}));
}

#[tokio::test]
async fn what_comes_later_is_waited_for() {
    let cluster = TestCluster::start().await;
    let other = cluster.clone();
    let create =
        tokio::spawn(async move { other.create(&settings("slow")).await.expect_allowed() });
    let found = eventually("the config map", async || {
        cluster.get::<ConfigMap>("settings").await
    })
    .await;
    assert_eq!(found, create.await.unwrap());
}

#[tokio::test]
async fn clusters_in_one_process_know_nothing_of_each_other() {
    let (one, other) = (TestCluster::start().await, TestCluster::start().await);
    one.create(&settings("slow")).await.expect_allowed();
    assert!(other.get::<ConfigMap>("settings").await.is_none());
}

#[tokio::test]
async fn namespaces_are_objects_like_others() {
    let cluster = TestCluster::start().await;
    let name = unique("red");
    let namespace = yaml::<Namespace>(&format!(
        "{{apiVersion: v1, kind: Namespace, metadata: {{name: {name}}}}}"
    ));
    cluster.create(&namespace).await.expect_allowed();
    let red = cluster.in_namespace(&name);
    red.create(&settings("slow")).await.expect_allowed();
}

#[tokio::test]
async fn a_raw_request_has_a_raw_answer() {
    let cluster = TestCluster::start().await;
    let path = format!("/api/v1/namespaces/{}/pods/none", cluster.namespace());
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    let answer = cluster.send(request).await;
    assert_eq!(answer.status(), 404);
    let status: serde_json::Value = serde_json::from_slice(answer.body()).unwrap();
    assert_eq!(status["message"], "pods \"none\" not found");
}

#[tokio::test]
async fn an_embedded_cluster_begins_in_the_namespace_default() {
    let cluster = TestCluster::builder().on(Server::Embedded).start().await;
    assert_eq!(cluster.namespace(), "default");
}

#[tokio::test]
#[should_panic(expected = "the YAML of a test object cannot be read")]
async fn a_test_object_that_is_no_object_is_named() {
    let _: Pod = yaml("metadata: [");
}
