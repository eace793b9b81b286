//! A.10: time limits and dry run.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::hook::{Hook, Reply, allow, but};
use super::setting::{Setting, config_map, create};

const NAME: &str = "one.example.com";

fn seconds(hook: &Hook) -> Vec<String> {
    let query = |target: &String| target.split_once('?').unwrap().1.to_owned();
    hook.received()
        .iter()
        .map(|call| query(&call.target))
        .collect()
}

#[tokio::test]
async fn a10_the_url_carries_the_timeout_rounded_up() {
    let hook = Hook::start(allow).await;
    for (timeout, request, shown) in [
        (10, 34_000, "timeout=10s"),
        (1, 34_000, "timeout=1s"),
        (30, 34_000, "timeout=30s"),
        (30, 4_500, "timeout=5s"),
        (10, 2_900, "timeout=3s"),
    ] {
        let setting = Setting::new().mutating(
            "a",
            [but(hook.webhook(NAME), json!({"timeoutSeconds": timeout}))],
        );
        let mut attributes = create(config_map());
        attributes.deadline = Instant::now() + Duration::from_millis(request);
        setting.mutate(&mut attributes).await.unwrap();
        assert_eq!(seconds(&hook).pop().unwrap(), shown);
    }
}

#[tokio::test]
async fn a10_ten_seconds_are_the_default() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating(
        "a",
        [but(hook.webhook(NAME), json!({"timeoutSeconds": null}))],
    );
    setting.create().await.unwrap();
    assert_eq!(seconds(&hook), ["timeout=10s"]);
}

#[tokio::test]
async fn a11_a_webhook_that_does_not_answer_is_given_up_at_the_deadline() {
    let hook = Hook::start(|_| Reply::Hang).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now() + Duration::from_millis(150);
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        status.message(),
        format!(
            "Internal error occurred: failed calling webhook \"{NAME}\": failed to call webhook: Post \"https://{}/?timeout=1s\": context deadline exceeded",
            hook.address
        )
    );
    assert_eq!(status.code(), 500);
}

#[tokio::test]
async fn a11_a_body_that_does_not_come_is_given_up_at_the_deadline() {
    let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{".to_vec();
    let hook = Hook::start(move |_| Reply::Open(head.clone())).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now() + Duration::from_millis(150);
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        status.message(),
        format!(
            "Internal error occurred: failed calling webhook \"{NAME}\": failed to call webhook: unexpected error when reading response body. Please retry. Original error: context deadline exceeded"
        )
    );
}

#[tokio::test]
async fn a11_an_ignored_webhook_that_used_up_the_request_is_a_timeout() {
    let hook = Hook::start(|_| Reply::Hang).await;
    let setting = Setting::new().mutating(
        "a",
        [but(hook.webhook(NAME), json!({"failurePolicy": "Ignore"}))],
    );
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now() + Duration::from_millis(150);
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        (status.code(), status.reason(), status.message()),
        (
            504,
            "Timeout",
            "Timeout: request did not complete within requested timeout"
        )
    );
}

#[tokio::test]
async fn a11_validating_webhooks_are_not_called_after_the_deadline() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().validating("a", [hook.webhook(NAME)]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now();
    let status = setting.validate(&attributes).await.unwrap_err();
    assert_eq!(
        (status.code(), status.message()),
        (
            504,
            "Timeout: request did not complete within requested timeout"
        )
    );
    assert_eq!(hook.calls(), 0);
}

#[tokio::test]
async fn a11_a_mutating_webhook_after_the_deadline_fails_without_a_url() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now();
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        status.message(),
        format!(
            "Internal error occurred: failed calling webhook \"{NAME}\": failed to call webhook: context deadline exceeded"
        )
    );
}

#[tokio::test]
async fn a10_the_budget_shrinks_for_later_webhooks() {
    // The first webhook is given up after its own second; the second one finds less than a second left.
    let slow = Hook::start(|_| Reply::Hang).await;
    let fast = Hook::start(allow).await;
    let first = but(
        slow.webhook(NAME),
        json!({"timeoutSeconds": 1, "failurePolicy": "Ignore"}),
    );
    let setting = Setting::new().mutating("a", [first, fast.webhook("two.example.com")]);
    let mut attributes = create(config_map());
    attributes.deadline = Instant::now() + Duration::from_millis(1_900);
    setting.mutate(&mut attributes).await.unwrap();
    assert_eq!(seconds(&slow), ["timeout=1s"]);
    assert_eq!(seconds(&fast), ["timeout=1s"]);
}

async fn dry_run(side_effects: Value) -> (usize, Result<(), (u16, String)>) {
    let hook = Hook::start(allow).await;
    let webhook = but(
        hook.webhook(NAME),
        json!({"sideEffects": side_effects, "failurePolicy": "Ignore"}),
    );
    let setting = Setting::new()
        .mutating("a", [webhook.clone()])
        .validating("a", [webhook]);
    let mut attributes = create(config_map());
    attributes.dry_run = true;
    let mutated = setting.mutate(&mut attributes).await;
    let validated = setting.validate(&attributes).await;
    assert_eq!(mutated, validated);
    (
        hook.calls(),
        mutated.map_err(|status| (status.code(), status.message().to_owned())),
    )
}

#[tokio::test]
async fn a10_a_dry_run_calls_webhooks_without_side_effects_only() {
    assert_eq!(dry_run(json!("None")).await, (2, Ok(())));
    assert_eq!(dry_run(json!("NoneOnDryRun")).await, (2, Ok(())));
    for side_effects in ["Some", "Unknown"] {
        let refused = (
            400,
            format!("admission webhook \"{NAME}\" does not support dry run"),
        );
        assert_eq!(dry_run(json!(side_effects)).await, (0, Err(refused)));
    }
}

#[tokio::test]
async fn a11_unknown_side_effects_are_a_call_error_in_a_dry_run() {
    assert_eq!(dry_run(Value::Null).await, (0, Ok(())));
    let hook = Hook::start(allow).await;
    let setting =
        Setting::new().mutating("a", [but(hook.webhook(NAME), json!({"sideEffects": null}))]);
    let mut attributes = create(config_map());
    attributes.dry_run = true;
    let status = setting.mutate(&mut attributes).await.unwrap_err();
    assert_eq!(
        status.message(),
        format!(
            "Internal error occurred: failed calling webhook \"{NAME}\": Webhook SideEffects is nil"
        )
    );
}

#[tokio::test]
async fn a10_dry_run_support_is_asked_of_called_webhooks_only() {
    let hook = Hook::start(allow).await;
    let webhook = but(
        hook.webhook(NAME),
        json!({"sideEffects": "Some", "rules": []}),
    );
    let setting = Setting::new().mutating("a", [webhook]);
    let mut attributes = create(config_map());
    attributes.dry_run = true;
    setting.mutate(&mut attributes).await.unwrap();
}
