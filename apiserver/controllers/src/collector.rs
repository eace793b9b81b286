//! Garbage collection: deletes objects whose owners are gone, and completes the foreground deletion of owners whose
//! dependents are gone.

use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::qualified;
use kubewright_registry::Resource;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::client::{Api, Failure, Who};
use super::graph::{Change, Graph, Place};
use super::object::{FOREGROUND, Item, ORPHAN, Owner};
use super::queue::Next;
use super::recorder::Kind;
use super::work::{Context, Controller, Key, Keys, Outcome};

/// The garbage collector.
#[derive(Debug, Default)]
pub(super) struct Collector {
    /// Objects with an owner of an unknown kind; enqueued again when a CustomResourceDefinition changes.
    unresolved: Mutex<Vec<Place>>,
}

const NAME: &str = "generic-garbage-collector";
const WHO: Who<'static> = Who::Controller(NAME);
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The owners of an object, by their state.
#[derive(Debug, Default)]
struct Owners {
    /// Owners that exist and keep the object.
    solid: Vec<Owner>,
    /// Owners that do not exist.
    absent: Vec<Owner>,
    /// Owners in foreground deletion, which wait until the object is gone.
    waiting: Vec<Owner>,
}

/// The state of an owner.
enum Found {
    Solid,
    Absent,
    Waiting,
    /// The kind is not known, perhaps not yet.
    Unknown,
    /// A namespaced object cannot own a cluster-scoped one.
    Impossible,
}

impl Controller for Collector {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        let Change { before, after } = change;
        if change.is_in(DEFINITIONS) {
            for (table, path) in self.unresolved.lock().drain(..) {
                keys.add_path(&table, path);
            }
        }
        let owners = |item: &Arc<Item>| item.meta.owner_references.clone();
        let (old, new) = (
            before.as_ref().map(owners).unwrap_or_default(),
            after.as_ref().map(owners).unwrap_or_default(),
        );
        // Enqueues owners that wait for this object once it is gone or no longer names them.
        for owner in old.iter().filter(|owner| !new.contains(owner)) {
            if let Some(owner) = graph.by_uid(&owner.uid)
                && owner.is_deleting_dependents()
            {
                keys.add(&owner);
            }
        }
        let Some(item) = after else {
            let gone = before.iter();
            for dependent in gone.flat_map(|gone| graph.dependents(&gone.meta.uid)) {
                keys.add(&dependent);
            }
            return;
        };
        let began = |is: fn(&Item) -> bool| is(item) && !before.as_deref().is_some_and(is);
        if !new.is_empty() && new != old || began(Item::is_orphaning) {
            keys.add(item);
        }
        if began(Item::is_deleting_dependents) {
            keys.add(item);
            for dependent in graph.dependents(&item.meta.uid) {
                keys.add(&dependent);
            }
        }
        // The new object may be an owner that was missing, or that was expected in another namespace or of another kind.
        if before.is_none() {
            for dependent in graph.dependents(&item.meta.uid) {
                keys.add(&dependent);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(item) = cx.item(key) else {
                return Ok(Next::Done);
            };
            if item.is_deleting_dependents() {
                return release(cx, &item).await;
            }
            if item.is_orphaning() {
                return orphan(cx, &item).await;
            }
            // Nothing to do but wait while the object is being deleted.
            if item.is_deleting() || item.meta.owner_references.is_empty() {
                return Ok(Next::Done);
            }
            self.collect(cx, &item).await
        }
        .boxed()
    }
}

impl Collector {
    /// Deletes an object that no owner keeps.
    async fn collect(&self, cx: &Context, item: &Item) -> Outcome {
        let mut owners = Owners::default();
        for owner in &item.meta.owner_references {
            match find(cx, item, owner) {
                Found::Solid => owners.solid.push(owner.clone()),
                Found::Absent => owners.absent.push(owner.clone()),
                Found::Waiting => owners.waiting.push(owner.clone()),
                Found::Unknown => {
                    let place = (item.table.clone(), item.object.path.clone());
                    let mut unresolved = self.unresolved.lock();
                    if !unresolved.contains(&place) {
                        unresolved.push(place);
                    }
                    return Ok(Next::Failed);
                }
                Found::Impossible => {
                    report_namespace(cx, item, owner).await;
                    return Ok(Next::Done);
                }
            }
        }
        for owner in &owners.absent {
            report_namespace(cx, item, owner).await;
        }
        let Owners {
            solid,
            absent,
            waiting,
        } = owners;
        if !solid.is_empty() {
            if absent.is_empty() && waiting.is_empty() {
                return Ok(Next::Done);
            }
            return set_owners(cx, item, &solid).await;
        }
        let mut policy = "Background";
        if waiting.is_empty() {
            if item.has_finalizer(ORPHAN) {
                policy = "Orphan";
            } else if item.has_finalizer(FOREGROUND) {
                policy = "Foreground";
            }
        } else {
            let dependents = cx.look(|graph| graph.dependents(&item.meta.uid));
            if !dependents.is_empty() {
                policy = "Foreground";
                // Objects that own each other would wait for each other for ever.
                let circle = dependents.iter().any(|item| item.is_deleting_dependents());
                if circle
                    && item
                        .meta
                        .owner_references
                        .iter()
                        .any(|o| o.block_owner_deletion)
                {
                    let mut freed = item.meta.owner_references.clone();
                    for owner in &mut freed {
                        owner.block_owner_deletion = false;
                    }
                    set_owners(cx, item, &freed).await?;
                    // The change brings it here again.
                    return Ok(Next::Done);
                }
            }
        }
        let options = json!({
            "propagationPolicy": policy,
            "preconditions": {
                "uid": item.meta.uid,
                "resourceVersion": item.object.revision.to_string(),
            },
        });
        cx.client.delete(WHO, &path(cx, item)?, &options).await?;
        Ok(Next::Done)
    }
}

