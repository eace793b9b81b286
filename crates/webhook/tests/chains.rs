//! Several mutators on one path: each sees what the earlier ones made, and all answer one patch.

use std::borrow::Cow;

use k8s_openapi::api::core::v1::{Container, Pod};
use kube_core::PartialObjectMeta;
use kubewright_webhook::{Change, Mutated, Review, Undecodable, Webhooks, deny, mutating};
use serde_json::{Value, json};

use crate::calls::{create, pod, review};

async fn add_sidecar(change: Change<Pod>, review: Review) -> Mutated<Pod> {
    review.warn("a sidecar was added");
    let mut pod = change.into_object();
    pod.spec.get_or_insert_default().containers.push(Container {
        name: "sidecar".into(),
        ..Container::default()
    });
    Ok(pod)
}

async fn count_containers(change: Change<Pod>, review: Review) -> Mutated<Pod> {
    review.warn("containers were counted");
    let mut pod = change.into_object();
    let count = pod.spec.as_ref().map_or(0, |spec| spec.containers.len());
    pod.metadata
        .annotations
        .get_or_insert_default()
        .insert("containers".into(), count.to_string());
    Ok(pod)
}

async fn shout(
    change: Change<PartialObjectMeta<Pod>>,
    _: Review,
) -> Mutated<PartialObjectMeta<Pod>> {
    let mut pod = change.into_object();
    for value in pod
        .metadata
        .annotations
        .iter_mut()
        .flat_map(|all| all.values_mut())
    {
        value.push('!');
    }
    Ok(pod)
}

async fn refuse(_: Change<Pod>, _: Review) -> Mutated<Pod> {
    deny("no")
}

fn patched(patch: &Value) -> Value {
    let mut object = pod();
    object["spec"]["future"] = json!({"kept": true});
    let patch: json_patch::Patch = serde_json::from_value(patch.clone()).unwrap();
    json_patch::patch(&mut object, &patch).unwrap();
    object
}

fn request() -> Value {
    let mut object = pod();
    object["spec"]["future"] = json!({"kept": true});
    create(object)
}

#[tokio::test]
async fn each_mutator_sees_what_the_earlier_ones_made() {
    let webhooks = Webhooks::new("example.com").with(
        mutating("chain", add_sidecar)
            .then(count_containers)
            .then(shout),
    );
    let answer = review(&webhooks, "/chain", request()).await;
    let object = patched(&answer.patch());
    assert_eq!(
        object["metadata"]["annotations"],
        json!({"containers": "2!"})
    );
    assert_eq!(object["spec"]["containers"][1], json!({"name": "sidecar"}));
    assert_eq!(object["spec"]["future"], json!({"kept": true}));
    assert_eq!(
        answer.response()["warnings"],
        json!(["a sidecar was added", "containers were counted"])
    );
}

#[tokio::test]
async fn a_denial_in_a_chain_has_no_patch_and_keeps_the_warnings() {
    let webhooks = Webhooks::new("example.com").with(mutating("chain", add_sidecar).then(refuse));
    let answer = review(&webhooks, "/chain", request()).await;
    assert!(!answer.allowed());
    assert_eq!(answer.response()["patch"], Value::Null);
    assert_eq!(
        answer.response()["warnings"],
        json!(["a sidecar was added"])
    );
}

#[tokio::test]
async fn a_link_that_cannot_read_the_object_can_be_passed_over() {
    async fn deployments(
        change: Change<k8s_openapi::api::apps::v1::Deployment>,
        _: Review,
    ) -> Mutated<k8s_openapi::api::apps::v1::Deployment> {
        Ok(change.into_object())
    }
    let webhooks = Webhooks::new("example.com").with(
        mutating("chain", count_containers)
            .then(deployments)
            .then(shout)
            .when_undecodable(Undecodable::PassThrough),
    );
    let answer = review(&webhooks, "/chain", request()).await;
    assert_eq!(
        patched(&answer.patch())["metadata"]["annotations"],
        json!({"containers": "1!"})
    );
}

#[test]
fn a_validator_cannot_be_chained() {
    let chained = std::panic::catch_unwind(|| {
        async fn allow(_: Change<Pod>, _: Review) -> kubewright_webhook::Validated {
            Ok(())
        }
        kubewright_webhook::validating("v", allow).then(refuse)
    });
    let message = chained.unwrap_err();
    let message = message
        .downcast_ref::<String>()
        .map(|text| Cow::from(&**text));
    assert_eq!(
        message.as_deref(),
        Some("only mutators can be chained, and `v` validates")
    );
}
