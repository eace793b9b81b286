//! One place of a StatefulSet: the name of its pod, its claims, and how they are made.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::super::client::{CLAIMS, Failure, PODS, Who};
use super::super::super::object::{Item, list, map, pod_of, text};
use super::super::super::recorder::Kind;
use super::super::super::work::Context;

const NAME: &str = "statefulset-controller";
pub(super) const WHO: Who<'static> = Who::Controller(NAME);

/// The label of a pod that names its revision.
pub(super) const REVISION_LABEL: &str = "controller-revision-hash";

/// A place, and the pod that has it.
#[derive(Debug)]
pub(super) struct Replica {
    pub(super) ordinal: i64,
    pub(super) pod: Option<Arc<Item>>,
}

/// The place that the name of a pod of a set says.
pub(super) fn ordinal(pod: &str, set: &str) -> Option<i64> {
    let digits = pod.strip_prefix(set)?.strip_prefix('-')?;
    let all = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then(|| digits.parse::<i32>().ok())?.map(i64::from)
}

/// The pod of a place.
pub(super) fn pod(set: &Value, template: &Value, ordinal: i64, revision: &str) -> Value {
    let name = format!("{}-{ordinal}", text(set, "/metadata/name"));
    let mut pod = pod_of(template, set);
    let metadata = &mut pod["metadata"];
    if let Value::Object(metadata) = metadata {
        metadata.remove("generateName");
    }
    metadata["name"] = name.as_str().into();
    let labels = &mut metadata["labels"];
    labels["statefulset.kubernetes.io/pod-name"] = name.as_str().into();
    labels["apps.kubernetes.io/pod-index"] = ordinal.to_string().into();
    labels[REVISION_LABEL] = revision.into();
    let spec = &mut pod["spec"];
    spec["hostname"] = name.into();
    let service = text(set, "/spec/serviceName");
    if !service.is_empty() {
        spec["subdomain"] = service.into();
    }
    let templates = list(set, "/spec/volumeClaimTemplates");
    if templates.is_empty() {
        return pod;
    }
    let mut volumes: Vec<Value> = templates
        .iter()
        .map(|template| {
            let claim = claim_name(set, template, ordinal);
            json!({
                "name": template["metadata"]["name"],
                "persistentVolumeClaim": {"claimName": claim},
            })
        })
        .collect();
    let is_claimed = |volume: &&Value| {
        let mut templates = templates.iter();
        !templates.any(|template| template["metadata"]["name"] == volume["name"])
    };
    volumes.extend(list(spec, "/volumes").iter().filter(is_claimed).cloned());
    spec["volumes"] = volumes.into();
    pod
}

fn claim_name(set: &Value, template: &Value, ordinal: i64) -> String {
    let [set, template] = [set, template].map(|object| text(object, "/metadata/name"));
    format!("{template}-{set}-{ordinal}")
}

/// Makes a pod, and before it the claims that it names.
pub(super) async fn create(
    cx: &Context,
    set: &Value,
    ordinal: i64,
    pod: &Value,
) -> Result<(), Failure> {
    claim_storage(cx, set, ordinal).await?;
    let namespace = text(set, "/metadata/namespace");
    let made = cx.client.create(WHO, &PODS, namespace, pod).await;
    let name = text(pod, "/metadata/name");
    tell(
        cx,
        set,
        "create",
        &format!("Pod {name}"),
        made.as_ref().err(),
    )
    .await;
    match made {
        Err(failure) if !failure.is_for_terminating_namespace() => Err(failure),
        _ => Ok(()),
    }
}

/// Makes the claims of a place that are missing. They outlive the pod and the set.
pub(super) async fn claim_storage(cx: &Context, set: &Value, ordinal: i64) -> Result<(), Failure> {
    let namespace = text(set, "/metadata/namespace");
    for template in list(set, "/spec/volumeClaimTemplates") {
        let name = claim_name(set, template, ordinal);
        let path = format!("{namespace}/{name}");
        if cx.store.get("persistentvolumeclaims", &path).is_some() {
            continue;
        }
        let mut labels = map(template, "/metadata/labels");
        labels.extend(map(set, "/spec/selector/matchLabels"));
        let claim = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": labels,
                "annotations": map(template, "/metadata/annotations"),
            },
            "spec": template["spec"],
        });
        let made = cx.client.create(WHO, &CLAIMS, namespace, &claim).await;
        let pod = format!("{}-{ordinal}", text(set, "/metadata/name"));
        let what = format!("Claim {name} Pod {pod}");
        tell(cx, set, "create", &what, made.as_ref().err()).await;
        made?;
    }
    Ok(())
}

/// Deletes a pod.
pub(super) async fn delete(cx: &Context, set: &Value, pod: &Item) -> Result<(), Failure> {
    let path = PODS.path(pod.namespace(), pod.name());
    let options = json!({"preconditions": {"uid": pod.meta.uid}});
    let deleted = cx.client.delete(WHO, &path, &options).await;
    let what = format!("Pod {}", pod.name());
    tell(cx, set, "delete", &what, deleted.as_ref().err()).await;
    deleted
}

async fn tell(cx: &Context, set: &Value, verb: &str, what: &str, failure: Option<&Failure>) {
    let name = text(set, "/metadata/name");
    let word = if verb == "create" { "Create" } else { "Delete" };
    match failure {
        None => {
            let message = format!("{verb} {what} in StatefulSet {name} successful");
            let reason = format!("Successful{word}");
            cx.tell(NAME, set, Kind::Normal, &reason, &message).await;
        }
        Some(failure) if failure.is_for_terminating_namespace() => {}
        Some(failure) => {
            let message = format!("{verb} {what} in StatefulSet {name} failed error: {failure}");
            let reason = format!("Failed{word}");
            cx.tell(NAME, set, Kind::Warning, &reason, &message).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pod_of_a_set_is_known_by_its_name() {
        assert_eq!(ordinal("web-0", "web"), Some(0));
        assert_eq!(ordinal("web-12", "web"), Some(12));
        for stranger in ["web", "web-", "web-a", "web-0-1", "other-0", "web--1"] {
            assert_eq!(ordinal(stranger, "web"), None, "{stranger}");
        }
    }
}
