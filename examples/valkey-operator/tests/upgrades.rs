//! Upgrades: in order, only forwards, and back where they do not work.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kubewright::testing::{Container, Program, Workloads, eventually};
use serde_json::json;

use super::setting::{Setting, image, pass, reason};

#[tokio::test]
async fn the_primary_is_upgraded_last_and_one_at_a_time() {
    let setting = Setting::start().await;
    setting
        .create("cache", json!({"version": "8.0", "replicas": 3}))
        .await;
    setting.at_rest("cache").await;
    setting
        .change("cache", json!({"spec": {"version": "8.1"}}))
        .await;
    assert_eq!(order(&setting).await, ["cache-2", "cache-1", "cache-0"]);
    let status = setting.at_rest("cache").await;
    assert_eq!(status.version.as_deref(), Some("8.1"));
    let told = setting.told("Upgraded").await;
    assert_eq!(told, ["every instance runs version 8.1, and no longer 8.0"]);
}

/// The order in which instances come to run version 8.1.
async fn order(setting: &Setting) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    eventually("all instances", async || {
        let pods = setting.pods("cache").await;
        let new = pods.iter().filter(|pod| image(pod).ends_with(":8.1"));
        for name in new.rev().filter_map(|pod| pod.metadata.name.clone()) {
            if !order.contains(&name) {
                order.push(name);
            }
        }
        (order.len() == 3).then_some(())
    })
    .await;
    order
}

#[tokio::test]
async fn an_older_version_two_major_ones_at_once_and_other_volumes_are_refused() {
    let setting = Setting::start().await;
    setting.create("cache", json!({"version": "8.1"})).await;
    setting.at_rest("cache").await;
    for (change, message) in [
        (json!({"version": "8.0"}), "an older version cannot read"),
        (json!({"version": "10.0"}), "one major version at a time"),
        (
            json!({"storage": {"size": "2Gi"}}),
            "the volumes of a StatefulSet cannot change",
        ),
    ] {
        let patch = json!({"spec": change});
        let changed = setting
            .cluster
            .merge::<valkey_operator::api::v1::Valkey>("cache", &patch);
        let denied = changed.await.expect_denied();
        assert_eq!(denied.by(), "changes.valkey.example.com");
        assert!(denied.message().contains(message), "{}", denied.message());
    }
    setting
        .change("cache", json!({"spec": {"version": "9.0"}}))
        .await;
}

#[tokio::test]
async fn an_upgrade_that_does_not_start_stops_at_one_instance_and_can_be_taken_back() {
    let broken = Program::function(async |_: Container| 1);
    let workloads = Workloads::default().container("docker.io/valkey/valkey:9.0", broken);
    let setting = Setting::with(workloads).await;
    setting
        .create("cache", json!({"version": "8.1", "replicas": 3}))
        .await;
    setting.at_rest("cache").await;
    setting
        .change("cache", json!({"spec": {"version": "9.0"}}))
        .await;
    let on_new = async || {
        let pods = setting.pods("cache").await;
        pods.iter()
            .filter(|pod| image(pod).ends_with(":9.0"))
            .count()
    };
    eventually("the first instance", async || {
        (on_new().await == 1).then_some(())
    })
    .await;
    pass(Duration::from_mins(11)).await;
    let is_stalled = |status: &valkey_operator::api::v1::ValkeyStatus| {
        reason(status, "Progressing") == Some("Stalled")
    };
    let status = setting.status("cache", "stalled", is_stalled).await;
    assert_eq!(
        (status.ready_instances, status.version.as_deref()),
        (2, Some("8.1"))
    );
    assert_eq!(on_new().await, 1);

    // Back to what the others still run: the policy knows it, and the broken instance does not stand in the way.
    setting
        .change("cache", json!({"spec": {"version": "8.1"}}))
        .await;
    setting.at_rest("cache").await;
    assert_eq!(on_new().await, 0);
}

#[tokio::test]
async fn another_version_waits_for_the_backup_before_it() {
    let setting = Setting::with(Workloads::default().finished_after(Duration::from_mins(5))).await;
    let backup = json!({"schedule": "@yearly", "claim": "backups", "beforeUpgrade": true});
    setting
        .create("cache", json!({"version": "8.0", "backup": backup}))
        .await;
    setting.at_rest("cache").await;
    setting
        .change("cache", json!({"spec": {"version": "8.1"}}))
        .await;
    let waits = |status: &valkey_operator::api::v1::ValkeyStatus| {
        reason(status, "Progressing") == Some("WaitsForBackup")
    };
    setting.status("cache", "waiting", waits).await;
    let job = async || setting.cluster.get::<Job>("cache-backup-before-8-1").await;
    eventually("the Job", job).await;
    let pods: Vec<Pod> = setting.pods("cache").await;
    assert_eq!(image(&pods[0]), "docker.io/valkey/valkey:8.0");
    pass(Duration::from_mins(6)).await;
    let is_new =
        |status: &valkey_operator::api::v1::ValkeyStatus| status.version.as_deref() == Some("8.1");
    setting.status("cache", "upgraded", is_new).await;
}
