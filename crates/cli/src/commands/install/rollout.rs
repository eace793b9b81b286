//! Waiting until a Deployment runs what was applied, and saying what is wrong with its pods if it does not.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodStatus};
use kube::api::{Api, ListParams};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::current::{Cluster, called};
use crate::failure::{Failure, Outcome};
use crate::ui::Ui;

/// How far a Deployment is.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    Done,
    Waiting(String),
    /// It has given up.
    Failed(String),
}

/// Waits until a Deployment that was applied is rolled out.
pub(super) async fn wait(ui: &Ui, cluster: &Cluster, object: &Value, timeout: Duration) -> Outcome {
    let called = called(object);
    let namespace = cluster.namespace_of(object);
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    let deployments: Api<Deployment> = Api::namespaced(cluster.client().clone(), namespace);
    let deadline = Instant::now() + timeout;
    let step = ui.step(&format!("rolling out the {called}"));
    let mut told = BTreeSet::new();
    loop {
        let deployment = deployments.get(name).await;
        let deployment = deployment.with_context(|| format!("cannot look at the {called}"))?;
        let troubles = troubles(cluster, namespace, &deployment).await;
        let (why, is_over) = match progress(&deployment) {
            Progress::Done => {
                step.done(&format!("the {called} is rolled out"));
                return Ok(());
            }
            Progress::Waiting(why) => (why, Instant::now() >= deadline),
            Progress::Failed(why) => (why, true),
        };
        if is_over {
            let what = [format!("the {called} is not rolled out: {why}")];
            let text = what.into_iter().chain(troubles).collect::<Vec<_>>();
            return Err(Failure::new(text.join("\n  ")).hint(format!(
                "look at what its pods say: kubectl logs --namespace {namespace} deployment/{name}"
            )));
        }
        for line in std::iter::once(why).chain(troubles) {
            if told.insert(line.clone()) {
                ui.note(format!("  {line}"));
            }
        }
        sleep(PAUSE).await;
    }
}

/// The same rules as those of `kubectl rollout status`.
fn progress(deployment: &Deployment) -> Progress {
    let status = deployment.status.clone().unwrap_or_default();
    if status.observed_generation < deployment.metadata.generation {
        return Progress::Waiting("its controller has not observed it yet".to_owned());
    }
    let mut conditions = status.conditions.iter().flatten();
    let late = conditions.find(|known| known.reason.as_deref() == Some("ProgressDeadlineExceeded"));
    if let Some(late) = late {
        return Progress::Failed(late.message.clone().unwrap_or_default());
    }
    let wanted = deployment.spec.replicas.unwrap_or(1);
    let number = |number: Option<i32>| number.unwrap_or_default();
    let (all, new) = (number(status.replicas), number(status.updated_replicas));
    let available = number(status.available_replicas);
    if new < wanted {
        Progress::Waiting(format!("{new} of {wanted} new pods are made"))
    } else if all > new {
        Progress::Waiting(format!("{} old pods are still there", all - new))
    } else if available < new {
        Progress::Waiting(format!("{available} of {new} new pods are available"))
    } else {
        Progress::Done
    }
}

/// What keeps a Deployment from being rolled out.
async fn troubles(cluster: &Cluster, namespace: &str, deployment: &Deployment) -> Vec<String> {
    let conditions = deployment
        .status
        .iter()
        .flat_map(|status| &status.conditions);
    let refused = conditions
        .flatten()
        .filter(|known| known.type_.as_deref() == Some("ReplicaFailure"));
    let mut troubles: Vec<String> = refused
        .filter_map(|known| known.message.clone())
        .map(|message| format!("no pod can be made: {message}"))
        .collect();
    let labels = deployment.spec.selector.match_labels.as_ref();
    let labels: Vec<String> = labels
        .into_iter()
        .flatten()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    let pods: Api<Pod> = Api::namespaced(cluster.client().clone(), namespace);
    let pods = pods
        .list(&ListParams::default().labels(&labels.join(",")))
        .await;
    // A user who may deploy need not have permission to list pods.
    let pods = pods.map(|pods| pods.items).unwrap_or_default();
    troubles.extend(pods.iter().filter_map(|pod| {
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        Some(format!("Pod {name} {}", trouble(pod)?))
    }));
    troubles
}

/// What is wrong with a pod.
fn trouble(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    if pod.metadata.deletion_timestamp.is_some() || is(status, "Ready", "True").is_some() {
        return None;
    }
    if let Some(why) = is(status, "PodScheduled", "False") {
        return Some(format!("has no node: {why}"));
    }
    let containers = [&status.init_container_statuses, &status.container_statuses];
    let mut containers = containers.into_iter().flatten().flatten();
    containers.find_map(of_container)
}

/// The message of a condition, if it has a value.
fn is(status: &PodStatus, condition: &str, value: &str) -> Option<String> {
    let mut conditions = status.conditions.iter().flatten();
    let found = conditions.find(|known| known.type_ == condition && known.status == value)?;
    Some(found.message.clone().unwrap_or_default())
}

