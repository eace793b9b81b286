//! The program beside an API server.

use std::fs;
use std::path::Path;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kubewright::Needs;
use kubewright::testing::{TestCluster, eventually, unique, yaml};
use serde_json::json;

use super::options;

/// A cluster that calls the program, with the configuration that `manifests` writes.
async fn cluster(config: &Path) -> TestCluster {
    let app = |needs: &mut Needs| sidecar_injector::app(options(config), needs);
    TestCluster::builder()
        .app(app)
        .exact_permissions()
        .start()
        .await
}

/// The same, seen from a namespace that asks for sidecars.
async fn injection() -> TestCluster {
    let cluster = cluster(Path::new("/nowhere/sidecarconfig.yaml")).await;
    cluster
        .new_namespace(&unique("injection"), &[("sidecar-injection", "enabled")])
        .await
}

/// The pod of the demonstration, without a namespace: the client's own applies.
pub(crate) fn alpine() -> Pod {
    let mut pod: Pod = yaml(include_str!("../demo/alpine.yaml"));
    pod.metadata.namespace = None;
    pod
}

pub(crate) fn containers(pod: &Pod) -> Vec<&str> {
    pod.spec
        .iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| container.name.as_str())
        .collect()
}

#[tokio::test]
async fn a_pod_in_a_labelled_namespace_gets_the_sidecar() {
    let pod = injection().await.create(&alpine()).await.expect_allowed();
    assert_eq!(containers(&pod), ["alpine", "sidecar-nginx"]);
    let spec = pod.spec.unwrap();
    let sidecar = &spec.containers[1];
    assert_eq!(sidecar.image.as_deref(), Some("nginx:1.12.2"));
    assert_eq!(sidecar.image_pull_policy.as_deref(), Some("IfNotPresent"));
    let mount = &sidecar.volume_mounts.as_ref().unwrap()[0];
    assert_eq!(
        (mount.name.as_str(), mount.mount_path.as_str()),
        ("nginx-conf", "/etc/nginx")
    );
    let volumes = spec.volumes.unwrap();
    let volume = volumes
        .iter()
        .find(|volume| volume.name == "nginx-conf")
        .unwrap();
    assert_eq!(volume.config_map.as_ref().unwrap().name, "nginx-configmap");
    let status = &pod.metadata.annotations.unwrap()["sidecar-injector-webhook.morven.me/status"];
    assert_eq!(status, "injected");
}

#[tokio::test]
async fn the_label_of_the_article_is_as_good_and_both_inject_once() {
    let cluster = cluster(Path::new("/nowhere/sidecarconfig.yaml")).await;
    let article = ("sidecar-injector", "enabled");
    let both = [article, ("sidecar-injection", "enabled")];
    for labels in [&[article][..], &both] {
        let namespace = cluster.new_namespace(&unique("article"), labels).await;
        let mut sleep: Pod = yaml(include_str!("../demo/alpine.yaml"));
        sleep.metadata.namespace = None;
        let stored = namespace.create(&sleep).await.expect_allowed();
        assert_eq!(containers(&stored), ["alpine", "sidecar-nginx"]);
    }
}

#[tokio::test]
async fn a_pod_elsewhere_is_left_alone() {
    let cluster = injection().await;
    let elsewhere = cluster.new_namespace(&unique("elsewhere"), &[]).await;
    let stored = elsewhere.create(&alpine()).await.expect_allowed();
    assert_eq!(containers(&stored), ["alpine"]);
    assert_eq!(stored.metadata.annotations, None);
}

#[tokio::test]
async fn the_pods_of_a_deployment_get_the_sidecar() {
    let cluster = injection().await;
    let deployment: Deployment = yaml(
        r#"
        apiVersion: apps/v1
        kind: Deployment
        metadata: {name: alpine, labels: {app: alpine}}
        spec:
          replicas: 1
          selector: {matchLabels: {app: alpine}}
          template:
            metadata:
              annotations: {sidecar-injector-webhook.morven.me/inject: "yes"}
              labels: {app: alpine}
            spec:
              containers: [{name: alpine, image: alpine, command: [sleep, infinity]}]
        "#,
    );
    let deployment = cluster.create(&deployment).await.expect_allowed();
    let template = deployment.spec.template;
    assert_eq!(
        template.spec.as_ref().unwrap().containers.len(),
        1,
        "the template stays"
    );

    // What the controller of a ReplicaSet makes of the template.
    let mut pod = Pod {
        metadata: template.metadata.unwrap(),
        spec: template.spec,
        status: None,
    };
    pod.metadata.generate_name = Some("alpine-5d8f-".to_owned());
    let stored = cluster.create(&pod).await.expect_allowed();
    assert_eq!(containers(&stored), ["alpine", "sidecar-nginx"]);
}

#[tokio::test]
async fn a_pod_that_says_no_is_left_alone() {
    let mut pod = alpine();
    let no = (
        "sidecar-injector-webhook.morven.me/inject".to_owned(),
        "No".to_owned(),
    );
    pod.metadata.annotations = Some([no].into());
    let stored = injection().await.create(&pod).await.expect_allowed();
    assert_eq!(containers(&stored), ["alpine"]);
}

#[tokio::test]
async fn pods_that_run_already_can_be_updated() {
    let cluster = cluster(Path::new("/nowhere/sidecarconfig.yaml")).await;
    let late = cluster.new_namespace(&unique("injection"), &[]).await;
    late.create(&alpine()).await.expect_allowed();
    let labelled = json!({
        "apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": late.namespace(), "labels": {"sidecar-injection": "enabled"}},
    });
    cluster.apply(&labelled).await.expect_allowed();

    let change = json!({"metadata": {"labels": {"changed": "yes"}}});
    let stored = late.merge::<Pod>("alpine", &change).await.expect_allowed();
    assert_eq!(containers(&stored), ["alpine"]);
}

#[tokio::test]
async fn a_change_of_the_file_takes_effect_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let config = directory.path().join("sidecarconfig.yaml");
    fs::write(&config, "containers: [{name: one, image: one}]").unwrap();
    let cluster = cluster(&config).await;
    let cluster = cluster
        .new_namespace(&unique("injection"), &[("sidecar-injection", "enabled")])
        .await;
    let mut pod = alpine();
    pod.metadata.generate_name = pod.metadata.name.take();
    let stored = cluster.create(&pod).await.expect_allowed();
    assert_eq!(containers(&stored), ["alpine", "one"]);

    fs::write(&config, "containers: [{name: two, image: two}]").unwrap();
    eventually("the new sidecar", async || {
        let stored = cluster.create(&pod).await.expect_allowed();
        (containers(&stored) == ["alpine", "two"]).then_some(())
    })
    .await;
}
