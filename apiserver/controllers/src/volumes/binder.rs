//! The binder of volumes and claims: the smallest volume that a claim may have, or one that is made for it.

use std::cmp::Ordering;
use std::sync::Arc;

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::selectors::Labels;
use serde_json::{Value, json};

use super::super::client::{CLAIMS as CLAIMS_API, Failure};
use super::super::object::{Item, list, text};
use super::super::queue::Next;
use super::super::recorder::Kind;
use super::super::work::{Context, Outcome};
use super::objects::{
    BINDER, CLASSES, PROVISIONED_BY, VOLUMES, VOLUMES_API, WHO, claim_of, volume_of,
};
use super::provisioner;

/// Set on a claim and on a volume that the binder itself has brought together.
const BY_CONTROLLER: &str = "pv.kubernetes.io/bound-by-controller";

/// Set on a claim whose binding is complete.
const COMPLETE: &str = "pv.kubernetes.io/bind-completed";

/// Set on a claim by the scheduler: the node of the first pod that uses it.
const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

fn annotation<'a>(object: &'a Value, name: &str) -> &'a str {
    object["metadata"]["annotations"][name]
        .as_str()
        .unwrap_or_default()
}

/// The storage class of a claim or a volume; empty for none.
fn class(object: &Value) -> &str {
    match annotation(object, "volume.beta.kubernetes.io/storage-class") {
        "" => text(object, "/spec/storageClassName"),
        class => class,
    }
}

fn capacity(volume: &Value) -> Option<Quantity> {
    Quantity::from_value(&volume["spec"]["capacity"]["storage"])
}

/// Brings a claim together with one of these volumes, or with the one that it names.
pub(super) async fn claim(cx: &Context, item: &Item, candidates: Vec<String>) -> Outcome {
    let claim = item.object.value();
    let named = cx.look(|graph| volume_of(&claim, graph));
    if !annotation(&claim, COMPLETE).is_empty() {
        return bound(cx, claim, named.as_deref()).await;
    }
    if !text(&claim, "/spec/volumeName").is_empty() {
        let Some(volume) = named else {
            return phase(cx, claim, "Pending").await;
        };
        let object = volume.object.value();
        let reference = &object["spec"]["claimRef"];
        if reference.is_null() || is_of(reference, &claim) {
            return bind(cx, claim, object).await;
        }
        return phase(cx, claim, "Pending").await;
    }
    if let Some(volume) = find(cx, &claim, candidates) {
        return bind(cx, claim, volume.object.value()).await;
    }
    let name = class(&claim).to_owned();
    let storage = cx.look(|graph| graph.get(CLASSES, &name));
    let Some(storage) = storage else {
        let (reason, message) = if name.is_empty() {
            (
                "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set"
                    .to_owned(),
            )
        } else {
            (
                "ProvisioningFailed",
                format!("storageclass.storage.k8s.io {name:?} not found"),
            )
        };
        let kind = if name.is_empty() {
            Kind::Normal
        } else {
            Kind::Warning
        };
        cx.tell(BINDER, &claim, kind, reason, &message).await;
        return phase(cx, claim, "Pending").await;
    };
    let storage = storage.object.value();
    let waits = storage["volumeBindingMode"] == "WaitForFirstConsumer";
    if waits && annotation(&claim, SELECTED_NODE).is_empty() {
        let message = "waiting for first consumer to be created before binding";
        let reason = "WaitForFirstConsumer";
        cx.tell(BINDER, &claim, Kind::Normal, reason, message).await;
        return phase(cx, claim, "Pending").await;
    }
    provisioner::provision(cx, &claim, &storage).await?;
    phase(cx, claim, "Pending").await
}

/// Whether a reference of a volume is to this claim.
fn is_of(reference: &Value, claim: &Value) -> bool {
    let metadata = &claim["metadata"];
    let uid = text(reference, "/uid");
    reference["namespace"] == metadata["namespace"]
        && reference["name"] == metadata["name"]
        && (uid.is_empty() || metadata["uid"] == uid)
}

/// The volume for a claim: the one that names it, or the smallest one that fits.
fn find(cx: &Context, claim: &Value, candidates: Vec<String>) -> Option<Arc<Item>> {
    let spec = &claim["spec"];
    let selector = Labels::from_object(&spec["selector"]).ok().flatten();
    let request = Quantity::from_value(&spec["resources"]["requests"]["storage"]);
    let modes = list(spec, "/accessModes");
    let mode = |object: &Value| match text(object, "/spec/volumeMode") {
        "" => "Filesystem".to_owned(),
        mode => mode.to_owned(),
    };
    let storage = cx.look(|graph| graph.get(CLASSES, class(claim)));
    let waits = storage.is_some_and(|storage| {
        storage.object.value()["volumeBindingMode"] == "WaitForFirstConsumer"
    });
    let waits = waits && annotation(claim, SELECTED_NODE).is_empty();
    let mut best: Option<(Quantity, Arc<Item>)> = None;
    for name in candidates {
        let Some(item) = cx.look(|graph| graph.get(VOLUMES, &name)) else {
            continue;
        };
        if item.is_deleting() {
            continue;
        }
        let volume = item.object.value();
        let reference = &volume["spec"]["claimRef"];
        let meant = !reference.is_null() && is_of(reference, claim);
        let there = list(&volume, "/spec/accessModes");
        let fits = capacity(&volume) >= request
            && mode(&volume) == mode(claim)
            && modes.iter().all(|mode| there.contains(mode))
            && text(&volume, "/spec/volumeAttributesClassName")
                == text(claim, "/spec/volumeAttributesClassName");
        if meant && fits {
            return Some(item);
        }
        let free = reference.is_null() && text(&volume, "/status/phase") == "Available" && !waits;
        let selected = selector
            .as_ref()
            .is_none_or(|selector| selector.matches(Some(item.object.labels())));
        if !free || !fits || !selected || class(&volume) != class(claim) {
            continue;
        }
        let Some(size) = capacity(&volume) else {
            continue;
        };
        let smaller = best
            .as_ref()
            .is_none_or(|(least, _)| size.partial_cmp(least) == Some(Ordering::Less));
        if smaller {
            best = Some((size, item));
        }
    }
    best.map(|(_, item)| item)
}

