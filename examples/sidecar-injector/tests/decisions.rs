//! Which pods get sidecars.

use serde_json::{Value, json};
use sidecar_injector::Sidecars;

use super::{alpine, created, names};

const INJECT: &str = "sidecar-injector-webhook.morven.me/inject";
const STATUS: &str = "sidecar-injector-webhook.morven.me/status";

fn annotated(annotations: Value) -> Value {
    let mut pod = alpine();
    pod["metadata"]["annotations"] = annotations;
    pod
}

async fn is_left_alone(namespace: &str, pod: Value) -> bool {
    let (stored, warnings) = created(Sidecars::default(), namespace, pod.clone()).await;
    assert_eq!(warnings, [""; 0]);
    if stored == pod {
        return true;
    }
    assert_eq!(names(&stored, "containers"), ["alpine", "sidecar-nginx"]);
    assert_eq!(stored["metadata"]["annotations"][STATUS], "injected");
    false
}

#[tokio::test]
async fn pods_get_sidecars_unless_something_speaks_against_it() {
    assert!(!is_left_alone("injection", alpine()).await);
}

#[tokio::test]
async fn pods_of_the_system_are_left_alone() {
    for namespace in ["kube-system", "kube-public"] {
        assert!(is_left_alone(namespace, annotated(json!({INJECT: "yes"}))).await);
    }
    assert!(!is_left_alone("kube-node-lease", alpine()).await);
}

#[tokio::test]
async fn pods_that_have_theirs_are_left_alone() {
    for status in ["injected", "Injected", "INJECTED"] {
        let pod = annotated(json!({STATUS: status, INJECT: "yes"}));
        assert!(is_left_alone("injection", pod).await, "{status}");
    }
    for status in ["", "pending", "injected "] {
        assert!(
            !is_left_alone("injection", annotated(json!({STATUS: status}))).await,
            "{status}"
        );
    }
}

#[tokio::test]
async fn pods_that_decline_are_left_alone() {
    for answer in ["n", "no", "not", "false", "off", "No", "OFF", "False"] {
        assert!(
            is_left_alone("injection", annotated(json!({INJECT: answer}))).await,
            "{answer}"
        );
    }
    for answer in ["y", "yes", "true", "on", "", "never", "0", " no"] {
        assert!(
            !is_left_alone("injection", annotated(json!({INJECT: answer}))).await,
            "{answer}"
        );
    }
}

#[tokio::test]
async fn pods_of_a_deployment_are_named_later_and_get_theirs() {
    let mut pod = annotated(json!({INJECT: "yes"}));
    let metadata = pod["metadata"].as_object_mut().unwrap();
    metadata.remove("name");
    metadata.insert("generateName".to_owned(), json!("alpine-5d8f-"));
    assert!(!is_left_alone("injection", pod).await);
}
