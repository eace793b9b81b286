//! A.4: in which order webhooks are called, and that a change takes effect at once.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::Barrier;

use super::hook::{Hook, Reply, allow, answer, but, patch};
use super::setting::{Setting, config_map, create};

#[tokio::test]
async fn a4_configurations_are_called_by_name_and_webhooks_by_position() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new()
        .mutating(
            "b",
            [
                hook.webhook_at("z.example.com", "/b0"),
                hook.webhook_at("a.example.com", "/b1"),
            ],
        )
        .mutating("a", [hook.webhook_at("m.example.com", "/a0")])
        .mutating("B", [hook.webhook_at("m.example.com", "/upper")]);
    setting.create().await.unwrap();
    assert_eq!(hook.paths(), ["/upper", "/a0", "/b0", "/b1"]);
}

#[tokio::test]
async fn a4_each_mutating_webhook_sees_what_the_one_before_it_left() {
    let hook = Hook::start(|call| {
        let step = call.body["request"]["object"]["data"]
            .as_object()
            .unwrap()
            .len();
        patch(
            call,
            &json!([{"op": "add", "path": format!("/data/step{step}"), "value": "done"}]),
        )
    })
    .await;
    let setting = Setting::new().mutating(
        "a",
        [
            hook.webhook("one.example.com"),
            hook.webhook("two.example.com"),
        ],
    );
    let object = setting.create().await.unwrap();
    assert_eq!(
        object["data"],
        json!({"start": "here", "step1": "done", "step2": "done"})
    );
}

#[tokio::test]
async fn a4_selectors_of_later_webhooks_look_at_the_changed_object() {
    let hook = Hook::start(|call| {
        patch(
            call,
            &json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]),
        )
    })
    .await;
    let selecting = but(
        hook.webhook_at("two.example.com", "/second"),
        json!({"objectSelector": {"matchLabels": {"seen": "yes"}}}),
    );
    let setting = Setting::new().mutating(
        "a",
        [hook.webhook_at("one.example.com", "/first"), selecting],
    );
    setting.create().await.unwrap();
    assert_eq!(hook.paths(), ["/first", "/second"]);
}

#[tokio::test]
async fn a4_the_first_mutating_error_stops_the_chain() {
    let hook =
        Hook::start(|call| answer(call, json!({"allowed": false, "status": {"message": "no"}})))
            .await;
    let setting = Setting::new().mutating(
        "a",
        [
            hook.webhook("one.example.com"),
            hook.webhook("two.example.com"),
        ],
    );
    let refused = setting.create().await.unwrap_err();
    assert_eq!(
        refused,
        r#"admission webhook "one.example.com" denied the request: no"#
    );
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a4_validating_webhooks_are_called_at_the_same_time_and_all_awaited() {
    // No answer comes before all three calls are there: one after the other would never end.
    let barrier = Arc::new(Barrier::new(3));
    let hook = Hook::start(move |call| {
        let denied = call.target.starts_with("/deny");
        let reply = answer(
            call,
            json!({"allowed": !denied, "status": {"message": "no"}}),
        );
        Reply::Together(Arc::clone(&barrier), Box::new(reply))
    })
    .await;
    let setting = Setting::new().validating(
        "a",
        [
            hook.webhook_at("one.example.com", "/deny"),
            hook.webhook_at("two.example.com", "/allow"),
            hook.webhook_at("three.example.com", "/allow"),
        ],
    );
    let refused = setting.validate(&create(config_map())).await.unwrap_err();
    assert_eq!(
        refused.message(),
        r#"admission webhook "one.example.com" denied the request: no"#
    );
    assert_eq!(hook.calls(), 3);
}

#[tokio::test]
async fn a4_of_two_validating_denials_exactly_one_is_shown() {
    let hook = Hook::start(|call| {
        answer(
            call,
            json!({"allowed": false, "status": {"message": call.target.get(..4)}}),
        )
    })
    .await;
    let setting = Setting::new().validating(
        "a",
        [
            hook.webhook_at("one.example.com", "/one"),
            hook.webhook_at("two.example.com", "/two"),
        ],
    );
    let refused = setting.validate(&create(config_map())).await.unwrap_err();
    let expected = [
        r#"admission webhook "one.example.com" denied the request: /one"#,
        r#"admission webhook "two.example.com" denied the request: /two"#,
    ];
    assert!(
        expected.contains(&refused.message()),
        "{}",
        refused.message()
    );
    assert_eq!(hook.calls(), 2);
}

#[tokio::test]
async fn a4_a_changed_configuration_takes_effect_at_once() {
    let hook = Hook::start(allow).await;
    let setting = Setting::new();
    setting.create().await.unwrap();
    assert_eq!(hook.calls(), 0);
    setting.configure(
        "mutatingwebhookconfigurations",
        "a",
        [hook.webhook("one.example.com")],
    );
    setting.create().await.unwrap();
    assert_eq!(hook.calls(), 1);
    setting.configure("mutatingwebhookconfigurations", "a", []);
    setting.create().await.unwrap();
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a3_webhook_configurations_and_policies_are_never_sent_to_webhooks() {
    let hook = Hook::start(|_| Reply::status(500, "never")).await;
    let rules = json!([{"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}]);
    let everything = but(hook.webhook("all.example.com"), json!({"rules": rules}));
    let setting = Setting::new()
        .mutating("a", [everything.clone()])
        .validating("a", [everything]);
    for kind in [
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
    ] {
        let object = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": "a"},
        });
        let mut attributes = create(object);
        setting.mutate(&mut attributes).await.unwrap();
        setting.validate(&attributes).await.unwrap();
    }
    assert_eq!(hook.calls(), 0);
}