/// Binds a claim and a volume to each other: first the volume, then the claim.
async fn bind(cx: &Context, mut claim: Value, mut volume: Value) -> Outcome {
    let metadata = &claim["metadata"];
    if text(&volume, "/spec/claimRef/uid") != text(metadata, "/uid") {
        if volume["spec"]["claimRef"].is_null() {
            volume["metadata"]["annotations"][BY_CONTROLLER] = "yes".into();
        }
        volume["spec"]["claimRef"] = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        });
        volume = cx.client.update(WHO, &VOLUMES_API, &volume).await?;
    }
    if text(&volume, "/status/phase") != "Bound" {
        volume["status"]["phase"] = "Bound".into();
        volume = cx.client.update_status(WHO, &VOLUMES_API, &volume).await?;
    }
    if text(&claim, "/spec/volumeName").is_empty() {
        claim["spec"]["volumeName"] = volume["metadata"]["name"].clone();
        claim["metadata"]["annotations"][BY_CONTROLLER] = "yes".into();
    }
    claim["metadata"]["annotations"][COMPLETE] = "yes".into();
    let claim = cx.client.update(WHO, &CLAIMS_API, &claim).await?;
    write_bound(cx, claim, &volume).await?;
    Ok(Next::Done)
}

async fn write_bound(cx: &Context, mut claim: Value, volume: &Value) -> Result<(), Failure> {
    let mut status = claim["status"].clone();
    status["phase"] = "Bound".into();
    status["accessModes"] = volume["spec"]["accessModes"].clone();
    if status["capacity"].is_null() {
        status["capacity"] = volume["spec"]["capacity"].clone();
    }
    let attributes = &volume["spec"]["volumeAttributesClassName"];
    if attributes.is_string() {
        status["currentVolumeAttributesClassName"] = attributes.clone();
    }
    if claim["status"] != status {
        claim["status"] = status;
        cx.client.update_status(WHO, &CLAIMS_API, &claim).await?;
    }
    Ok(())
}

/// Looks after a claim that is bound: without its volume it is lost.
async fn bound(cx: &Context, claim: Value, volume: Option<&Item>) -> Outcome {
    let volume = volume.map(|volume| volume.object.value());
    let own = volume.filter(|volume| {
        let reference = &volume["spec"]["claimRef"];
        reference.is_null() || is_of(reference, &claim)
    });
    let Some(volume) = own else {
        if text(&claim, "/status/phase") != "Lost" {
            let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            cx.tell(BINDER, &claim, Kind::Warning, "ClaimLost", message)
                .await;
        }
        return phase(cx, claim, "Lost").await;
    };
    if volume["spec"]["claimRef"].is_null() || text(&volume, "/status/phase") != "Bound" {
        return bind(cx, claim, volume).await;
    }
    write_bound(cx, claim, &volume).await?;
    Ok(Next::Done)
}

async fn phase(cx: &Context, mut claim: Value, phase: &str) -> Outcome {
    if text(&claim, "/status/phase") != phase {
        claim["status"]["phase"] = phase.into();
        cx.client.update_status(WHO, &CLAIMS_API, &claim).await?;
    }
    Ok(Next::Done)
}

/// Looks after a volume: it is available without a claim, and released after one.
pub(super) async fn volume(cx: &Context, item: &Item) -> Outcome {
    let mut volume = item.object.value();
    let reference = &volume["spec"]["claimRef"];
    let uid = text(reference, "/uid");
    let claim = cx.look(|graph| claim_of(&volume, graph));
    let live = claim.is_some_and(|claim| claim.meta.uid == uid);
    let phase = if reference.is_null() || uid.is_empty() {
        "Available"
    } else if live {
        // The claim is looked at itself.
        return Ok(Next::Done);
    } else {
        "Released"
    };
    if text(&volume, "/status/phase") != phase {
        volume["status"]["phase"] = phase.into();
        volume = cx.client.update_status(WHO, &VOLUMES_API, &volume).await?;
    }
    let ours = annotation(&volume, PROVISIONED_BY) == provisioner::NAME;
    let deletes = volume["spec"]["persistentVolumeReclaimPolicy"] == "Delete";
    if phase == "Released" && deletes && ours && !item.is_deleting() {
        let path = VOLUMES_API.path("", item.name());
        let options = json!({"preconditions": {"uid": item.meta.uid}});
        cx.client.delete(WHO, &path, &options).await?;
    }
    Ok(Next::Done)
}