fn of_container(container: &ContainerStatus) -> Option<String> {
    let ContainerStatus { name, image, .. } = container;
    let state = container.state.clone().unwrap_or_default();
    let last = container.last_state.clone().unwrap_or_default();
    let waiting = state.waiting.unwrap_or_default();
    let reason = waiting.reason.unwrap_or_default();
    let message = waiting.message.map(|message| format!(": {message}"));
    let message = message.unwrap_or_default();
    if UNPULLABLE.contains(&reason.as_str()) {
        return Some(format!("cannot pull the image {image}{message}"));
    }
    let ended = state.terminated.or(last.terminated);
    let is_running = state.running.is_some();
    match ended.filter(|ended| ended.exit_code != 0 && !container.ready) {
        Some(ended) => {
            let why = ended.reason.map(|reason| format!(" ({reason})"));
            Some(format!(
                "crashes: container {name} ended with code {}{}, {} times restarted",
                ended.exit_code,
                why.unwrap_or_default(),
                container.restart_count,
            ))
        }
        None if !reason.is_empty() => Some(format!("waits: {reason}{message}")),
        None if is_running && !container.ready => {
            Some(format!("is not ready: container {name} runs"))
        }
        None => None,
    }
}

const UNPULLABLE: [&str; 5] = [
    "ErrImagePull",
    "ImagePullBackOff",
    "InvalidImageName",
    "ErrImageNeverPull",
    "RegistryUnavailable",
];

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(status: &Value) -> Deployment {
        let deployment = json!({
            "metadata": {"name": "web", "generation": 3},
            "spec": {"replicas": 2, "selector": {}, "template": {}},
            "status": status,
        });
        serde_json::from_value(deployment).unwrap()
    }

    #[test]
    fn a_deployment_is_rolled_out_when_only_new_pods_are_there_and_all_of_them_available() {
        let waits = |status: Value, why: &str| {
            let progress = progress(&deployment(&status));
            assert_eq!(progress, Progress::Waiting(why.to_owned()), "{status}");
        };
        waits(
            json!({"observedGeneration": 2}),
            "its controller has not observed it yet",
        );
        let mut status = json!({"observedGeneration": 3, "replicas": 3, "updatedReplicas": 1});
        waits(status.clone(), "1 of 2 new pods are made");
        status["updatedReplicas"] = 2.into();
        waits(status.clone(), "1 old pods are still there");
        status["replicas"] = 2.into();
        status["availableReplicas"] = 1.into();
        waits(status.clone(), "1 of 2 new pods are available");
        status["availableReplicas"] = 2.into();
        assert_eq!(progress(&deployment(&status)), Progress::Done);
        status["conditions"] = json!([{
            "type": "Progressing", "status": "False", "reason": "ProgressDeadlineExceeded", "message": "too late",
        }]);
        let given_up = Progress::Failed("too late".to_owned());
        assert_eq!(progress(&deployment(&status)), given_up);
    }

    fn said(container: &Value) -> Option<String> {
        let mut container = container.clone();
        container["name"] = "program".into();
        container["image"] = "policy:1".into();
        container["imageID"] = "".into();
        let pod = json!({"metadata": {"name": "a"}, "status": {"containerStatuses": [container]}});
        trouble(&serde_json::from_value(pod).unwrap())
    }

    #[test]
    fn what_is_wrong_with_a_pod_is_said_in_a_few_words() {
        let waiting = |reason: &str, message: &str| json!({"ready": false, "restartCount": 4, "state": {"waiting": {"reason": reason, "message": message}}});
        let pull = waiting("ImagePullBackOff", "not found");
        assert_eq!(
            said(&pull).unwrap(),
            "cannot pull the image policy:1: not found"
        );
        let mut crash = waiting("CrashLoopBackOff", "back-off");
        crash["lastState"] = json!({"terminated": {"exitCode": 137, "reason": "OOMKilled"}});
        assert_eq!(
            said(&crash).unwrap(),
            "crashes: container program ended with code 137 (OOMKilled), 4 times restarted"
        );
        let wrong = waiting("CreateContainerConfigError", "secret \"certs\" not found");
        assert_eq!(
            said(&wrong).unwrap(),
            "waits: CreateContainerConfigError: secret \"certs\" not found"
        );
        let unready = json!({"ready": false, "restartCount": 0, "state": {"running": {}}});
        assert_eq!(
            said(&unready).unwrap(),
            "is not ready: container program runs"
        );
        let ready = json!({"ready": true, "restartCount": 0, "state": {"running": {}}});
        assert_eq!(said(&ready), None);
    }

    #[test]
    fn a_pod_without_a_node_says_why_and_one_that_goes_says_nothing() {
        let mut pod = json!({
            "metadata": {"name": "a"},
            "status": {"conditions": [{"type": "PodScheduled", "status": "False", "message": "0/3 nodes are available"}]},
        });
        let trouble = |pod: &Value| trouble(&serde_json::from_value(pod.clone()).unwrap());
        assert_eq!(
            trouble(&pod).unwrap(),
            "has no node: 0/3 nodes are available"
        );
        pod["metadata"]["deletionTimestamp"] = "2026-11-22T12:00:00Z".into();
        assert_eq!(trouble(&pod), None);
    }
}
