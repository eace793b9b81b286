//! HorizontalPodAutoscalers: every fifteen seconds, the replicas of a target follow its metrics.

mod annotations;
mod calculator;
mod limits;
mod memory;
mod pods;
mod sources;
mod status;
mod synchronization;
mod target;
#[cfg(test)]
mod tests;
mod tolerances;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use tokio::time::Duration;

use super::client::{AUTOSCALERS, Who};
use super::graph::{Change, Graph};
use super::object::{Item, number};
use super::queue::Next;
use super::work::{Context, Controller, Key, Keys, Outcome};
use memory::Memory;
use synchronization::Synchronization;
use target::NAME;

/// The controller of autoscalers.
#[derive(Debug, Default)]
pub(super) struct Autoscalers {
    memory: Memory,
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
                self.memory.remove(&gone.object.path);
            }
            return;
        };
        let generation = |item: &Item| number(&item.object.value(), "/metadata/generation");
        let before = change.before.as_deref();
        // A change of the status waits for its turn: most are the controller's own.
        if before.is_none_or(|before| generation(before) != generation(after)) {
            self.memory.add(&after.object.path);
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
        let synchronization =
            Synchronization::new(&self.memory, cx, &item.object.path, &autoscaler);
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
}
