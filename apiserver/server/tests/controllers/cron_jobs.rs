//! CronJobs. The clock of the controllers is that of tokio, which these tests move.

use std::time::Duration;

use serde_json::{Value, json};

use super::{all, settled};
use crate::cluster::Cluster;

const CRON_JOBS: &str = "/apis/batch/v1/namespaces/default/cronjobs";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn every_minute(command: &[&str], spec: &Value) -> Value {
    let mut cron = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "tick"},
        "spec": {
            "schedule": "* * * * *",
            "jobTemplate": {"spec": {"backoffLimit": 0, "template": {"spec": {
                "restartPolicy": "Never",
                "containers": [{"name": "main", "image": "busybox", "command": command}],
            }}}},
        },
    });
    for (name, value) in spec.as_object().unwrap() {
        cron["spec"][name] = value.clone();
    }
    cron
}

/// A cluster that starts in the middle of a minute: a Job is created 100 ms after its time, so that the first one of an object
/// from the very beginning of a minute comes later than a minute after it.
async fn within_a_minute() -> Cluster {
    tokio::time::resume();
    while !(1..57).contains(&jiff::Timestamp::now().as_second().rem_euclid(60)) {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    tokio::time::pause();
    all()
}

async fn minutes(count: u64) {
    tokio::time::sleep(Duration::from_mins(count)).await;
    settled().await;
}

async fn active(cluster: &Cluster) -> usize {
    let cron = cluster.read(&format!("{CRON_JOBS}/tick")).await;
    let active = &cron["status"]["active"];
    active.as_array().map_or(0, Vec::len)
}

async fn reasons(cluster: &Cluster) -> Vec<String> {
    let events = cluster.read("/api/v1/namespaces/default/events").await;
    let events = events["items"].as_array().unwrap().iter();
    events
        .filter(|event| event["involvedObject"]["kind"] == "CronJob")
        .map(|event| event["reason"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(start_paused = true)]
async fn a_job_is_created_at_each_time_and_the_history_is_kept_short() {
    let cluster = within_a_minute().await;
    let limits = json!({"successfulJobsHistoryLimit": 2});
    cluster
        .made(CRON_JOBS, &every_minute(&["true"], &limits))
        .await;
    assert!(cluster.names(JOBS).await.is_empty());
    minutes(1).await;
    let job = cluster.names(JOBS).await.remove(0);
    let job = cluster.read(&format!("{JOBS}/{job}")).await;
    let owner = &job["metadata"]["ownerReferences"][0];
    assert_eq!(owner["kind"], "CronJob");
    let annotations = &job["metadata"]["annotations"];
    let time = &annotations["batch.kubernetes.io/cronjob-scheduled-timestamp"];
    assert!(time.as_str().unwrap().ends_with(":00Z"));
    minutes(4).await;
    assert_eq!(cluster.names(JOBS).await.len(), 2);
    let cron = cluster.read(&format!("{CRON_JOBS}/tick")).await;
    assert!(cron["status"]["lastScheduleTime"].is_string());
    assert!(cron["status"]["lastSuccessfulTime"].is_string());
    assert_eq!(active(&cluster).await, 0);
    let reasons = reasons(&cluster).await;
    for reason in ["SuccessfulCreate", "SawCompletedJob", "SuccessfulDelete"] {
        assert!(reasons.iter().any(|known| known == reason), "{reasons:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_concurrency_policy_decides_over_a_job_that_still_runs() {
    for (policy, running) in [("Allow", 3), ("Forbid", 1), ("Replace", 1)] {
        let cluster = within_a_minute().await;
        let spec = json!({"concurrencyPolicy": policy});
        let cron = every_minute(&["sleep", "3000"], &spec);
        cluster.made(CRON_JOBS, &cron).await;
        minutes(1).await;
        let first = cluster.names(JOBS).await;
        minutes(2).await;
        assert_eq!(active(&cluster).await, running, "{policy}");
        let jobs = cluster.names(JOBS).await;
        assert_eq!(jobs.len(), running, "{policy}");
        assert_eq!(jobs.contains(&first[0]), policy != "Replace", "{policy}");
        let forbidden = reasons(&cluster).await;
        let forbidden = forbidden.iter().any(|reason| reason == "JobAlreadyActive");
        assert_eq!(forbidden, policy == "Forbid", "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_suspended_schedule_creates_nothing_until_it_is_resumed() {
    let cluster = within_a_minute().await;
    let suspended = every_minute(&["true"], &json!({"suspend": true}));
    cluster.made(CRON_JOBS, &suspended).await;
    minutes(5).await;
    assert!(cluster.names(JOBS).await.is_empty());
    let resume = json!({"spec": {"suspend": false}});
    let path = format!("{CRON_JOBS}/tick");
    cluster.patch("merge", &path, &resume).await.expect(200);
    settled().await;
    // Only the last of the times that it has missed.
    assert_eq!(cluster.names(JOBS).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_time_that_is_too_long_ago_is_missed() {
    let cluster = within_a_minute().await;
    let spec = json!({"suspend": true, "schedule": "@hourly", "startingDeadlineSeconds": 10});
    cluster
        .made(CRON_JOBS, &every_minute(&["true"], &spec))
        .await;
    let cron = cluster.read(&format!("{CRON_JOBS}/tick")).await;
    let created: jiff::Timestamp = cron["metadata"]["creationTimestamp"]
        .as_str()
        .unwrap()
        .parse()
        .unwrap();
    // Half an hour after the next full hour.
    let left = 3600 - created.as_second().rem_euclid(3600) + 1800;
    tokio::time::sleep(Duration::from_secs(left.unsigned_abs())).await;
    let resume = json!({"spec": {"suspend": false}});
    let path = format!("{CRON_JOBS}/tick");
    cluster.patch("merge", &path, &resume).await.expect(200);
    settled().await;
    assert!(cluster.names(JOBS).await.is_empty());
    minutes(31).await;
    assert_eq!(cluster.names(JOBS).await.len(), 1);
}
