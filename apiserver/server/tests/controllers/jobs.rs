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

/// A Job whose containers run a shell script.
fn script(script: &str, spec: &Value) -> Value {
    let mut job = job(spec);
    job["spec"]["template"]["spec"]["containers"][0]["command"] = json!(["sh", "-c", script]);
    job
}

/// Fails in every second index.
const ODD_FAILS: &str =
    "if [ $(expr ${JOB_COMPLETION_INDEX} % 2) -ne 0 ]; then exit 1; else exit 0; fi";

#[tokio::test(start_paused = true)]
async fn a_job_follows_the_plain_script_of_its_containers() {
    let cluster = all();
    let spec = json!({"completions": 1});
    cluster.made(JOBS, &script("sleep 30; exit 0", &spec)).await;
    assert_eq!(running(&cluster).await, 1);
    tokio::time::sleep(Duration::from_secs(31)).await;
    assert_eq!(
        condition(&work(&cluster).await, "Complete")["status"],
        "True"
    );
}

#[tokio::test(start_paused = true)]
async fn a_job_waits_for_pods_that_run_until_the_annotation_ends_them() {
    let cluster = all();
    let mut waiting = job(&json!({"backoffLimit": 0}));
    waiting["spec"]["template"]["metadata"] =
        json!({"annotations": {"kubewright.dev/simulate": "wait"}});
    cluster.made(JOBS, &waiting).await;
    tokio::time::sleep(Duration::from_hours(1)).await;
    assert_eq!(running(&cluster).await, 1);
    let pod = &cluster.names(PODS).await[0];
    let end = json!({"metadata": {"annotations": {"kubewright.dev/simulate": "exit 7"}}});
    let path = format!("{PODS}/{pod}");
    cluster.patch("merge", &path, &end).await.expect(200);
    settled().await;
    let job = work(&cluster).await;
    assert_eq!(condition(&job, "Failed")["reason"], "BackoffLimitExceeded");
    let pod = cluster.read(&path).await;
    let state = &pod["status"]["containerStatuses"][0]["state"];
    assert_eq!(state["terminated"]["exitCode"], 7);
}

#[tokio::test(start_paused = true)]
async fn a_success_policy_ends_a_job_while_indexes_are_missing() {
    let cluster = all();
    let spec = json!({
        "completions": 4, "parallelism": 4, "completionMode": "Indexed", "backoffLimit": 10,
        "successPolicy": {"rules": [{"succeededIndexes": "0,2"}]},
    });
    cluster.made(JOBS, &script(ODD_FAILS, &spec)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["completedIndexes"], "0,2");
    for what in ["SuccessCriteriaMet", "Complete"] {
        let condition = condition(&job, what);
        assert_eq!(condition["reason"], "SuccessPolicy");
        assert_eq!(condition["message"], "Matched rules at index 0");
    }
}

#[tokio::test(start_paused = true)]
async fn each_index_is_tried_until_its_own_limit() {
    let cluster = all();
    let spec = json!({
        "completions": 4, "parallelism": 4, "completionMode": "Indexed", "backoffLimitPerIndex": 1,
    });
    cluster.made(JOBS, &script(ODD_FAILS, &spec)).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["completedIndexes"], "0,2");
    assert_eq!(job["status"]["failedIndexes"], "1,3");
    assert_eq!(job["status"]["failed"], 4);
    assert_eq!(condition(&job, "Failed")["reason"], "FailedIndexes");
    let pods = cluster.read(PODS).await;
    let counts = pods["items"].as_array().unwrap().iter().map(|pod| {
        let count = &pod["metadata"]["annotations"]["batch.kubernetes.io/job-index-failure-count"];
        count.as_str().unwrap().to_owned()
    });
    let mut counts: Vec<_> = counts.collect();
    counts.sort();
    assert_eq!(counts, ["0", "0", "0", "0", "1", "1"]);
}

#[tokio::test(start_paused = true)]
async fn too_many_failed_indexes_end_a_job() {
    let cluster = all();
    let spec = json!({
        "completions": 10, "parallelism": 1, "completionMode": "Indexed",
        "backoffLimitPerIndex": 0, "maxFailedIndexes": 1,
    });
    cluster.made(JOBS, &script("exit 1", &spec)).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["failedIndexes"], "0,1");
    assert_eq!(
        condition(&job, "Failed")["reason"],
        "MaxFailedIndexesExceeded"
    );
}

#[tokio::test(start_paused = true)]
async fn a_rule_on_exit_codes_fails_a_job_or_an_index_at_once() {
    let rule = |action: &str| json!({"rules": [{"action": action, "onExitCodes": {"operator": "In", "values": [42]}}]});
    let cluster = all();
    let spec = json!({"backoffLimit": 6, "podFailurePolicy": rule("FailJob")});
    cluster.made(JOBS, &script("exit 42", &spec)).await;
    let failed = work(&cluster).await;
    assert_eq!(condition(&failed, "Failed")["reason"], "PodFailurePolicy");
    let pod = &cluster.names(PODS).await[0];
    assert_eq!(
        condition(&failed, "FailureTarget")["message"],
        format!(
            "Container main for pod default/{pod} failed with exit code 42 matching FailJob rule at index 0"
        )
    );
    let cluster = all();
    let spec = json!({
        "completions": 2, "completionMode": "Indexed", "backoffLimitPerIndex": 3,
        "podFailurePolicy": rule("FailIndex"),
    });
    cluster.made(JOBS, &script("exit 42", &spec)).await;
    tokio::time::sleep(Duration::from_mins(1)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["failedIndexes"], "0,1");
    assert_eq!(job["status"]["failed"], 2);
}

