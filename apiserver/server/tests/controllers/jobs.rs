//! Jobs.

use std::time::Duration;

use kubewright_apiserver::{Controllers, Workloads};
use serde_json::{Value, json};

use super::{PODS, all, condition, settled, with};
use crate::cluster::Cluster;

const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn job(spec: &Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "work"},
        "spec": {"template": {"spec": {
            "restartPolicy": "Never",
            "containers": [{"name": "main", "image": "busybox"}],
        }}},
    });
    for (name, value) in spec.as_object().unwrap() {
        job["spec"][name] = value.clone();
    }
    job
}

async fn work(cluster: &Cluster) -> Value {
    cluster.read(&format!("{JOBS}/work")).await
}

async fn running(cluster: &Cluster) -> usize {
    let pods = cluster.read(PODS).await;
    let pods = pods["items"].as_array().unwrap().iter();
    pods.filter(|pod| pod["status"]["phase"] == "Running")
        .count()
}

fn takes_ten_seconds() -> Cluster {
    let slow = Workloads::default().finished_after(Duration::from_secs(10));
    with(Controllers::all().workloads(slow))
}

#[tokio::test(start_paused = true)]
async fn a_job_is_complete_when_enough_pods_have_succeeded() {
    let cluster = takes_ten_seconds();
    cluster
        .made(JOBS, &job(&json!({"completions": 3, "parallelism": 2})))
        .await;
    assert_eq!(running(&cluster).await, 2);
    let status = work(&cluster).await["status"].clone();
    assert_eq!(
        (&status["active"], &status["ready"]),
        (&json!(2), &json!(2))
    );
    tokio::time::sleep(Duration::from_secs(11)).await;
    assert_eq!(running(&cluster).await, 1);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["succeeded"], 3);
    assert_eq!(job["status"].get("active"), None);
    assert_eq!(job["status"]["uncountedTerminatedPods"], json!({}));
    assert!(job["status"]["completionTime"].is_string());
    for what in ["SuccessCriteriaMet", "Complete"] {
        assert_eq!(condition(&job, what)["status"], "True");
        assert_eq!(condition(&job, what)["reason"], "CompletionsReached");
    }
    let pods = cluster.read(PODS).await;
    for pod in pods["items"].as_array().unwrap() {
        assert_eq!(pod["metadata"].get("finalizers"), None);
        assert_eq!(pod["status"]["phase"], "Succeeded");
    }
}

#[tokio::test(start_paused = true)]
async fn a_job_fails_when_too_many_pods_have() {
    let cluster = all();
    let mut failing = job(&json!({"backoffLimit": 2}));
    failing["spec"]["template"]["metadata"] =
        json!({"annotations": {"kubewright.dev/simulate": "failure"}});
    cluster.made(JOBS, &failing).await;
    assert_eq!(cluster.names(PODS).await.len(), 1);
    tokio::time::sleep(Duration::from_mins(1)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["failed"], 3);
    let failed = condition(&job, "Failed");
    assert_eq!(failed["reason"], "BackoffLimitExceeded");
    assert_eq!(
        failed["message"],
        "Job has reached the specified backoff limit"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_that_is_late_fails_and_its_pods_end() {
    let cluster = takes_ten_seconds();
    cluster
        .made(JOBS, &job(&json!({"activeDeadlineSeconds": 5})))
        .await;
    tokio::time::sleep(Duration::from_secs(7)).await;
    let job = work(&cluster).await;
    assert_eq!(condition(&job, "Failed")["reason"], "DeadlineExceeded");
    assert_eq!(running(&cluster).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_suspended_job_runs_no_pods_until_it_is_resumed() {
    let cluster = takes_ten_seconds();
    cluster.made(JOBS, &job(&json!({}))).await;
    let path = format!("{JOBS}/work");
    let suspend = |suspend: bool| json!({"spec": {"suspend": suspend}});
    cluster
        .patch("merge", &path, &suspend(true))
        .await
        .expect(200);
    settled().await;
    assert!(cluster.names(PODS).await.is_empty());
    let job = work(&cluster).await;
    assert_eq!(condition(&job, "Suspended")["status"], "True");
    assert_eq!(job["status"].get("startTime"), None);
    cluster
        .patch("merge", &path, &suspend(false))
        .await
        .expect(200);
    tokio::time::sleep(Duration::from_secs(11)).await;
    let job = work(&cluster).await;
    assert_eq!(condition(&job, "Suspended")["reason"], "JobResumed");
    assert_eq!(condition(&job, "Complete")["status"], "True");
}

#[tokio::test(start_paused = true)]
async fn each_index_has_a_pod_that_knows_it() {
    let cluster = all();
    let spec = json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"});
    cluster.made(JOBS, &job(&spec)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["completedIndexes"], "0-3");
    assert_eq!(condition(&job, "Complete")["status"], "True");
    let pods = cluster.read(PODS).await;
    let mut indexes: Vec<_> = pods["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pod| {
            let index = &pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"];
            let index = index.as_str().unwrap().to_owned();
            assert_eq!(pod["spec"]["hostname"], format!("work-{index}"));
            let variable = &pod["spec"]["containers"][0]["env"][0];
            assert_eq!(variable["name"], "JOB_COMPLETION_INDEX");
            index
        })
        .collect();
    indexes.sort();
    assert_eq!(indexes, ["0", "1", "2", "3"]);
}

#[tokio::test(start_paused = true)]
async fn a_finished_job_is_deleted_when_its_time_is_over() {
    let cluster = all();
    cluster
        .made(JOBS, &job(&json!({"ttlSecondsAfterFinished": 60})))
        .await;
    assert_eq!(cluster.names(PODS).await.len(), 1);
    tokio::time::sleep(Duration::from_secs(62)).await;
    cluster.get(&format!("{JOBS}/work")).await.expect(404);
    assert!(cluster.names(PODS).await.is_empty());
}
