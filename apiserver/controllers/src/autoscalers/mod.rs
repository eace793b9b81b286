//! HorizontalPodAutoscalers: every fifteen seconds, the replicas of a target follow its metrics.

mod annotations;
mod calculator;
mod limits;
mod pods;
mod sources;
mod status;
mod synchronization;
mod target;
#[cfg(test)]
mod tests;
mod tolerances;

use std::collections::BTreeMap;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use kubewright_apimachinery::selectors::Labels;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::time::Duration;

use super::client::{AUTOSCALERS, Who};
use super::graph::{Change, Graph};
use super::object::{Item, number};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};
use limits::History;
use synchronization::Synchronization;
use target::NAME;

/// The controller of autoscalers.
#[derive(Debug, Default)]
pub(super) struct Autoscalers {
    /// By the paths of the autoscalers.
    known: Mutex<BTreeMap<String, Known>>,
}

/// What the controller remembers of an autoscaler.
#[derive(Debug, Default)]
struct Known {
    history: History,
    /// The selector of the target, once it was read.
    selector: Option<Labels>,
}

const TABLE: &str = "horizontalpodautoscalers.autoscaling";

/// The time between two synchronizations (`--horizontal-pod-autoscaler-sync-period`).
const PERIOD: Duration = Duration::from_secs(15);

impl Controller for Autoscalers {
    fn concerns(&self, change: &Change, _: &Graph, keys: &mut Keys<'_>) {
        if !change.is_in(TABLE) {
            return;
        }
        let Some(after) = &change.after else {
            if let Some(gone) = &change.before {
                self.known.lock().remove(&gone.object.path);
            }
            return;
        };
        let generation = |item: &Item| number(&item.object.value(), "/metadata/generation");
        let before = change.before.as_deref();
        // A change of the status waits for its turn: most are the controller's own.
        if before.is_none_or(|before| generation(before) != generation(after)) {
            self.known
                .lock()
                .entry(after.object.path.clone())
                .or_default();
            keys.add(after);
        }
    }

    fn reconcile<'a>(&'a self, cx: &'a Context, key: &'a Key) -> BoxFuture<'a, Outcome> {
        async move {
            let Some(item) = cx.item(key) else {
                return Ok(Next::Done);
            };
            self.synchronize(cx, &item).await;
            Ok(Next::After(PERIOD))
        }
        .boxed()
    }
}

impl Autoscalers {
    async fn synchronize(&self, cx: &Context, item: &Item) {
        let mut autoscaler = item.object.value();
        let synchronization = Synchronization::new(self, cx, &item.object.path, &autoscaler);
        let (status, events) = synchronization.run().await;
        for event in events {
            cx.tell(NAME, &autoscaler, event.kind, event.reason, &event.message)
                .await;
        }
        if autoscaler["status"] == status {
            return;
        }
        autoscaler["status"] = status;
        let who = Who::Controller(NAME);
        if let Err(failure) = cx
            .client
            .update_status(who, &AUTOSCALERS, &autoscaler)
            .await
        {
            // The next synchronization is the next try.
            tracing::debug!(autoscaler = item.name(), %failure, "the status is not written");
        }
    }

    /// Changes what is remembered of an autoscaler; nothing of one that is gone.
    fn remember<T>(&self, path: &str, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.known.lock().get_mut(path).map(change)
    }

    /// The names of autoscalers of a namespace whose targets have some of these pods.
    fn selecting(&self, namespace: &str, pods: &[Value]) -> Vec<String> {
        let known = self.known.lock();
        let prefix = format!("{namespace}/");
        let all = known.range(prefix.clone()..).map_while(|(path, known)| {
            let name = path.strip_prefix(&prefix)?;
            Some((name, known.selector.as_ref()))
        });
        all.filter(|(_, selector)| {
            selector.is_some_and(|selector| pods.iter().any(|pod| selector.matches_object(pod)))
        })
        .map(|(name, _)| name.to_owned())
        .collect()
    }
}
