//! A.9: which webhooks are called a second time.

use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::hook::{Hook, Received, Reply, allow, answer, but, patch};
use super::setting::{Setting, config_map, create};

/// A webhook by path, `IfNeeded` or `Never`.
fn at(hook: &Hook, path: &str, policy: &str) -> Value {
    let name = format!("{}.example.com", path.trim_start_matches('/'));
    but(
        hook.webhook_at(&name, path),
        json!({"reinvocationPolicy": policy}),
    )
}

fn path(call: &Received) -> &str {
    call.target.split('?').next().unwrap()
}

/// Adds a key named after the webhook; paths that begin with `/same` send a patch without effect, others none.
fn by_path(call: &Received) -> Reply {
    let path = path(call);
    if path.starts_with("/change") {
        let key = format!("/data/{}", path.trim_start_matches('/'));
        patch(call, &json!([{"op": "add", "path": key, "value": "x"}]))
    } else if path.starts_with("/same") {
        patch(
            call,
            &json!([{"op": "replace", "path": "/data/start", "value": "here"}]),
        )
    } else {
        allow(call)
    }
}

async fn order(webhooks: &[(&str, &str)]) -> Vec<String> {
    let hook = Hook::start(by_path).await;
    let webhooks = webhooks
        .iter()
        .map(|(path, policy)| at(&hook, path, policy));
    Setting::new()
        .mutating("a", webhooks)
        .create()
        .await
        .unwrap();
    hook.paths()
}

#[tokio::test]
async fn a9_never_is_called_once() {
    assert_eq!(
        order(&[("/look", "Never"), ("/change", "Never")]).await,
        ["/look", "/change"]
    );
}

#[tokio::test]
async fn a9_a_later_change_calls_an_earlier_willing_webhook_again() {
    assert_eq!(
        order(&[("/look", "IfNeeded"), ("/change", "Never")]).await,
        ["/look", "/change", "/look"]
    );
}

#[tokio::test]
async fn a9_a_changer_is_not_called_again_for_its_own_change() {
    assert_eq!(order(&[("/change", "IfNeeded")]).await, ["/change"]);
    assert_eq!(
        order(&[("/change1", "IfNeeded"), ("/look", "IfNeeded")]).await,
        ["/change1", "/look"]
    );
}

#[tokio::test]
async fn a9_without_a_change_there_is_no_second_round() {
    assert_eq!(
        order(&[("/look1", "IfNeeded"), ("/look2", "IfNeeded")]).await,
        ["/look1", "/look2"]
    );
}

#[tokio::test]
async fn a9_two_changers_are_each_called_at_most_twice() {
    assert_eq!(
        order(&[("/change1", "IfNeeded"), ("/change2", "IfNeeded")]).await,
        ["/change1", "/change2", "/change1"]
    );
}

#[tokio::test]
async fn a9_a_change_in_the_second_round_calls_later_willing_webhooks_again() {
    // In round 1 the first one changes the object once more, so that the second one, called in round 0 after its own
    // change, is to be called again.
    let calls = AtomicUsize::new(0);
    let hook = Hook::start(move |call| {
        let n = calls.fetch_add(1, Ordering::SeqCst);
        patch(
            call,
            &json!([{"op": "add", "path": format!("/data/k{n}"), "value": "x"}]),
        )
    })
    .await;
    let webhooks = [at(&hook, "/one", "IfNeeded"), at(&hook, "/two", "IfNeeded")];
    Setting::new()
        .mutating("a", webhooks)
        .create()
        .await
        .unwrap();
    assert_eq!(hook.paths(), ["/one", "/two", "/one", "/two"]);
}

