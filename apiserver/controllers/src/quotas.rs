//! Quotas: what the objects of a namespace use is counted when a quota changes, and when one of them goes.

use futures::FutureExt as _;
use futures::future::BoxFuture;
use jiff::Timestamp;
use kubewright_apimachinery::status::qualified;
use kubewright_apimachinery::view::View as _;
use kubewright_quota::{Evaluator, Objects, Quota, ResourceList, is_replenished, usage};
use kubewright_registry::Verb;
use kubewright_storage::At;
use serde_json::{Value, json};
use tokio::time::Duration;

use super::client::{Api, Who};
use super::graph::{Change, Graph};
use super::object::Item;
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};

/// The controller of quotas.
#[derive(Debug)]
pub(super) struct Quotas;

const TABLE: &str = "resourcequotas";
const WHO: Who<'static> = Who::Controller("resourcequota-controller");

/// What admission has charged for a request that failed afterwards is given back by then.
const RESYNC_PERIOD: Duration = Duration::from_mins(5);

impl Controller for Quotas {
    fn concerns(&self, change: &Change, graph: &Graph, keys: &mut Keys<'_>) {
        if change.is_in(TABLE)
            && let Some(quota) = &change.after
        {
            let object = quota.object.value();
            // A client may have written the status: it is put right at once.
            if *Quota::of(&object).hard() != ResourceList::of(object.at("spec"), "hard") {
                keys.add(quota);
            }
        }
        // New objects are charged by admission.
        let Some(before) = &change.before else {
            return;
        };
        if before.namespace().is_empty() {
            return;
        }
        let quotas = graph.list(TABLE, before.namespace());
        if quotas.is_empty() {
            return;
        }
        let (plural, group) = before.table.split_once('.').unwrap_or((&before.table, ""));
        let after = change.after.as_ref().map(|item| item.object.value());
        let before = before.object.value();
        if !is_replenished(group, plural, &before, after.as_ref(), Timestamp::now()) {
            return;
        }
        let evaluator = Evaluator::of(group, plural);
        for quota in quotas {
            let counted = Quota::of(&quota.object.value());
            if !evaluator.matching(counted.hard().names()).is_empty() {
                keys.add(&quota);
            }
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(item) = cx.item(key) else {
                return Ok(Next::Done);
            };
            count(cx, &item).await?;
            Ok(Next::After(RESYNC_PERIOD))
        }
        .boxed()
    }
}

/// Writes what is allowed and used into the status of a quota.
async fn count(cx: &Context, item: &Item) -> Outcome {
    let mut object = item.object.value();
    let quota = Quota::of(&object);
    let hard = ResourceList::of(object.at("spec"), "hard");
    let namespace = Namespace {
        cx,
        name: item.namespace(),
    };
    // What cannot be counted stays as it was.
    let mut used = quota.used().clone();
    for (name, quantity) in usage(&quota, &hard, &namespace, cx.clock.now()).iter() {
        used.set(name, quantity);
    }
    let names: Vec<String> = hard.names().map(str::to_owned).collect();
    let used = used.masked(&names);
    let status = object.at("status");
    let is_known = status.has("hard") && status.has("used");
    if is_known && *quota.hard() == hard && *quota.used() == used {
        return Ok(Next::Done);
    }
    object["status"] = json!({"hard": hard.to_value(), "used": used.to_value()});
    cx.client
        .update_status(WHO, &Api::core(TABLE), &object)
        .await?;
    Ok(Next::Done)
}

/// The objects of a namespace, as they are in the store now.
struct Namespace<'a> {
    cx: &'a Context,
    name: &'a str,
}

impl Objects for Namespace<'_> {
    fn of(&self, group: &str, plural: &str) -> Option<Vec<Value>> {
        let registry = self.cx.served.now();
        let mut all = registry.all();
        let verbs = [Verb::Create, Verb::List, Verb::Watch, Verb::Delete];
        let resource = all.find(|resource| {
            resource.group == group
                && resource.plural == plural
                && resource.namespaced
                && verbs.iter().all(|verb| resource.serves(*verb))
        })?;
        let table = qualified(&resource.plural, &resource.group);
        let listed = self
            .cx
            .store
            .list(&table, self.name, "", usize::MAX, At::Now);
        let objects = listed.map(|listed| listed.objects).unwrap_or_default();
        Some(objects.iter().map(|object| object.value()).collect())
    }
}
