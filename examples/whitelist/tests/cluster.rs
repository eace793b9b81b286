//! What becomes of WhiteLists and their Deployments.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Container;
use kubewright::prelude::*;
use kubewright::testing::{Controllers, Requests, Server, TestCluster, eventually, unique, yaml};
use serde_json::json;
use whitelist::WhiteList;

use super::log::lines_about;

async fn cluster() -> TestCluster {
    TestCluster::builder().app(whitelist::app).start().await
}

fn list(name: &str) -> WhiteList {
    yaml(&format!(
        "
        apiVersion: police.foo.bar/v1beta1
        kind: WhiteList
        metadata: {{name: {name}}}
        spec: {{foo: bar}}
        "
    ))
}

async fn deployment(cluster: &TestCluster, name: &str) -> Deployment {
    eventually("the Deployment", async || cluster.get(name).await).await
}

fn container(deployment: &Deployment) -> &Container {
    let template = &deployment.spec.template;
    let [container] = &template.spec.as_ref().unwrap().containers[..] else {
        panic!("one container")
    };
    container
}

/// Waits until the controller has updated the Deployment after `changed`, and returns it.
async fn put_back(cluster: &TestCluster, name: &str, changed: &Deployment) -> Deployment {
    eventually("the Deployment as it was", async || {
        let found: Deployment = cluster.get(name).await?;
        (found.resource_version() != changed.resource_version()).then_some(found)
    })
    .await
}

#[tokio::test]
async fn a_white_list_has_a_deployment_of_nginx() {
    let cluster = cluster().await;
    let name = unique("sample");
    let list = cluster.create(&list(&name)).await.expect_allowed();
    let name = format!("{name}-deployment");
    let deployment = deployment(&cluster, &name).await;
    let spec = &deployment.spec;
    assert_eq!(deployment.labels()["deployment"], name);
    assert_eq!(
        spec.selector.match_labels.as_ref().unwrap()["deployment"],
        name
    );
    let template = spec.template.metadata.as_ref().unwrap();
    assert_eq!(template.labels.as_ref().unwrap()["deployment"], name);
    assert_eq!(container(&deployment).name, "nginx");
    assert_eq!(container(&deployment).image.as_deref(), Some("nginx"));
    let [owner] = deployment.owner_references() else {
        panic!("one owner")
    };
    assert_eq!(
        (
            owner.kind.as_str(),
            Some(owner.uid.clone()),
            owner.controller
        ),
        ("WhiteList", list.uid(), Some(true))
    );
}

#[tokio::test]
async fn a_deleted_deployment_is_created_again() {
    let cluster = cluster().await;
    let name = unique("sample");
    cluster.create(&list(&name)).await.expect_allowed();
    let name = format!("{name}-deployment");
    let first = deployment(&cluster, &name).await;
    cluster.delete::<Deployment>(&name).await.expect_allowed();
    let second = deployment(&cluster, &name).await;
    assert_ne!(second.uid(), first.uid());
}

#[tokio::test]
async fn whatever_somebody_changes_is_put_back() {
    let cluster = TestCluster::builder()
        .app(whitelist::app)
        .exact_permissions()
        .start()
        .await;
    let name = unique("sample");
    cluster.create(&list(&name)).await.expect_allowed();
    let name = format!("{name}-deployment");
    let made = deployment(&cluster, &name).await;
    let spec = |pod: serde_json::Value| json!({"spec": {"template": {"spec": pod}}});
    let nginx = json!({"name": "nginx", "image": "nginx"});
    for change in [
        // kubectl set image
        spec(json!({"containers": [{"name": "nginx", "image": "httpd"}]})),
        // kubectl set env
        spec(json!({"containers": [
            {"name": "nginx", "image": "nginx", "env": [{"name": "A", "value": "B"}]},
        ]})),
        // kubectl scale
        json!({"spec": {"replicas": 3}}),
        spec(json!({"containers": [nginx, {"name": "more", "image": "redis"}]})),
        spec(json!({"nodeSelector": {"disk": "ssd"}})),
    ] {
        let changed = cluster.merge(&name, &change).await.expect_allowed();
        let found = put_back(&cluster, &name, &changed).await;
        assert_eq!(found.spec, made.spec, "{change}");
    }
    let change = json!({"metadata": {"labels": null, "ownerReferences": null}});
    let changed = cluster.merge(&name, &change).await.expect_allowed();
    let found = put_back(&cluster, &name, &changed).await;
    assert_eq!(found.labels(), made.labels());
    assert_eq!(found.owner_references(), made.owner_references());
}

