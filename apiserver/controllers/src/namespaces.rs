//! Deletion of namespaces: deletes the contents of a namespace, reports in its status what remains, and then removes its
//! finalizer.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::status::qualified;
use kubewright_registry::{Resource, Verb};
use kubewright_storage::{At, Object};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::aggregated::{self, discover};
use super::client::{Api, Failure, Who};
use super::graph::{Change, Graph};
use super::object::{Item, number, text};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};

/// The namespace controller.
#[derive(Debug, Default)]
pub(super) struct Namespaces {
    /// Namespaces that are being deleted.
    ending: Mutex<HashSet<String>>,
}

const TABLE: &str = "namespaces";
const WHO: Who<'static> = Who::Controller("namespace-controller");
/// How soon objects of other API servers are looked for again.
const AGAIN: Duration = Duration::from_secs(8);
const NAMESPACES: Api = Api::of_cluster("namespaces");

/// The remaining contents of a namespace.
#[derive(Debug, Default)]
struct Left {
    /// Number of objects, by resource.
    objects: BTreeMap<String, usize>,
    /// Number of objects that wait for each finalizer.
    finalizers: BTreeMap<String, usize>,
    failures: Vec<String>,
    /// Why not all resources are known.
    undiscovered: Option<String>,
    /// Whether objects remain of whose deletion this server learns nothing.
    elsewhere: bool,
}

impl Controller for Namespaces {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        let Some(item) = change.item() else {
            return;
        };
        let mut ending = self.ending.lock();
        if change.is_in(aggregated::TABLE) {
            let table = Arc::from(TABLE);
            for name in ending.iter() {
                keys.add_path(&table, name.clone());
            }
        } else if change.is_in(TABLE) {
            if change.after.as_ref().is_some_and(|it| it.is_deleting()) {
                ending.insert(item.name().to_owned());
                keys.add(item);
            } else {
                ending.remove(item.name());
            }
        } else if ending.contains(item.namespace()) && matters(change) {
            keys.add_path(&Arc::from(TABLE), item.namespace().to_owned());
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            match cx.item(key) {
                Some(namespace) if namespace.is_deleting() => end(cx, &namespace).await,
                _ => Ok(Next::Done),
            }
        }
        .boxed()
    }
}

/// Whether a change of an object can complete the deletion of its namespace or change the namespace's status.
fn matters(change: &Change) -> bool {
    match (&change.before, &change.after) {
        (Some(before), Some(after)) => {
            before.is_deleting() != after.is_deleting()
                || before.meta.finalizers != after.meta.finalizers
        }
        _ => true,
    }
}

async fn end(cx: &Context, namespace: &Item) -> Outcome {
    let mut object = namespace.object.value();
    if super::object::list(&object, "/spec/finalizers").is_empty() {
        return Ok(Next::Done);
    }
    let left = empty(cx, namespace).await?;
    let conditions = left.conditions(cx, &object);
    if object["status"]["conditions"] != conditions {
        object["status"]["conditions"] = conditions;
        object = cx.client.update_status(WHO, &NAMESPACES, &object).await?;
    }
    if let Some(why) = left.undiscovered {
        return Err(Failure::own(why));
    }
    if !left.failures.is_empty() {
        return Err(Failure::own(left.failures.join(", ")));
    }
    if left.elsewhere {
        return Ok(Next::After(AGAIN));
    }
    if !left.is_empty() {
        // Each deleted object enqueues the namespace again.
        return Ok(Next::Done);
    }
    if let Some(Value::Array(finalizers)) = object.pointer_mut("/spec/finalizers") {
        finalizers.retain(|name| name != "kubernetes");
    }
    let path = format!("{}/finalize", NAMESPACES.path("", namespace.name()));
    match cx.client.put(WHO, &path, &object).await {
        Err(failure) if !failure.is_not_found() => Err(failure),
        _ => Ok(Next::Done),
    }
}

