//! A life of a Valkey in which the program does all that it can.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kubewright::testing::{Container, Program, Workloads, eventually};
use serde_json::json;
use valkey_operator::api::v1::{Valkey, ValkeyStatus};

use super::setting::{Setting, pass, reason};

#[tokio::test]
async fn each_permission_is_used() {
    let broken = Program::function(async |_: Container| 1);
    let workloads = Workloads::default().container("docker.io/valkey/valkey:9.0", broken);
    let setting = Setting::with(workloads).await;
    let backup = json!({"schedule": "0 * * * *", "claim": "backups", "keep": 1});
    let spec = json!({
        "version": "8.0", "replicas": 2, "backup": backup, "password": {"rotateEveryDays": 1},
    });
    setting.create("cache", spec).await;
    setting.at_rest("cache").await;
    // Updates: what others change is put back.
    let cluster = &setting.cluster;
    let label = json!({"metadata": {"labels": {"app.kubernetes.io/name": "other"}}});
    cluster
        .merge::<Service>("cache", &label)
        .await
        .expect_allowed();
    cluster
        .merge::<ConfigMap>("cache-settings", &label)
        .await
        .expect_allowed();
    cluster
        .merge::<PodDisruptionBudget>("cache", &label)
        .await
        .expect_allowed();
    eventually("the labels", async || {
        let budget: PodDisruptionBudget = cluster.get("cache").await?;
        (budget.metadata.labels?["app.kubernetes.io/name"] == "valkey").then_some(())
    })
    .await;
    // Two backups, of which one is kept, and another password.
    for _ in 0..2 {
        let last = setting
            .get("cache")
            .await
            .unwrap()
            .status
            .unwrap()
            .last_backup;
        pass(Duration::from_hours(13)).await;
        let is_next = |status: &ValkeyStatus| status.last_backup > last;
        setting.status("cache", "the next backup", is_next).await;
    }
    eventually("another password", async || {
        let secret: Secret = cluster.get("cache-password").await?;
        secret.data?.contains_key("previous").then_some(())
    })
    .await;
    setting.at_rest("cache").await;
    eventually("one Job", async || {
        let jobs: Vec<Job> = setting.list("app.kubernetes.io/component=backup").await;
        (jobs.len() == 1).then_some(())
    })
    .await;
    // An upgrade that does not start, and is taken back.
    setting
        .change("cache", json!({"spec": {"version": "9.0"}}))
        .await;
    let is_new = |status: &ValkeyStatus| reason(status, "Progressing") == Some("InstancesUpdating");
    setting.status("cache", "updating", is_new).await;
    eventually("the broken instance", async || {
        let pods = setting.pods("cache").await;
        let is_broken = super::setting::image(pods.get(1)?).ends_with(":9.0");
        is_broken.then_some(())
    })
    .await;
    pass(Duration::from_mins(11)).await;
    let is_stalled = |status: &ValkeyStatus| reason(status, "Progressing") == Some("Stalled");
    setting.status("cache", "stalled", is_stalled).await;
    setting
        .change("cache", json!({"spec": {"version": "8.0"}}))
        .await;
    setting.at_rest("cache").await;
    cluster.delete::<Valkey>("cache").await.expect_allowed();
    let gone = async || setting.get("cache").await.is_none().then_some(());
    eventually("the end of the Valkey", gone).await;
    // A Job is made once. It could be put back like everything else, but its template cannot change.
    let unused = cluster.unused_permissions();
    assert_eq!(
        unused,
        [
            "valkey-operator: patch events of events.k8s.io in the whole cluster",
            "valkey-operator: update jobs of batch in the whole cluster"
        ]
    );
}