#[tokio::test]
async fn what_others_add_to_the_metadata_is_left_alone() {
    let cluster = cluster().await;
    let name = unique("sample");
    cluster.create(&list(&name)).await.expect_allowed();
    let name = format!("{name}-deployment");
    deployment(&cluster, &name).await;
    let change = json!({"metadata": {"labels": {"team": "blue", "deployment": "x"}, "annotations": {"a": "b"}}});
    let changed: Deployment = cluster.merge(&name, &change).await.expect_allowed();
    let found = put_back(&cluster, &name, &changed).await;
    assert_eq!(found.labels()["team"], "blue");
    assert_eq!(found.labels()["deployment"], name);
    assert_eq!(found.annotations()["a"], "b");
}

/// The original compared whole specs, which the API server's defaults make differ for ever.
#[tokio::test]
async fn nothing_is_written_for_no_change() {
    let cluster = cluster().await;
    let (first, last) = (unique("first"), unique("last"));
    cluster.create(&list(&first)).await.expect_allowed();
    let name = format!("{first}-deployment");
    let made = deployment(&cluster, &name).await;
    // Each of these makes the controller reconcile the WhiteList, and none of them is a difference.
    for change in ["one", "two", "three"] {
        let seen = json!({"metadata": {"annotations": {"seen": change}}});
        cluster
            .merge::<WhiteList>(&first, &seen)
            .await
            .expect_allowed();
    }
    // Reconciles are done one after the other, so that the first WhiteList's are done when this one's is.
    cluster.create(&list(&last)).await.expect_allowed();
    deployment(&cluster, &format!("{last}-deployment")).await;
    let found = deployment(&cluster, &name).await;
    assert_eq!(found.resource_version(), made.resource_version());
    // The program looks after all namespaces, and on a shared API server others have WhiteLists, too.
    let here = || Requests::of::<Deployment>().in_namespace(cluster.namespace());
    let written = cluster.sent(&here().writes().named(&name));
    let created = cluster.sent(&here().verb("create"));
    assert_eq!(written.len(), 0, "{written:?}");
    assert_eq!(created.len(), 2, "one for each WhiteList: {created:?}");
}

#[tokio::test]
async fn a_program_that_starts_again_writes_nothing_either() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .app(whitelist::app)
        .start()
        .await;
    cluster.create(&list("a")).await.expect_allowed();
    let made = deployment(&cluster, "a-deployment").await;
    let again = kubewright::Program::new(whitelist::app).client(cluster.client());
    let again = again.start().await.unwrap();
    let readiness = again.readiness();
    let running = tokio::spawn(again.run(std::future::pending()));
    eventually("the second program", async || {
        readiness.is_ready().then_some(())
    })
    .await;
    cluster.create(&list("b")).await.expect_allowed();
    deployment(&cluster, "b-deployment").await;
    let found = deployment(&cluster, "a-deployment").await;
    assert_eq!(found.resource_version(), made.resource_version());
    running.abort();
}

#[tokio::test]
async fn the_deployment_goes_with_its_white_list() {
    let cluster = TestCluster::builder()
        .on(Server::Embedded)
        .controllers(Controllers::none().garbage_collection())
        .app(whitelist::app)
        .start()
        .await;
    cluster.create(&list("sample")).await.expect_allowed();
    deployment(&cluster, "sample-deployment").await;
    cluster.delete::<WhiteList>("sample").await.expect_allowed();
    eventually("the end of the Deployment", async || {
        let found: Option<Deployment> = cluster.get("sample-deployment").await;
        found.is_none().then_some(())
    })
    .await;
}

#[tokio::test]
async fn the_log_tells_of_creating_and_updating() {
    let name = unique("sample");
    lines_about(&name);
    let cluster = cluster().await;
    let place = format!("{}/{name}-deployment", cluster.namespace());
    let logged = async |what: &str| {
        let line = format!("{what} Deployment {place}");
        eventually(&line, async || {
            let mut lines = lines_about(&place).into_iter();
            lines.find(|logged| logged.contains(&line))
        })
        .await
    };
    cluster.create(&list(&name)).await.expect_allowed();
    logged("Creating").await;
    let change = json!({"spec": {"replicas": 3}});
    cluster
        .merge::<Deployment>(&format!("{name}-deployment"), &change)
        .await
        .expect_allowed();
    logged("Updating").await;
    let lines = lines_about(&place);
    assert!(!lines.iter().any(|line| line.contains("WARN")), "{lines:?}");
}
