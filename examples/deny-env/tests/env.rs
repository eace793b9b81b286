//! Pods with environment variables.

use serde_json::{Value, json};

use super::{Answer, asked};

const PASSWORD: &str = r#"[{"name": "PASSWORD", "value": "fail"}]"#;

fn container(name: &str, field: &str, value: &str) -> Value {
    let mut container = json!({"name": name, "image": "nginx"});
    container[field] = serde_json::from_str(value).unwrap();
    container
}

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nginx"}, "spec": spec})
}

async fn created(arguments: &[&str], spec: Value) -> Answer {
    asked(arguments, "/denyenv", json!({"object": pod(&spec)})).await
}

#[tokio::test]
async fn a_pod_without_env_is_allowed() {
    for env in ["[]", "null"] {
        let spec = json!({"containers": [container("nginx", "env", env)]});
        let answer = created(&[], spec).await;
        assert!(answer.allowed());
        assert!(answer.warnings().is_empty());
    }
}

#[tokio::test]
async fn a_container_with_env_denies_the_pod_with_code_402() {
    let spec = json!({"containers": [container("nginx-with-env", "env", PASSWORD)]});
    let answer = created(&[], spec).await;
    assert_eq!(answer.denial(), (402, "nginx-with-env is using env vars"));
}

#[tokio::test]
async fn the_first_offender_is_the_message_and_every_one_a_warning() {
    let spec = json!({"containers": [
        container("clean", "env", "[]"),
        container("first", "env", PASSWORD),
        container("second", "env", PASSWORD),
    ]});
    let answer = created(&[], spec).await;
    assert_eq!(answer.denial().1, "first is using env vars");
    assert_eq!(
        answer.warnings(),
        ["first is using env vars", "second is using env vars"]
    );
}

#[tokio::test]
async fn init_containers_count_only_if_asked_for() {
    let spec = json!({
        "containers": [container("nginx", "env", "[]")],
        "initContainers": [container("setup", "env", PASSWORD)],
    });
    assert!(created(&[], spec.clone()).await.allowed());
    assert_eq!(
        created(&["--init-containers"], spec).await.denial().1,
        "setup is using env vars"
    );
}

#[tokio::test]
async fn env_from_counts_only_if_asked_for() {
    let from = r#"[{"secretRef": {"name": "database"}}]"#;
    let spec = json!({"containers": [container("nginx", "envFrom", from)]});
    assert!(created(&[], spec.clone()).await.allowed());
    assert_eq!(
        created(&["--env-from"], spec).await.denial().1,
        "nginx is using env vars"
    );
    let empty = json!({"containers": [container("nginx", "envFrom", "[]")]});
    assert!(created(&["--env-from"], empty).await.allowed());
}

/// Adds ephemeral containers to a pod that runs, as `kubectl debug` does.
async fn debugged(arguments: &[&str], before: Value, after: Value) -> Answer {
    let with = |ephemeral: Value| {
        pod(&json!({
            "containers": [container("nginx", "env", PASSWORD)], "ephemeralContainers": ephemeral,
        }))
    };
    let request = json!({
        "operation": "UPDATE", "subResource": "ephemeralcontainers",
        "object": with(after), "oldObject": with(before),
    });
    asked(arguments, "/denyenv", request).await
}

#[tokio::test]
async fn ephemeral_containers_count_when_they_are_added() {
    let dirty = container("debugger", "env", PASSWORD);
    let answer = debugged(&["--ephemeral-containers"], json!([]), json!([dirty])).await;
    assert_eq!(answer.denial().1, "debugger is using env vars");
    assert!(debugged(&[], json!([]), json!([dirty])).await.allowed());
}

#[tokio::test]
async fn a_container_that_was_let_in_before_is_no_reason_to_refuse_the_next() {
    let dirty = container("debugger", "env", PASSWORD);
    let clean = container("shell", "env", "[]");
    let answer = debugged(
        &["--ephemeral-containers"],
        json!([dirty]),
        json!([dirty, clean]),
    )
    .await;
    assert!(answer.allowed());
    assert!(answer.warnings().is_empty());
}
