//! Allow, deny, fail, and what an answer carries besides the verdict.

use k8s_openapi::api::core::v1::Pod;
use kubewright_webhook::{
    Change, Denial, Mutated, OrDeny, Outcomes, Review, Validated, Webhooks, deny, fail, mutating,
    validating,
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

/// Does what the pod's image says.
async fn by_image(change: Change<Pod>, review: Review) -> Validated {
    review.warn("this pod\nis watched");
    review.annotate("team", "blue");
    review.annotate("not a key", "lost");
    let spec = change.object().spec.as_ref().or_deny("there is no spec")?;
    for container in &spec.containers {
        match container.image.as_deref() {
            Some("deny") => return deny(format_args!("container `{}` is denied", container.name)),
            Some("denial") => {
                return Err(Denial::new("no such image")
                    .field("spec.containers[0].image")
                    .cause("spec", "look again")
                    .code(422)
                    .into());
            }
            Some("402") => return Err(Denial::new("pay first").code(402).into()),
            Some("reason") => return Err(Denial::new("again").reason("Conflict").into()),
            Some("parse") => {
                "secret".parse::<u32>().or_deny("this is not a number")?;
            }
            Some("fail") => return fail("the database password is hunter2"),
            Some("error") => {
                "secret".parse::<u32>()?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn webhooks() -> Webhooks {
    Webhooks::new("policy.example.com")
        .with(mutating("welcome", welcome))
        .with(validating("by-image", by_image))
}

fn pod_with(image: &str) -> Value {
    let mut object = pod();
    object["spec"]["containers"][0]["image"] = image.into();
    object
}

#[tokio::test]
async fn a_mutator_answers_what_it_changed() {
    let answer = review(&webhooks(), "/welcome", create(pod())).await;
    assert!(answer.allowed());
    assert_eq!(
        answer.patch(),
        json!([{"op": "add", "path": "/metadata/annotations", "value": {"mutate": "welcome"}}])
    );
    assert_eq!(answer.response()["patchType"], "JSONPatch");
}

#[tokio::test]
async fn existing_annotations_stay() {
    let mut object = pod();
    object["metadata"]["annotations"] = json!({"a/b~c": "1"});
    let answer = review(&webhooks(), "/welcome", create(object)).await;
    assert_eq!(
        answer.patch(),
        json!([{"op": "add", "path": "/metadata/annotations/mutate", "value": "welcome"}])
    );
}

#[tokio::test]
async fn an_unchanged_object_gives_no_patch() {
    let mut object = pod();
    object["metadata"]["annotations"] = json!({"mutate": "welcome"});
    let answer = review(&webhooks(), "/welcome", create(object)).await;
    assert!(answer.allowed());
    assert_eq!(answer.response()["patch"], Value::Null);
    assert_eq!(answer.response()["patchType"], Value::Null);
}

#[tokio::test]
async fn an_allowed_change_has_neither_status_nor_patch() {
    let answer = review(&webhooks(), "/by-image", create(pod_with("nginx"))).await;
    assert!(answer.allowed());
    assert_eq!(answer.response()["status"], Value::Null);
    assert_eq!(answer.response()["patch"], Value::Null);
}

#[tokio::test]
async fn a_denial_says_why_and_keeps_warnings_and_annotations() {
    let answer = review(&webhooks(), "/by-image", create(pod_with("deny"))).await;
    assert_eq!(
        answer.response(),
        &json!({
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "allowed": false,
            "status": {
                "metadata": {}, "status": "Failure", "message": "container `web` is denied",
                "reason": "Forbidden", "code": 403,
            },
            "warnings": ["this pod is watched"],
            "auditAnnotations": {"team": "blue"},
        })
    );
}

#[tokio::test]
async fn a_denial_carries_fields_code_and_reason() {
    let status = async |image| {
        let answer = review(&webhooks(), "/by-image", create(pod_with(image))).await;
        answer.response()["status"].clone()
    };
    assert_eq!(
        status("denial").await,
        json!({
            "metadata": {}, "status": "Failure", "message": "no such image", "reason": "Invalid", "code": 422,
            "details": {"causes": [
                {"reason": "FieldValueInvalid", "message": "no such image", "field": "spec.containers[0].image"},
                {"reason": "FieldValueInvalid", "message": "look again", "field": "spec"},
            ]},
        })
    );
    // No reason of Kubernetes has this code, so kubectl prints none.
    assert_eq!(
        status("402").await,
        json!({"metadata": {}, "status": "Failure", "message": "pay first", "code": 402})
    );
    assert_eq!(status("reason").await["reason"], "Conflict");
}

#[tokio::test]
async fn what_or_deny_hides_is_not_told() {
    let answer = review(&webhooks(), "/by-image", create(pod_with("parse"))).await;
    assert_eq!(
        answer.response()["status"]["message"],
        "this is not a number"
    );
}

#[tokio::test]
async fn a_failure_is_not_a_denial() {
    for image in ["fail", "error"] {
        let webhooks = webhooks();
        let answer = review(&webhooks, "/by-image", create(pod_with(image))).await;
        assert_eq!(
            (answer.code, answer.body),
            (
                500,
                json!({
                    "apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure",
                    "message": "the webhook failed on request 705ab4f5-6393-11e8-b7cc-42010a800002; its log says why",
                    "reason": "InternalError", "code": 500,
                    "details": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002"},
                })
            )
        );
    }
}

#[tokio::test]
async fn outcomes_are_counted() {
    let webhooks = webhooks();
    for image in ["nginx", "deny", "deny", "fail"] {
        let _ = review(&webhooks, "/by-image", create(pod_with(image))).await;
    }
    let _ = review(&webhooks, "/welcome", create(pod())).await;
    let counted = |allowed, changed, denied, failed| {
        let mut outcomes = Outcomes::default();
        (outcomes.allowed, outcomes.changed) = (allowed, changed);
        (outcomes.denied, outcomes.failed) = (denied, failed);
        outcomes
    };
    assert_eq!(
        webhooks.outcomes(),
        [
            ("welcome.policy.example.com".to_owned(), counted(0, 1, 0, 0)),
            (
                "by-image.policy.example.com".to_owned(),
                counted(1, 0, 2, 1)
            ),
        ]
    );
}

#[tokio::test]
async fn a_review_says_who_asks_for_what() {
    async fn seen(_: Change<Pod>, review: Review) -> Validated {
        assert_eq!(review.uid(), "705ab4f5-6393-11e8-b7cc-42010a800002");
        assert_eq!(review.user().username, "alice");
        assert_eq!(review.user().groups, ["dev", "system:authenticated"]);
        assert_eq!(
            (review.namespace(), review.name()),
            (Some("blue"), Some("web"))
        );
        assert_eq!(
            (review.kind().kind, review.resource().resource),
            ("Pod", "pods")
        );
        assert!(review.dry_run());
        let options: Value = review.options()?.or_deny("there are options")?;
        assert_eq!(options["kind"], "CreateOptions");
        assert!(review.remaining() > std::time::Duration::from_secs(9));
        assert!(review.remaining() < std::time::Duration::from_secs(10));
        Ok(())
    }
    let webhooks = Webhooks::new("example.com").with(validating("seen", seen));
    let mut request = create(pod());
    request["dryRun"] = true.into();
    assert!(review(&webhooks, "/seen", request).await.allowed());
}

#[tokio::test]
async fn a_handler_is_tested_by_calling_it() {
    let review = Review::in_namespace("blue");
    let change = Change::Create(serde_json::from_value(pod_with("deny")).unwrap());
    let rejected = by_image(change, review.clone()).await.unwrap_err();
    assert_eq!(
        rejected.denial().unwrap().message(),
        "container `web` is denied"
    );
    assert_eq!(review.warnings(), ["this pod\nis watched"]);
    assert_eq!(review.namespace(), Some("blue"));
}