/// Deletes the contents of a namespace: the pods first, and the other objects once the pods are gone.
async fn empty(cx: &Context, namespace: &Item) -> Result<Left, Failure> {
    let mut left = Left::default();
    let registry = cx.served.now();
    let mut tables: BTreeMap<String, Arc<Resource>> = BTreeMap::new();
    for resource in registry.all() {
        if resource.namespaced && resource.allows(Verb::Delete) && resource.allows(Verb::List) {
            let (group, version) = &resource.storage;
            let storage = registry.find(group, version, &resource.plural);
            let storage = storage.unwrap_or_else(|| resource.clone());
            tables
                .entry(qualified(&storage.plural, &storage.group))
                .or_insert(storage);
        }
    }
    if let Some(pods) = tables.remove("pods") {
        delete_all(cx, namespace, &pods, &mut left).await;
        if !left.objects.is_empty() {
            // As in the real controller, the status does not report the pods that are deleted first.
            left.silent();
            return Ok(left);
        }
    }
    for resource in tables.values() {
        delete_all(cx, namespace, resource, &mut left).await;
    }
    delete_elsewhere(cx, namespace, &mut left).await;
    Ok(left)
}

/// Deletes the objects of aggregated API servers, and notes what is left of them.
async fn delete_elsewhere(cx: &Context, namespace: &Item, left: &mut Left) {
    let found = discover(cx, WHO).await;
    left.undiscovered = found.failure();
    for resource in &found.resources {
        match resource.delete_all(cx, WHO, namespace.name()).await {
            Ok(remaining) if remaining.is_empty() => {}
            Ok(remaining) => {
                left.elsewhere = true;
                left.objects.insert(resource.name(), remaining.len());
                let finalizers = remaining
                    .iter()
                    .flat_map(|object| super::object::list(object, "/metadata/finalizers"));
                for finalizer in finalizers.filter_map(Value::as_str) {
                    *left.finalizers.entry(finalizer.to_owned()).or_default() += 1;
                }
            }
            Err(failure) => left.failures.push(failure.to_string()),
        }
    }
}

/// Deletes the objects of one resource, and notes what is left of them.
async fn delete_all(cx: &Context, namespace: &Item, resource: &Resource, left: &mut Left) {
    let table = qualified(&resource.plural, &resource.group);
    let there = || -> Vec<Arc<Object>> {
        let listed = cx
            .store
            .list(&table, namespace.name(), "", usize::MAX, At::Now);
        listed.map(|listed| listed.objects).unwrap_or_default()
    };
    let before = there();
    if before.is_empty() {
        return;
    }
    let name: Arc<str> = Arc::from(table.as_str());
    let is_deleting = |object: &Arc<Object>| Item::new(&name, object.clone()).is_deleting();
    if !before.iter().all(is_deleting)
        && let Err(failure) = delete(cx, namespace.name(), resource, &before).await
    {
        left.failures.push(failure.to_string());
    }
    let after = there();
    if after.is_empty() {
        return;
    }
    let group = format!("{}.{}", resource.plural, resource.group);
    left.objects.insert(group, after.len());
    let mut waits = resource.plural == "pods" && grace(cx, namespace, &before);
    for object in &after {
        for finalizer in Item::new(&name, object.clone()).meta.finalizers {
            *left.finalizers.entry(finalizer).or_default() += 1;
            waits = true;
        }
    }
    if !waits && left.failures.is_empty() {
        left.failures.push(format!(
            "unexpected items still remain in namespace: {} for gvr: {}/{}, Resource={}",
            namespace.name(),
            resource.group,
            resource.version,
            resource.plural,
        ));
    }
}

/// Whether pods may still be ending within their grace periods.
fn grace(cx: &Context, namespace: &Item, pods: &[Arc<Object>]) -> bool {
    let periods = pods.iter().map(|pod| {
        let pod = pod.value();
        let ended = matches!(text(&pod, "/status/phase"), "Succeeded" | "Failed");
        if ended {
            0
        } else {
            number(&pod, "/spec/terminationGracePeriodSeconds")
        }
    });
    let longest = periods.max().unwrap_or_default();
    let since = namespace.meta.deletion_timestamp.as_deref();
    !cx.clock.until(since.unwrap_or_default(), longest).is_zero()
}

