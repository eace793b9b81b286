//! Allow, deny, fail, and what a mutation answers.

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{
    Change, Mutated, Review, Validated, Webhooks, deny, mutating, validating,
};
use serde_json::{Value, json};

use crate::calls::{create, pod, review};

async fn welcome(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    let mut pod = change.into_object();
    pod.metadata
        .annotations
        .get_or_insert_default()
        .insert("mutate".into(), "welcome".into());
    Ok(pod)
}

async fn no_latest(change: Change<Pod>, review: Review) -> Validated {
    review.warn("this pod is watched");
    for container in &change.object().spec.as_ref().unwrap().containers {
        if container.image.as_deref() == Some("latest") {
            return deny(format_args!("container `{}` is latest", container.name));
        }
    }
    Ok(())
}

fn webhooks() -> Webhooks {
    Webhooks::new("example.com")
        .with(mutating("welcome", welcome))
        .with(validating("no-latest", no_latest))
}

#[tokio::test]
async fn a_mutator_answers_what_it_changed() {
    let answer = review(&webhooks(), "/welcome", create(pod())).await;
    assert_eq!(
        answer.patch(),
        json!([{"op": "add", "path": "/metadata/annotations", "value": {"mutate": "welcome"}}])
    );
    assert_eq!(answer.response()["patchType"], "JSONPatch");
}

#[tokio::test]
async fn an_unchanged_object_gives_no_patch() {
    let mut object = pod();
    object["metadata"]["annotations"] = json!({"mutate": "welcome"});
    let answer = review(&webhooks(), "/welcome", create(object)).await;
    assert_eq!(answer.response()["patch"], Value::Null);
    assert_eq!(answer.response()["patchType"], Value::Null);
}

#[tokio::test]
async fn a_denial_says_why_and_keeps_the_warnings() {
    let mut object = pod();
    object["spec"]["containers"][0]["image"] = "latest".into();
    let answer = review(&webhooks(), "/no-latest", create(object)).await;
    assert!(!answer.allowed());
    assert_eq!(
        answer.response()["status"]["message"],
        "container `web` is latest"
    );
    assert_eq!(
        answer.response()["warnings"],
        json!(["this pod is watched"])
    );
}
