//! The end of namespaces, and what each of them has.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{all, condition, settled, with};
use crate::cluster::{Cluster, map, pod};

const DEMO: &str = "/api/v1/namespaces/demo";

async fn demo(cluster: &Cluster) {
    let demo = json!({"metadata": {"name": "demo"}});
    cluster.made("/api/v1/namespaces", &demo).await;
}

async fn delete(cluster: &Cluster) {
    cluster.delete(DEMO).await.expect(200);
    settled().await;
}

fn namespaces() -> Cluster {
    with(Controllers::none().namespaces())
}

/// The conditions of the namespace, as type, status, reason and message.
async fn conditions(cluster: &Cluster) -> Vec<[String; 4]> {
    let namespace = cluster.read(DEMO).await;
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    conditions
        .iter()
        .map(|condition| {
            ["type", "status", "reason", "message"]
                .map(|name| condition[name].as_str().unwrap().to_owned())
        })
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_deleted_namespace_goes_with_everything_in_it() {
    let cluster = namespaces();
    demo(&cluster).await;
    cluster.made(&format!("{DEMO}/configmaps"), &map("a")).await;
    cluster.made(&format!("{DEMO}/pods"), &pod("a")).await;
    let roles = "/apis/rbac.authorization.k8s.io/v1/namespaces/demo/roles";
    cluster
        .made(roles, &json!({"metadata": {"name": "a"}}))
        .await;
    delete(&cluster).await;
    cluster.get(DEMO).await.expect(404);
    demo(&cluster).await;
    assert!(
        cluster
            .names(&format!("{DEMO}/configmaps"))
            .await
            .is_empty()
    );
    assert!(cluster.names(roles).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_a_namespace_up_and_its_status_says_which() {
    let cluster = namespaces();
    demo(&cluster).await;
    let maps = format!("{DEMO}/configmaps");
    for name in ["a", "b"] {
        let mut kept = map(name);
        kept["metadata"]["finalizers"] = json!(["example.com/wait"]);
        cluster.made(&maps, &kept).await;
    }
    delete(&cluster).await;
    let expected = [
        [
            "NamespaceDeletionDiscoveryFailure",
            "False",
            "ResourcesDiscovered",
            "All resources successfully discovered",
        ],
        [
            "NamespaceDeletionGroupVersionParsingFailure",
            "False",
            "ParsedGroupVersions",
            "All legacy kube types successfully parsed",
        ],
        [
            "NamespaceDeletionContentFailure",
            "False",
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ],
        [
            "NamespaceContentRemaining",
            "True",
            "SomeResourcesRemain",
            "Some resources are remaining: configmaps. has 2 resource instances",
        ],
        [
            "NamespaceFinalizersRemaining",
            "True",
            "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: example.com/wait in 2 resource instances",
        ],
    ];
    assert_eq!(conditions(&cluster).await, expected);
    let freed = json!({"metadata": {"finalizers": null}});
    cluster
        .patch("merge", &format!("{maps}/a"), &freed)
        .await
        .expect(200);
    settled().await;
    let told = conditions(&cluster).await;
    assert_eq!(
        told[3][3],
        "Some resources are remaining: configmaps. has 1 resource instances"
    );
    cluster
        .patch("merge", &format!("{maps}/b"), &freed)
        .await
        .expect(200);
    settled().await;
    cluster.get(DEMO).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_finalizer_of_the_namespace_itself_is_not_taken_away() {
    let cluster = namespaces();
    let mut made =
        json!({"metadata": {"name": "demo"}, "spec": {"finalizers": ["example.com/own"]}});
    made["metadata"]["finalizers"] = json!(["example.com/wait"]);
    cluster.made("/api/v1/namespaces", &made).await;
    delete(&cluster).await;
    let left = cluster.read(DEMO).await;
    assert_eq!(left["spec"]["finalizers"], json!(["example.com/own"]));
    assert_eq!(left["metadata"]["finalizers"], json!(["example.com/wait"]));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_waits_for_the_grace_period_of_its_pods_and_keeps_the_rest_so_long() {
    let slow = Workloads::default().stopped_after(Duration::from_secs(20));
    let cluster = with(Controllers::none().namespaces().workloads(slow));
    demo(&cluster).await;
    cluster.made(&format!("{DEMO}/pods"), &pod("a")).await;
    cluster.made(&format!("{DEMO}/configmaps"), &map("a")).await;
    delete(&cluster).await;
    tokio::time::sleep(Duration::from_secs(19)).await;
    let namespace = cluster.read(DEMO).await;
    let remaining = condition(&namespace, "NamespaceDeletionContentFailure");
    assert_eq!(remaining["status"], "False");
    cluster
        .get(&format!("{DEMO}/configmaps/a"))
        .await
        .expect(200);
    tokio::time::sleep(Duration::from_secs(2)).await;
    cluster.get(DEMO).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_with_a_deployment_ends_although_its_controllers_work_on() {
    let cluster = all();
    demo(&cluster).await;
    let deployments = "/apis/apps/v1/namespaces/demo/deployments";
    cluster
        .made(deployments, &super::deployment("web", 3))
        .await;
    assert_eq!(cluster.names(&format!("{DEMO}/pods")).await.len(), 3);
    delete(&cluster).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    cluster.get(DEMO).await.expect(404);
}

#[tokio::test(start_paused = true)]
async fn every_namespace_has_a_service_account_and_a_certificate_again_and_again() {
    let cluster = with(Controllers::none().service_accounts());
    demo(&cluster).await;
    for namespace in ["default", "kube-system", "demo"] {
        let path = format!("/api/v1/namespaces/{namespace}");
        assert_eq!(
            cluster.names(&format!("{path}/serviceaccounts")).await,
            ["default"]
        );
        let map = format!("{path}/configmaps/kube-root-ca.crt");
        let first = cluster.read(&map).await;
        let pem = |map: &Value| {
            map["data"]["ca.crt"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        assert!(pem(&first).starts_with("-----BEGIN CERTIFICATE-----"));

        cluster
            .delete(&format!("{path}/serviceaccounts/default"))
            .await
            .expect(200);
        cluster.delete(&map).await.expect(200);
        settled().await;
        cluster
            .get(&format!("{path}/serviceaccounts/default"))
            .await
            .expect(200);
        assert_eq!(cluster.read(&map).await["data"], first["data"]);

        let other = json!({"data": {"ca.crt": "other"}});
        cluster.patch("merge", &map, &other).await.expect(200);
        settled().await;
        assert_eq!(cluster.read(&map).await["data"], first["data"]);
    }
}
