//! Hooks in shadow mode: whatever they decide, the request passes as it is, and the audit event says what they decided.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{
    Change, Decision, FailurePolicy, Mode, Mutated, Review, Undecodable, Validated, Webhooks, deny,
    fail, mutating, validating,
};
use serde_json::{Value, json};

use crate::calls::{Answer, create, pod, review, send};

async fn welcome(change: Change<Pod>, review: Review) -> Mutated<Pod> {
    review.warn("this pod is changed");
    let mut pod = change.into_object();
    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert("password".into(), "hunter2".into());
    Ok(pod)
}

async fn host(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    pod.spec.get_or_insert_default().hostname = Some("hunter2".into());
    Ok(pod)
}

/// Does what the pod's image says.
async fn by_image(change: Change<Pod>, review: Review) -> Validated {
    review.warn("this pod is watched");
    review.annotate("team", "blue");
    let spec = change.object().spec.clone().unwrap_or_default();
    match spec.containers[0].image.as_deref() {
        Some("deny") => deny("the image is not pinned"),
        Some("fail") => fail("the database password is hunter2"),
        Some("panic") => panic!("the handler panics"),
        Some("hang") => std::future::pending().await,
        _ => Ok(()),
    }
}

fn webhooks() -> Webhooks {
    Webhooks::new("policy.example.com")
        .with(mutating("welcome", welcome).then(host).shadow())
        .with(validating("by-image", by_image).shadow())
}

fn pod_with(image: &str) -> Value {
    let mut object = pod();
    object["spec"]["containers"][0]["image"] = image.into();
    object
}

/// Asserts that the answer allows, and has nothing but these annotations.
fn passes(answer: &Answer, annotations: &Value) {
    let mut response = answer.response().clone();
    response["uid"].take();
    let expected = json!({"uid": null, "allowed": true, "auditAnnotations": annotations});
    assert_eq!(response, expected);
}

#[tokio::test]
async fn a_mutator_changes_nothing_and_names_the_paths_of_its_patch() {
    let webhooks = webhooks();
    let answer = review(&webhooks, "/welcome", create(pod())).await;
    let annotations = json!({"shadow": "changed: /metadata/annotations, /spec/hostname"});
    passes(&answer, &annotations);
    assert_eq!(webhooks.outcomes()[0].1.changed, 1);
}