/// Lets an object go that waits for what it owns, once nothing is left that holds it up.
async fn release(cx: &Context, item: &Item) -> Outcome {
    let uid = &item.meta.uid;
    let holds_up = |dependent: &Arc<Item>| {
        let owners = &dependent.meta.owner_references;
        owners
            .iter()
            .any(|owner| owner.uid == *uid && owner.block_owner_deletion)
    };
    if cx.look(|graph| graph.dependents(uid).iter().any(holds_up)) {
        return Ok(Next::Done);
    }
    remove_finalizer(cx, item, FOREGROUND).await
}

/// Takes an object out of everything that it owns, then lets it go.
async fn orphan(cx: &Context, item: &Item) -> Outcome {
    let uid = &item.meta.uid;
    for dependent in cx.look(|graph| graph.dependents(uid)) {
        let mut owners = dependent.meta.owner_references.clone();
        owners.retain(|owner| owner.uid != *uid);
        set_owners(cx, &dependent, &owners).await?;
    }
    remove_finalizer(cx, item, ORPHAN).await
}

async fn remove_finalizer(cx: &Context, item: &Item, name: &str) -> Outcome {
    let mut finalizers = item.meta.finalizers.clone();
    finalizers.retain(|known| known != name);
    change(cx, item, json!({"finalizers": finalizers})).await
}

async fn set_owners(cx: &Context, item: &Item, owners: &[Owner]) -> Outcome {
    let uids: Vec<&String> = owners.iter().map(|owner| &owner.uid).collect();
    // The references as they are written, with everything that they say.
    let mut references = item.object.value()["metadata"]["ownerReferences"].take();
    if let Value::Array(references) = &mut references {
        references.retain(|reference| uids.iter().any(|uid| reference["uid"] == **uid));
        for (reference, owner) in references.iter_mut().zip(owners) {
            if !owner.block_owner_deletion && reference["blockOwnerDeletion"] == true {
                reference["blockOwnerDeletion"] = false.into();
            }
        }
    }
    change(cx, item, json!({"ownerReferences": references})).await
}

/// Changes the metadata of an object that is still what it was.
async fn change(cx: &Context, item: &Item, mut metadata: Value) -> Outcome {
    metadata["uid"] = item.meta.uid.as_str().into();
    metadata["resourceVersion"] = item.object.revision.to_string().into();
    let patch = json!({"metadata": metadata});
    match cx.client.merge(WHO, &path(cx, item)?, &patch).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(Next::Done),
    }
}

/// Looks up the owner of an object: in the object's namespace, with the UID of the owner reference.
fn find(cx: &Context, item: &Item, owner: &Owner) -> Found {
    let Some(resource) = resource(cx, &owner.api_version, &owner.kind) else {
        return Found::Unknown;
    };
    let namespace = item.namespace();
    if resource.namespaced && namespace.is_empty() {
        return Found::Impossible;
    }
    let path = if resource.namespaced {
        format!("{namespace}/{}", owner.name)
    } else {
        owner.name.clone()
    };
    let table = qualified(&resource.plural, &resource.storage.0);
    let Some(object) = cx.store.get(&table, &path) else {
        return Found::Absent;
    };
    let found = Item::new(&Arc::from(table), object);
    if found.meta.uid != owner.uid {
        return Found::Absent;
    }
    if found.is_deleting_dependents() {
        Found::Waiting
    } else {
        Found::Solid
    }
}

/// Tells of an owner that is where it cannot own the object.
async fn report_namespace(cx: &Context, item: &Item, owner: &Owner) {
    let Some(there) = cx.look(|graph| graph.by_uid(&owner.uid)) else {
        return;
    };
    let namespace = item.namespace();
    if there.namespace().is_empty() || there.namespace() == namespace {
        return;
    }
    let Owner {
        api_version,
        kind,
        name,
        uid,
        ..
    } = owner;
    let message = format!(
        "ownerRef [{api_version}/{kind}, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in namespace \
         \"{namespace}\""
    );
    let object = item.object.value();
    let reason = "OwnerRefInvalidNamespace";
    cx.tell(NAME, &object, Kind::Warning, reason, &message)
        .await;
}

fn path(cx: &Context, item: &Item) -> Result<String, Failure> {
    let resource = resource(cx, &item.api_version, &item.kind).ok_or_else(|| {
        let (version, kind) = (&item.api_version, &item.kind);
        Failure::own(format!("no resource has objects of {version}, Kind={kind}"))
    })?;
    Ok(Api::of(&resource).path(item.namespace(), item.name()))
}

/// The resource whose objects are of a kind.
fn resource(cx: &Context, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
    };
    cx.served.now().by_kind(&kind)
}
