//! Backups by schedule, on occasions, and how they fail.

use std::time::Duration;

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kubewright::testing::{Workloads, eventually};
use serde_json::json;
use valkey_operator::api::v1::{Valkey, ValkeyStatus};

use super::setting::{Setting, pass, passing, reason, valkey};

const BACKUPS: &str = "app.kubernetes.io/component=backup";

#[tokio::test]
async fn each_time_of_the_schedule_has_one_job_and_the_last_ones_are_kept() {
    let setting = Setting::start().await;
    let backup = json!({"schedule": "0 * * * *", "claim": "backups", "keep": 2});
    setting
        .create("cache", json!({"version": "8.0", "backup": backup}))
        .await;
    setting.at_rest("cache").await;
    assert!(setting.list::<Job>(BACKUPS).await.is_empty());
    let mut last = None;
    let mut names = std::collections::BTreeSet::new();
    for _ in 0..4 {
        pass(Duration::from_hours(1)).await;
        let is_next = |status: &ValkeyStatus| status.last_backup > last;
        last = setting
            .status("cache", "the next backup", is_next)
            .await
            .last_backup;
        let jobs = setting.list::<Job>(BACKUPS).await;
        names.extend(jobs.iter().filter_map(|job| job.metadata.name.clone()));
    }
    assert_eq!(names.len(), 4, "{names:?}");
    eventually("two Jobs", async || {
        let kept = setting.list::<Job>(BACKUPS).await;
        (kept.len() == 2).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_backup_that_fails_is_told_and_the_next_one_is_made() {
    let slow = Workloads::default().finished_after(Duration::from_mins(20));
    let setting = Setting::with(slow).await;
    let backup = json!({"schedule": "0 * * * *", "claim": "backups"});
    setting
        .create("cache", json!({"version": "8.0", "backup": backup}))
        .await;
    setting.at_rest("cache").await;
    pass(Duration::from_hours(1)).await;
    let fails = json!({"metadata": {"annotations": {"kubewright.dev/simulate": "failure"}}});
    // The pods of a Job are tried again after a pause.
    let job = passing(
        "a Job that has failed",
        Duration::from_secs(30),
        async || {
            for pod in setting.list::<Pod>(BACKUPS).await {
                let name = pod.metadata.name.unwrap_or_default();
                let _ = setting.cluster.merge::<Pod>(&name, &fails).await;
            }
            let status = setting.get("cache").await?.status?;
            let failed = reason(&status, "BackedUp") == Some("BackupFailed");
            let jobs = setting.list::<Job>(BACKUPS).await;
            jobs.first().filter(|_| failed)?.metadata.name.clone()
        },
    )
    .await;
    let told = setting.told("BackupFailed").await;
    assert_eq!(told, [format!("the Job {job} has failed")]);
    pass(Duration::from_hours(1)).await;
    eventually("the next Job", async || {
        (setting.list::<Job>(BACKUPS).await.len() > 1).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_schedule_that_is_none_is_refused() {
    let setting = Setting::start().await;
    let backup = json!({"schedule": "0 25 * * *", "claim": "backups"});
    let created = valkey("cache", json!({"version": "8.0", "backup": backup}));
    let denied = setting.cluster.create(&created).await.expect_denied();
    assert_eq!(denied.by(), "schedules.valkey.example.com");
    assert_eq!(
        denied.message(),
        "spec.backup.schedule: invalid schedule `0 25 * * *`: the hour `25`: 25 is not between 0 and 23"
    );
}

#[tokio::test]
async fn a_deleted_valkey_stays_until_its_final_backup_is_complete() {
    let setting = Setting::with(Workloads::default().finished_after(Duration::from_mins(5))).await;
    let backup = json!({"schedule": "@yearly", "claim": "backups", "beforeDeletion": true});
    setting
        .create("cache", json!({"version": "8.0", "backup": backup}))
        .await;
    setting.at_rest("cache").await;
    setting
        .cluster
        .delete::<Valkey>("cache")
        .await
        .expect_allowed();
    let job = async || setting.cluster.get::<Job>("cache-backup-final").await;
    eventually("the final backup", job).await;
    assert!(setting.get("cache").await.is_some());
    assert_eq!(setting.pods("cache").await.len(), 1);
    pass(Duration::from_mins(6)).await;
    let gone = async || setting.get("cache").await.is_none().then_some(());
    eventually("the end of the Valkey", gone).await;
}

#[tokio::test]
async fn a_final_backup_can_be_left_out() {
    let setting =
        Setting::with(Workloads::default().finished_after(Duration::from_hours(99))).await;
    let backup = json!({"schedule": "@yearly", "claim": "backups", "beforeDeletion": true});
    setting
        .create("cache", json!({"version": "8.0", "backup": backup}))
        .await;
    setting.at_rest("cache").await;
    setting
        .cluster
        .delete::<Valkey>("cache")
        .await
        .expect_allowed();
    let job = async || setting.cluster.get::<Job>("cache-backup-final").await;
    eventually("the final backup", job).await;
    let skip =
        json!({"metadata": {"annotations": {"valkey.example.com/skip-final-backup": "yes"}}});
    setting.change("cache", skip).await;
    let gone = async || setting.get("cache").await.is_none().then_some(());
    eventually("the end of the Valkey", gone).await;
}
