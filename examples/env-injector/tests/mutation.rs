//! Which Deployments are changed, and how, by a cluster that calls the program.

use env_injector::app;
use k8s_openapi::api::apps::v1::Deployment;
use kubewright::testing::{TestCluster, unique, yaml};
use serde_json::{Value, json};

async fn cluster() -> TestCluster {
    let own = TestCluster::builder().app(app).start().await;
    own.new_namespace(&unique("applications"), &[]).await
}

/// The Deployment of the walk-through, without a namespace: the client's own applies.
pub(crate) fn helloworld() -> Deployment {
    let mut deployment: Deployment = yaml(include_str!("../demo/helloworld-go.yaml"));
    deployment.metadata.namespace = None;
    deployment
}

/// The same with another list of containers.
fn with_containers(containers: &Value) -> Deployment {
    let mut deployment = serde_json::to_value(helloworld()).unwrap();
    deployment["spec"]["template"]["spec"]["containers"] = containers.clone();
    serde_json::from_value(deployment).unwrap()
}

/// The variables of every container of a stored Deployment.
pub(crate) fn variables(deployment: &Deployment) -> Vec<Value> {
    let deployment = serde_json::to_value(deployment).unwrap();
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    let containers = containers.as_array().unwrap().iter();
    containers
        .map(|container| container["env"].clone())
        .collect()
}

fn target() -> Value {
    json!({"name": "TARGET", "value": "Sample Injector v1"})
}

#[tokio::test]
async fn the_application_gets_its_target() {
    let stored = cluster().await.create(&helloworld()).await.expect_allowed();
    assert_eq!(variables(&stored), [json!([target()])]);
}

#[tokio::test]
async fn an_own_target_is_overwritten_where_it_stands() {
    let cluster = cluster().await;
    let from = json!({"configMapKeyRef": {"name": "targets", "key": "target"}});
    for (name, own) in [
        ("value", json!({"name": "TARGET", "value": "World"})),
        ("reference", json!({"name": "TARGET", "valueFrom": from})),
        ("empty", json!({"name": "TARGET"})),
    ] {
        let (before, after) = (
            json!({"name": "A", "value": "a"}),
            json!({"name": "B", "value": "b"}),
        );
        let mut deployment = with_containers(&json!([
            {"name": "user", "image": "app", "env": [before, own, after]},
        ]));
        deployment.metadata.name = Some(name.to_owned());
        let stored = cluster.create(&deployment).await.expect_allowed();
        assert_eq!(
            variables(&stored),
            [json!([before, target(), after])],
            "{name}"
        );
    }
}

#[tokio::test]
async fn every_target_of_several_is_overwritten() {
    let own = json!({"name": "TARGET", "value": "World"});
    let deployment = with_containers(&json!([
        {"name": "user", "image": "app", "env": [own, own]},
    ]));
    let stored = cluster().await.create(&deployment).await.expect_allowed();
    assert_eq!(variables(&stored), [json!([target(), target()])]);
}

#[tokio::test]
async fn updates_are_judged_too() {
    let cluster = cluster().await;
    cluster.create(&helloworld()).await.expect_allowed();
    let change = json!({"spec": {"template": {"spec": {"containers": [
        {"name": "user", "image": "app:2", "env": [{"name": "TARGET", "value": "World"}]},
    ]}}}});
    let stored = cluster
        .merge::<Deployment>("helloworld-go", &change)
        .await
        .expect_allowed();
    assert_eq!(variables(&stored), [json!([target()])]);
}

#[tokio::test]
async fn templates_of_another_label_or_number_of_containers_are_left_alone() {
    let cluster = cluster().await;
    let container = |name: &str| json!({"name": name, "image": "app"});
    let two = with_containers(&json!([container("user"), container("proxy")]));
    let stored = cluster.create(&two).await.expect_allowed();
    assert_eq!(variables(&stored), [Value::Null, Value::Null]);

    let mut other = serde_json::to_value(helloworld()).unwrap();
    other["metadata"]["name"] = json!("other");
    // The label of the Deployment itself does not count.
    other["metadata"]["labels"] = json!({"app": "helloworld-go"});
    for at in [
        "/spec/selector/matchLabels/app",
        "/spec/template/metadata/labels/app",
    ] {
        *other.pointer_mut(at).unwrap() = json!("other");
    }
    let other: Deployment = serde_json::from_value(other).unwrap();
    let stored = cluster.create(&other).await.expect_allowed();
    assert_eq!(variables(&stored), [Value::Null]);
}

#[tokio::test]
async fn an_init_container_does_not_count_as_a_container() {
    let mut deployment = serde_json::to_value(helloworld()).unwrap();
    deployment["spec"]["template"]["spec"]["initContainers"] =
        json!([{"name": "first", "image": "app"}]);
    let deployment: Deployment = serde_json::from_value(deployment).unwrap();
    let stored = cluster().await.create(&deployment).await.expect_allowed();
    assert_eq!(variables(&stored), [json!([target()])]);
    let template = stored.spec.template.spec.unwrap();
    assert_eq!(template.init_containers.unwrap()[0].env, None);
}

#[tokio::test]
async fn namespaces_that_exclude_themselves_are_left_alone() {
    let cluster = cluster().await;
    for (value, expected) in [("true", Value::Null), ("false", json!([target()]))] {
        let labels = [("toversus.dev.env-injector.exclude", value)];
        let namespace = cluster.new_namespace(&unique("excluded"), &labels).await;
        let stored = namespace.create(&helloworld()).await.expect_allowed();
        assert_eq!(variables(&stored), [expected], "{value}");
    }
}