#[tokio::test]
async fn a9_there_is_never_a_third_round() {
    let calls = AtomicUsize::new(0);
    let hook = Hook::start(move |call| {
        let n = calls.fetch_add(1, Ordering::SeqCst);
        patch(
            call,
            &json!([{"op": "add", "path": format!("/data/k{n}"), "value": "x"}]),
        )
    })
    .await;
    let webhooks = ["/one", "/two", "/three"].map(|path| at(&hook, path, "IfNeeded"));
    Setting::new()
        .mutating("a", webhooks)
        .create()
        .await
        .unwrap();
    for path in ["/one", "/two", "/three"] {
        assert!(
            hook.paths().iter().filter(|called| *called == path).count() <= 2,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a9_correction_9_the_first_patch_of_a_request_counts_even_without_effect() {
    assert_eq!(
        order(&[("/look", "IfNeeded"), ("/same", "Never")]).await,
        ["/look", "/same", "/look"]
    );
}

#[tokio::test]
async fn a9_a_second_patch_without_effect_changes_nothing() {
    assert_eq!(
        order(&[
            ("/change", "Never"),
            ("/look", "IfNeeded"),
            ("/same", "Never")
        ])
        .await,
        ["/change", "/look", "/same"]
    );
}

#[tokio::test]
async fn a9_a_webhook_that_was_skipped_is_not_called_for_the_first_time_in_the_second_round() {
    let hook = Hook::start(|call| {
        let label = json!([{"op": "add", "path": "/metadata/labels", "value": {"late": "yes"}}]);
        if path(call) == "/label" {
            patch(call, &label)
        } else {
            allow(call)
        }
    })
    .await;
    let late = but(
        at(&hook, "/late", "IfNeeded"),
        json!({"objectSelector": {"matchLabels": {"late": "yes"}}}),
    );
    let webhooks = [
        late,
        at(&hook, "/look", "IfNeeded"),
        at(&hook, "/label", "Never"),
    ];
    Setting::new()
        .mutating("a", webhooks)
        .create()
        .await
        .unwrap();
    assert_eq!(hook.paths(), ["/look", "/label", "/look"]);
}

#[tokio::test]
async fn a9_selection_is_made_anew_in_the_second_round() {
    let hook = Hook::start(|call| {
        let label = json!([{"op": "add", "path": "/metadata/labels", "value": {"done": "yes"}}]);
        if path(call) == "/label" {
            patch(call, &label)
        } else {
            allow(call)
        }
    })
    .await;
    let absent = json!([{"key": "done", "operator": "DoesNotExist"}]);
    let once = but(
        at(&hook, "/once", "IfNeeded"),
        json!({"objectSelector": {"matchExpressions": absent}}),
    );
    let webhooks = [once, at(&hook, "/label", "Never")];
    Setting::new()
        .mutating("a", webhooks)
        .create()
        .await
        .unwrap();
    assert_eq!(hook.paths(), ["/once", "/label"]);
}

#[tokio::test]
async fn a9_a_repeated_name_is_a_webhook_of_its_own() {
    let hook = Hook::start(by_path).await;
    let mut first = at(&hook, "/look", "IfNeeded");
    let mut second = at(&hook, "/change", "Never");
    first["name"] = json!("same.example.com");
    second["name"] = json!("same.example.com");
    Setting::new()
        .mutating("a", [first, second])
        .create()
        .await
        .unwrap();
    assert_eq!(hook.paths(), ["/look", "/change", "/look"]);
}

#[tokio::test]
async fn a9_in_tree_changes_after_the_webhooks_call_the_willing_ones_again() {
    // The webhook takes the tolerations away; the plugin puts them back before the second round's webhooks, whose
    // input therefore differs from their last output.
    let hook = Hook::start(|call| {
        let remove = json!([{"op": "remove", "path": "/spec/tolerations"}]);
        if path(call) == "/strip" {
            patch(call, &remove)
        } else {
            allow(call)
        }
    })
    .await;
    let pods = json!([{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}]);
    let strip = but(at(&hook, "/strip", "Never"), json!({"rules": pods}));
    let look = but(at(&hook, "/look", "IfNeeded"), json!({"rules": pods}));
    let setting = Setting::new().mutating("a", [strip, look]);
    let mut attributes = create(json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "namespace": "blue"},
        "spec": {"containers": [{"name": "web", "image": "nginx:1.14.2"}]},
    }));
    setting.mutate(&mut attributes).await.unwrap();
    assert_eq!(hook.paths(), ["/strip", "/look", "/look"]);
}

#[tokio::test]
async fn a14_warnings_and_annotations_tell_the_rounds_apart() {
    let hook = Hook::start(|call| match path(call) {
        "/look" => answer(
            call,
            json!({"allowed": true, "warnings": ["seen"], "auditAnnotations": {"k": "v"}}),
        ),
        _ => by_path(call),
    })
    .await;
    let webhooks = [
        at(&hook, "/look", "IfNeeded"),
        at(&hook, "/change", "Never"),
    ];
    let setting = Setting::new().mutating("a", webhooks);
    setting.mutate(&mut create(config_map())).await.unwrap();
    assert_eq!(setting.notes.warnings(), ["seen"]);
    let annotations: Vec<_> = setting.notes.annotations().into_iter().collect();
    let rows = [
        ("look.example.com/k", "v"),
        (
            "mutation.webhook.admission.k8s.io/round_0_index_0",
            r#"{"configuration":"a","webhook":"look.example.com","mutated":false}"#,
        ),
        (
            "mutation.webhook.admission.k8s.io/round_0_index_1",
            r#"{"configuration":"a","webhook":"change.example.com","mutated":true}"#,
        ),
        (
            "mutation.webhook.admission.k8s.io/round_1_index_0",
            r#"{"configuration":"a","webhook":"look.example.com","mutated":false}"#,
        ),
        (
            "patch.webhook.admission.k8s.io/round_0_index_1",
            r#"{"configuration":"a","webhook":"change.example.com","patch":[{"op":"add","path":"/data/change","value":"x"}],"patchType":"JSONPatch"}"#,
        ),
    ];
    let expected: Vec<_> = rows
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into_iter()
        .collect();
    assert_eq!(annotations, expected);
}
