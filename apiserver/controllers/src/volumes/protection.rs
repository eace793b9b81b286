//! The finalizers that keep a claim while pods use it, and a volume while it is bound.

use serde_json::Value;

use super::super::client::{Api, CLAIMS as CLAIMS_API, Failure, Who};
use super::super::object::{Item, list, text};
use super::super::work::Context;
use super::objects::{ATTRIBUTES_API, CLAIMS, VOLUMES, VOLUMES_API};

const OF_CLAIMS: &str = "kubernetes.io/pvc-protection";
const OF_VOLUMES: &str = "kubernetes.io/pv-protection";

/// Lets a claim go that is being deleted, once no pod on a node uses it.
pub(super) async fn release_claim(cx: &Context, claim: &Item) -> Result<(), Failure> {
    if !claim.has_finalizer(OF_CLAIMS) {
        return Ok(());
    }
    let pods = cx.look(|graph| graph.list("pods", claim.namespace()));
    if pods.iter().any(|pod| uses(pod, claim)) {
        return Ok(());
    }
    remove(
        cx,
        "pvc-protection-controller",
        claim,
        OF_CLAIMS,
        &CLAIMS_API,
    )
    .await
}

/// Lets a volume go that is being deleted, once it is not bound.
pub(super) async fn release_volume(cx: &Context, volume: &Item) -> Result<(), Failure> {
    let bound = text(&volume.object.value(), "/status/phase") == "Bound";
    if bound || !volume.has_finalizer(OF_VOLUMES) {
        return Ok(());
    }
    remove(
        cx,
        "pv-protection-controller",
        volume,
        OF_VOLUMES,
        &VOLUMES_API,
    )
    .await
}

/// Lets a VolumeAttributesClass go that is being deleted, once no claim and no volume names it.
pub(super) async fn release_attributes(cx: &Context, class: &Item) -> Result<(), Failure> {
    const FINALIZER: &str = "kubernetes.io/vac-protection";
    const CONTROLLER: &str = "volumeattributesclass-protection-controller";
    if !class.has_finalizer(FINALIZER) {
        return Ok(());
    }
    let (claims, volumes) = cx.look(|graph| (graph.list(CLAIMS, ""), graph.list(VOLUMES, "")));
    let named = claims.iter().chain(&volumes).any(|item| {
        let object = item.object.value();
        [
            "/spec/volumeAttributesClassName",
            "/status/currentVolumeAttributesClassName",
            "/status/modifyVolumeStatus/targetVolumeAttributesClassName",
        ]
        .iter()
        .any(|at| text(&object, at) == class.name())
    });
    if named {
        return Ok(());
    }
    remove(cx, CONTROLLER, class, FINALIZER, &ATTRIBUTES_API).await
}

async fn remove(
    cx: &Context,
    controller: &str,
    item: &Item,
    finalizer: &str,
    api: &Api,
) -> Result<(), Failure> {
    let mut object = item.object.value();
    if let Some(Value::Array(finalizers)) = object["metadata"].get_mut("finalizers") {
        finalizers.retain(|known| known != finalizer);
    }
    let who = Who::Controller(controller);
    match cx.client.update(who, api, &object).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(()),
    }
}

/// Whether a pod that is on a node uses a claim; the claim of an ephemeral volume has the names of both.
fn uses(pod: &Item, claim: &Item) -> bool {
    if pod.pod.node.is_empty() {
        return false;
    }
    let gone = pod.is_deleting() && pod.meta.deletion_grace_period_seconds == Some(0);
    list(&pod.object.value(), "/spec/volumes")
        .iter()
        .any(|volume| {
            let ephemeral = || {
                let name = format!("{}-{}", pod.name(), text(volume, "/name"));
                name == claim.name() && claim.is_controlled_by(&pod.meta.uid)
            };
            text(volume, "/persistentVolumeClaim/claimName") == claim.name()
                || (volume["ephemeral"].is_object() && !gone && ephemeral())
        })
}
