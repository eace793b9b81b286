//! What an observer sees of webhook calls.

use std::sync::Arc;

use kubewright_fieldmanagement::NewManagedFields;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::hook::{Hook, Reply, allow, answer, but, patch};
use super::setting::{Setting, config_map, create};
use crate::{Call, Chain, Observer, Verdict};

#[derive(Debug, Default)]
struct Seen(Mutex<Vec<String>>);

impl Observer for Seen {
    fn called(&self, call: &Call<'_>) {
        let Call {
            configuration,
            webhook,
            mutating,
            again,
            request,
            ..
        } = call;
        let verdict = match call.verdict {
            Verdict::Allowed => "allowed".to_owned(),
            Verdict::Denied(why) => format!("denied: {why}"),
            Verdict::Failed(why) => format!("failed: {why}"),
            Verdict::Ignored(why) => format!("ignored: {why}"),
        };
        let patch = call.patch.map_or("-".into(), String::from_utf8_lossy);
        let before = call
            .before
            .map_or(0, |before| before["data"].as_object().unwrap().len());
        let operation = request.operation.as_str();
        self.0.lock().push(format!(
            "{configuration}/{webhook} {mutating} {again} {operation} {}/{} {verdict} {patch} {before} {:?}",
            request.namespace, request.name, call.warnings
        ));
    }
}

fn observed() -> (Arc<Seen>, Setting) {
    let seen = Arc::new(Seen::default());
    let setting = Setting::with(Chain::builder().observer(Arc::clone(&seen) as Arc<dyn Observer>));
    (seen, setting)
}

#[tokio::test]
async fn an_observer_sees_patches_with_the_object_before() {
    let (seen, setting) = observed();
    let hook = Hook::start(|call| {
        patch(
            call,
            &json!([{"op": "add", "path": "/data/a", "value": "b"}]),
        )
    })
    .await;
    let setting = setting.mutating("m", [hook.webhook("one.example.com")]);
    setting.create().await.unwrap();
    assert_eq!(
        *seen.0.lock(),
        [
            r#"m/one.example.com true false CREATE blue/settings allowed [{"op":"add","path":"/data/a","value":"b"}] 1 []"#
        ]
    );
}

/// Keeps the `managedFields` of the last object that was seen.
#[derive(Debug, Default)]
struct ManagedFields(Mutex<Value>);

impl Observer for ManagedFields {
    fn called(&self, call: &Call<'_>) {
        assert_eq!(call.request.new_managed_fields, None);
        *self.0.lock() = call.request.object["metadata"]["managedFields"].clone();
    }
}

#[tokio::test]
async fn an_observer_sees_the_managed_fields_within_the_object() {
    let seen = Arc::new(ManagedFields::default());
    let setting = Setting::with(Chain::builder().observer(Arc::clone(&seen) as Arc<dyn Observer>));
    let hook = Hook::start(allow).await;
    let setting = setting.mutating("m", [hook.webhook("one.example.com")]);
    let mut attributes = create(config_map());
    let entries = json!([{"manager": "me"}]);
    attributes.new_managed_fields = Some(NewManagedFields::of(&entries));
    setting.mutate(&mut attributes).await.unwrap();
    assert_eq!(*seen.0.lock(), entries);
}

#[tokio::test]
async fn an_observer_sees_denials_and_warnings() {
    let (seen, setting) = observed();
    let hook = Hook::start(|call| {
        answer(
            call,
            json!({"allowed": false, "status": {"message": "no"}, "warnings": ["careful"]}),
        )
    })
    .await;
    let setting = setting.validating("v", [hook.webhook("one.example.com")]);
    setting.validate(&create(config_map())).await.unwrap_err();
    assert_eq!(
        *seen.0.lock(),
        [
            r#"v/one.example.com false false CREATE blue/settings denied: admission webhook "one.example.com" denied the request: no - 0 ["careful"]"#
        ]
    );
}

#[tokio::test]
async fn an_observer_sees_failures_and_what_became_of_them() {
    let (seen, setting) = observed();
    let hook = Hook::start(|_| Reply::status(404, "")).await;
    let ignoring = but(
        hook.webhook("one.example.com"),
        json!({"failurePolicy": "Ignore"}),
    );
    let setting = setting.mutating("m", [ignoring, hook.webhook("two.example.com")]);
    setting.create().await.unwrap_err();
    assert_eq!(
        *seen.0.lock(),
        [
            r#"m/one.example.com true false CREATE blue/settings ignored: failed calling webhook "one.example.com": failed to call webhook: the server could not find the requested resource - 0 []"#,
            r#"m/two.example.com true false CREATE blue/settings failed: failed calling webhook "two.example.com": failed to call webhook: the server could not find the requested resource - 0 []"#,
        ]
    );
}

#[tokio::test]
async fn an_observer_sees_the_second_call_of_a_webhook_as_such() {
    let (seen, setting) = observed();
    let hook = Hook::start(|call| {
        if call.target.starts_with("/change") {
            patch(
                call,
                &json!([{"op": "add", "path": "/data/a", "value": "b"}]),
            )
        } else {
            super::hook::allow(call)
        }
    })
    .await;
    let look = but(
        hook.webhook_at("look.example.com", "/look"),
        json!({"reinvocationPolicy": "IfNeeded"}),
    );
    let setting = setting.mutating(
        "m",
        [look, hook.webhook_at("change.example.com", "/change")],
    );
    setting.create().await.unwrap();
    let rounds: Vec<_> = seen
        .0
        .lock()
        .iter()
        .map(|line| line.contains(" true true "))
        .collect();
    assert_eq!(rounds, [false, false, true]);
}