async fn delete(
    cx: &Context,
    namespace: &str,
    resource: &Resource,
    objects: &[Arc<Object>],
) -> Result<(), Failure> {
    let api = Api::of(resource);
    let options = json!({"propagationPolicy": "Background"});
    if resource.allows(Verb::DeleteCollection) {
        let path = api.path(namespace, "");
        return cx.client.delete(WHO, &path, &options).await;
    }
    for object in objects {
        let path = api.path(namespace, object.name());
        cx.client.delete(WHO, &path, &options).await?;
    }
    Ok(())
}

impl Left {
    fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Keeps the fact that objects remain, without their numbers.
    fn silent(&mut self) {
        for count in self
            .objects
            .values_mut()
            .chain(self.finalizers.values_mut())
        {
            *count = 0;
        }
    }

    /// The conditions of the namespace, those that hold as they stood before.
    fn conditions(&self, cx: &Context, namespace: &Value) -> Value {
        let old = super::object::list(namespace, "/status/conditions");
        let mut conditions = old.to_vec();
        for new in self.said(&cx.clock.text()) {
            let same = conditions
                .iter_mut()
                .find(|condition| condition["type"] == new["type"]);
            let Some(condition) = same else {
                conditions.push(new);
                continue;
            };
            let mut new = new;
            if condition["status"] == new["status"] {
                new["lastTransitionTime"] = condition["lastTransitionTime"].clone();
            }
            *condition = new;
        }
        Value::Array(conditions)
    }

    fn said(&self, now: &str) -> Vec<Value> {
        let counted = |counts: &BTreeMap<String, usize>, word: &str| {
            let counts = counts.iter().filter(|(_, count)| **count > 0);
            let mut parts: Vec<String> = counts
                .map(|(name, count)| format!("{name} {word} {count} resource instances"))
                .collect();
            parts.sort();
            parts.join(", ")
        };
        let mut failures = self.failures.clone();
        failures.sort();
        let count = failures.len();
        let failures = failures.join(", ");
        let objects = counted(&self.objects, "has");
        let finalizers = counted(&self.finalizers, "in");
        [
            (
                "NamespaceDeletionDiscoveryFailure",
                self.undiscovered
                    .clone()
                    .map(|why| ("DiscoveryFailed", why)),
                (
                    "ResourcesDiscovered",
                    "All resources successfully discovered",
                ),
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                None,
                (
                    "ParsedGroupVersions",
                    "All legacy kube types successfully parsed",
                ),
            ),
            (
                "NamespaceDeletionContentFailure",
                (count > 0).then(|| {
                    let why = format!(
                        "Failed to delete all resource types, {count} remaining: {failures}"
                    );
                    ("ContentDeletionFailed", why)
                }),
                (
                    "ContentDeleted",
                    "All content successfully deleted, may be waiting on finalization",
                ),
            ),
            (
                "NamespaceContentRemaining",
                (!objects.is_empty()).then(|| {
                    (
                        "SomeResourcesRemain",
                        format!("Some resources are remaining: {objects}"),
                    )
                }),
                ("ContentRemoved", "All content successfully removed"),
            ),
            (
                "NamespaceFinalizersRemaining",
                (!finalizers.is_empty()).then(|| {
                    let why = format!(
                        "Some content in the namespace has finalizers remaining: {finalizers}"
                    );
                    ("SomeFinalizersRemain", why)
                }),
                (
                    "ContentHasNoFinalizers",
                    "All content-preserving finalizers finished",
                ),
            ),
        ]
        .into_iter()
        .map(|(what, trouble, (reason, message))| {
            let (is, reason, message) = match trouble {
                Some((reason, message)) => ("True", reason, message),
                None => ("False", reason, message.to_owned()),
            };
            json!({
                "type": what,
                "status": is,
                "reason": reason,
                "message": message,
                "lastTransitionTime": now,
            })
        })
        .collect()
    }
}