#[tokio::test]
async fn a_validator_denies_nothing_and_repeats_its_message() {
    let webhooks = webhooks();
    let answer = review(&webhooks, "/by-image", create(pod_with("deny"))).await;
    let annotations = json!({"team": "blue", "shadow": "denied: the image is not pinned"});
    passes(&answer, &annotations);
    let answer = review(&webhooks, "/by-image", create(pod())).await;
    passes(&answer, &json!({"team": "blue", "shadow": "allowed"}));
    let outcomes = webhooks.outcomes()[1].1;
    assert_eq!((outcomes.allowed, outcomes.denied), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_handler_that_fails_panics_or_hangs_blocks_nothing() {
    let webhooks = webhooks();
    for (image, said) in [
        ("fail", "failed: the webhook failed on request"),
        ("panic", "failed: the webhook panicked on request"),
        ("hang", "failed: the webhook did not answer request"),
    ] {
        let answer = review(&webhooks, "/by-image", create(pod_with(image))).await;
        let annotation = answer.response()["auditAnnotations"]["shadow"].clone();
        let text = annotation.as_str().unwrap();
        assert!(text.starts_with(said), "{text}");
        assert!(!text.contains("hunter2"), "{text}");
        passes(&answer, &json!({"shadow": annotation}));
    }
    let outcomes = webhooks.outcomes()[1].1;
    assert_eq!(
        (outcomes.failed, outcomes.panicked, outcomes.stopped),
        (1, 1, 1)
    );
}

#[tokio::test]
async fn an_object_that_cannot_be_read_passes_however_it_is_answered_otherwise() {
    let mut object = pod();
    object["spec"]["hostname"] = 7.into();
    for (answer, decision) in [
        (
            Undecodable::Fail,
            "failed: cannot read object.spec.hostname",
        ),
        (
            Undecodable::Deny,
            "denied: cannot read object.spec.hostname",
        ),
        (Undecodable::PassThrough, "allowed"),
    ] {
        let hook = validating("by-image", by_image).when_undecodable(answer);
        let webhooks = Webhooks::new("policy.example.com").with(hook.shadow());
        let answer = review(&webhooks, "/by-image", create(object.clone())).await;
        let annotation = answer.response()["auditAnnotations"]["shadow"].clone();
        let text = annotation.as_str().unwrap();
        assert!(text.starts_with(decision), "{text}");
        passes(&answer, &json!({"shadow": annotation}));
    }
}

#[tokio::test]
async fn a_type_whose_reading_panics_blocks_nothing() {
    let webhooks = Webhooks::new("policy.example.com")
        .with(validating("explosive", crate::faults::explosive).shadow());
    let mut object = pod();
    object["metadata"]["labels"] = json!({"a": "b"});
    let answer = review(&webhooks, "/explosive", create(object)).await;
    assert!(answer.allowed());
    assert_eq!(webhooks.outcomes()[0].1.panicked, 1);
}

#[tokio::test]
async fn its_absence_blocks_nothing() {
    let strict = validating("by-image", by_image);
    let declared = |hook| {
        Webhooks::new("policy.example.com")
            .with(hook)
            .declarations()
    };
    let [enforced] = &declared(strict.clone())[..] else {
        panic!("one hook")
    };
    assert_eq!(enforced.failure_policy, FailurePolicy::Fail);
    assert_eq!(enforced.mode, Mode::Enforce);
    let [shadowed] = &declared(strict.shadow())[..] else {
        panic!("one hook")
    };
    assert_eq!(shadowed.failure_policy, FailurePolicy::Ignore);
    assert_eq!(shadowed.mode, Mode::Shadow);
}

#[tokio::test]
async fn observers_get_the_decision_and_the_answer_that_was_withheld() {
    let webhooks = webhooks();
    let seen: Arc<Mutex<Vec<_>>> = Arc::default();
    let own = Arc::clone(&seen);
    webhooks.observe(move |answered| {
        let answer: Value = serde_json::from_slice(answered.answer.unwrap()).unwrap();
        let entry = (answered.mode, answered.decision, answered.code, answer);
        own.lock().unwrap().push(entry);
    });
    let answer = review(&webhooks, "/by-image", create(pod_with("deny"))).await;
    assert!(answer.allowed());
    let seen = seen.lock().unwrap();
    let [(mode, decision, code, withheld)] = &seen[..] else {
        panic!("one review: {seen:?}")
    };
    assert_eq!(
        (*mode, *decision, *code),
        (Mode::Shadow, Decision::Denied, 403)
    );
    assert_eq!(withheld["response"]["allowed"], false);
    assert_eq!(withheld["response"]["warnings"][0], "this pod is watched");
}

#[tokio::test]
async fn a_caller_that_asks_for_the_decision_gets_it() {
    let webhooks = webhooks();
    let asked = |path: &str, object: Value| {
        let review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": create(object),
        });
        Request::post(format!("{path}?timeout=10s&mode=enforce"))
            .header("content-type", "application/json")
            .body(Full::<Bytes>::from(review.to_string()))
            .unwrap()
    };
    let answer = send(&webhooks, asked("/by-image", pod_with("deny"))).await;
    assert_eq!(
        answer.response()["status"]["message"],
        "the image is not pinned"
    );
    let answer = send(&webhooks, asked("/welcome", pod())).await;
    assert_eq!(answer.patch()[0]["value"]["password"], "hunter2");
    let annotation = &answer.response()["auditAnnotations"]["shadow"];
    assert_eq!(annotation, "changed: /metadata/annotations, /spec/hostname");
    let answer = send(&webhooks, asked("/by-image", pod_with("panic"))).await;
    assert_eq!(answer.code, 500);
}
