//! The controller references of a workload's objects: adoption and release.

use std::sync::Arc;

use kubewright_apimachinery::selectors::Labels;
use serde_json::{Value, json};

use super::super::client::{Api, Failure, Who};
use super::super::object::{Item, controlled_by, text};
use super::super::work::Context;

/// The selector of a workload; `None`, which selects nothing, if it is invalid.
///
/// The selector of a ReplicationController is a plain map of labels.
pub(super) fn selector(object: &Value) -> Option<Labels> {
    let selector = &object["spec"]["selector"];
    if object["kind"] == "ReplicationController" {
        return Labels::from_object(&json!({"matchLabels": selector})).ok()?;
    }
    Labels::from_object(selector).ok()?
}

/// Returns the objects of a table that the owner controls. Before that, adopts matching objects without a controller, and
/// releases controlled objects that the selector no longer matches.
pub(super) async fn claim(
    cx: &Context,
    who: Who<'_>,
    owner: &Value,
    of: (&Api, &str),
    wanted: impl Fn(&Item) -> bool,
) -> Result<Vec<Arc<Item>>, Failure> {
    claim_with(cx, who, owner, of, None, wanted).await
}

/// As [`claim`]; adopted objects get a finalizer, and released ones lose it.
pub(super) async fn claim_with(
    cx: &Context,
    who: Who<'_>,
    owner: &Value,
    (api, table): (&Api, &str),
    finalizer: Option<&str>,
    wanted: impl Fn(&Item) -> bool,
) -> Result<Vec<Arc<Item>>, Failure> {
    let Some(selector) = selector(owner) else {
        return Ok(Vec::new());
    };
    let uid = text(owner, "/metadata/uid");
    let namespace = text(owner, "/metadata/namespace");
    let deleting = !owner["metadata"]["deletionTimestamp"].is_null();
    let (own, free) = cx.look(|graph| {
        let own = graph.controlled(uid, table);
        (own, graph.free(table, namespace))
    });
    let selects = |item: &Item| selector.matches(Some(item.object.labels()));
    let mut claimed = Vec::new();
    for item in own {
        if selects(&item) {
            if wanted(&item) {
                claimed.push(item);
            }
        } else if !deleting && !item.is_deleting() {
            let mut owners = item.object.value()["metadata"]["ownerReferences"].take();
            if let Value::Array(owners) = &mut owners {
                owners.retain(|reference| reference["uid"] != uid);
            }
            let finalizers = finalizer.map(|name| {
                let mut finalizers = item.meta.finalizers.clone();
                finalizers.retain(|known| known != name);
                finalizers
            });
            set_owners(cx, who, api, &item, owners, finalizers).await?;
        }
    }
    for item in free {
        if deleting || item.is_deleting() || !selects(&item) || !wanted(&item) {
            continue;
        }
        let mut owners = item.object.value()["metadata"]["ownerReferences"].take();
        if !owners.is_array() {
            owners = Value::Array(Vec::new());
        }
        if let Value::Array(owners) = &mut owners {
            owners.push(controlled_by(owner));
        }
        let finalizers = finalizer.map(|name| {
            let mut finalizers = item.meta.finalizers.clone();
            if !item.has_finalizer(name) {
                finalizers.push(name.to_owned());
            }
            finalizers
        });
        set_owners(cx, who, api, &item, owners, finalizers).await?;
        let adopted = cx.look(|graph| graph.get(table, &item.object.path));
        claimed.extend(adopted);
    }
    Ok(claimed)
}

async fn set_owners(
    cx: &Context,
    who: Who<'_>,
    api: &Api,
    item: &Item,
    owners: Value,
    finalizers: Option<Vec<String>>,
) -> Result<(), Failure> {
    let mut patch = json!({"metadata": {"uid": item.meta.uid, "ownerReferences": owners}});
    if let Some(finalizers) = finalizers {
        patch["metadata"]["finalizers"] = finalizers.into();
    }
    let path = api.path(item.namespace(), item.name());
    match cx.client.merge(who, &path, &patch).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(()),
    }
}
