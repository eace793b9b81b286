//! Creating and deleting pods for a workload, with the events that tell of it.

use futures::future::join_all;
use serde_json::{Value, json};

use super::super::client::{Failure, PODS, Who};
use super::super::object::{Item, text};
use super::super::recorder::Kind;
use super::super::work::Context;

/// Creates a pod for an owner.
pub(super) async fn create(
    cx: &Context,
    controller: &str,
    owner: &Value,
    pod: &Value,
) -> Result<(), Failure> {
    let namespace = text(owner, "/metadata/namespace");
    let who = Who::Controller(controller);
    match cx.client.create(who, &PODS, namespace, pod).await {
        Ok(made) => {
            let message = format!("Created pod: {}", text(&made, "/metadata/name"));
            let reason = "SuccessfulCreate";
            cx.tell(controller, owner, Kind::Normal, reason, &message)
                .await;
            Ok(())
        }
        Err(failure) => {
            if !failure.is_for_terminating_namespace() {
                let message = format!("Error creating: {failure}");
                cx.tell(controller, owner, Kind::Warning, "FailedCreate", &message)
                    .await;
            }
            Err(failure)
        }
    }
}

/// Creates many pods, few at first and then ever more, and stops at the first failure: what refuses one pod is likely to
/// refuse them all.
pub(super) async fn create_many(
    cx: &Context,
    controller: &str,
    owner: &Value,
    pods: &[Value],
) -> Result<(), Failure> {
    let (mut rest, mut batch) = (pods, 1);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(batch.min(rest.len()));
        let made = now.iter().map(|pod| create(cx, controller, owner, pod));
        for outcome in join_all(made).await {
            match outcome {
                Err(failure) if failure.is_for_terminating_namespace() => {}
                outcome => outcome?,
            }
        }
        rest = later;
        batch *= 2;
    }
    Ok(())
}

/// Deletes a pod of an owner.
pub(super) async fn delete(
    cx: &Context,
    controller: &str,
    owner: &Value,
    pod: &Item,
) -> Result<(), Failure> {
    let path = PODS.path(pod.namespace(), pod.name());
    let who = Who::Controller(controller);
    let options = json!({"preconditions": {"uid": pod.meta.uid}});
    match cx.client.delete(who, &path, &options).await {
        Ok(()) => {
            let message = format!("Deleted pod: {}", pod.name());
            let reason = "SuccessfulDelete";
            cx.tell(controller, owner, Kind::Normal, reason, &message)
                .await;
            Ok(())
        }
        Err(failure) => {
            let message = format!("Error deleting: {failure}");
            cx.tell(controller, owner, Kind::Warning, "FailedDelete", &message)
                .await;
            Err(failure)
        }
    }
}