#[tokio::test(start_paused = true)]
async fn an_evicted_pod_does_not_count_where_a_rule_ignores_disruptions() {
    let cluster = all();
    let spec = json!({
        "backoffLimit": 0,
        "podFailurePolicy": {"rules": [{
            "action": "Ignore",
            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
        }]},
    });
    cluster.made(JOBS, &script("sleep infinity", &spec)).await;
    let pod = cluster.names(PODS).await.remove(0);
    let eviction =
        json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}});
    let path = format!("{PODS}/{pod}/eviction");
    cluster.post(&path, &eviction).await.expect(201);
    tokio::time::sleep(Duration::from_mins(1)).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["conditions"], Value::Null);
    assert_eq!(job["status"].get("failed"), None);
    assert_eq!(running(&cluster).await, 1);
    assert_ne!(cluster.names(PODS).await, [pod]);
}

#[tokio::test(start_paused = true)]
async fn a_job_adopts_pods_of_its_selector_and_releases_others() {
    let cluster = all();
    cluster
        .made(JOBS, &script("sleep infinity", &json!({})))
        .await;
    let pod = cluster.names(PODS).await.remove(0);
    let path = format!("{PODS}/{pod}");
    let orphan = json!({"metadata": {"ownerReferences": null}});
    cluster.patch("merge", &path, &orphan).await.expect(200);
    settled().await;
    let adopted = cluster.read(&path).await;
    let owner = &adopted["metadata"]["ownerReferences"][0];
    assert_eq!(
        (&owner["kind"], &owner["controller"]),
        (&json!("Job"), &json!(true))
    );
    let finalizers = &adopted["metadata"]["finalizers"];
    assert_eq!(finalizers, &json!(["batch.kubernetes.io/job-tracking"]));
    let other = json!({"metadata": {"labels": null}});
    cluster.patch("merge", &path, &other).await.expect(200);
    settled().await;
    let released = cluster.read(&path).await;
    assert_eq!(released["metadata"].get("ownerReferences"), None);
    assert_eq!(released["metadata"].get("finalizers"), None);
    assert_eq!(cluster.names(PODS).await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_pod_that_ends_is_replaced_after_it_has_only_where_the_policy_says_so() {
    let slow = Workloads::default().stopped_after(Duration::from_secs(30));
    // A pod ends for longer than the wait after one failure.
    for (policy, meanwhile) in [("TerminatingOrFailed", 2), ("Failed", 1)] {
        let cluster = with(Controllers::all().workloads(slow.clone()));
        let spec = json!({"podReplacementPolicy": policy, "backoffLimit": 3});
        cluster.made(JOBS, &script("sleep infinity", &spec)).await;
        let pod = cluster.names(PODS).await.remove(0);
        cluster.delete(&format!("{PODS}/{pod}")).await.expect(200);
        tokio::time::sleep(Duration::from_secs(29)).await;
        let terminating = work(&cluster).await["status"]["terminating"].clone();
        assert_eq!(terminating, 1, "{policy}");
        assert_eq!(cluster.names(PODS).await.len(), meanwhile, "{policy}");
        tokio::time::sleep(Duration::from_mins(1)).await;
        let job = work(&cluster).await;
        assert_eq!(job["status"]["failed"], 1, "{policy}");
        assert_eq!(running(&cluster).await, 1, "{policy}");
        assert_ne!(cluster.names(PODS).await, [pod], "{policy}");
    }
}

#[tokio::test(start_paused = true)]
async fn containers_of_a_job_that_are_restarted_find_their_files_again() {
    let cluster = all();
    let once = "if [ -r /data/foo ]; then exit 0; else touch /data/foo; exit 1; fi";
    let mut job = script(once, &json!({"backoffLimit": 6}));
    let spec = &mut job["spec"]["template"]["spec"];
    spec["restartPolicy"] = "OnFailure".into();
    spec["volumes"] = json!([{"name": "data", "emptyDir": {}}]);
    spec["containers"][0]["volumeMounts"] = json!([{"name": "data", "mountPath": "/data"}]);
    cluster.made(JOBS, &job).await;
    let job = work(&cluster).await;
    assert_eq!(job["status"]["succeeded"], 1);
    let pods = cluster.read(PODS).await;
    let status = &pods["items"][0]["status"]["containerStatuses"][0];
    assert_eq!(status["restartCount"], 1);
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 1);
}

#[tokio::test(start_paused = true)]
async fn pods_of_a_job_that_is_gone_can_be_deleted() {
    let cluster = all();
    cluster
        .made(JOBS, &script("sleep infinity", &json!({})))
        .await;
    let background = json!({"propagationPolicy": "Background"});
    cluster
        .delete_with(&format!("{JOBS}/work"), &background)
        .await
        .expect(200);
    settled().await;
    assert!(cluster.names(PODS).await.is_empty());
}
