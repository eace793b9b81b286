//! What a controller does about a change: whether it matters, which objects it concerns, and how urgent they are.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Work;
use super::end::message;
use crate::handles::Undecodable;
use crate::informer::{Delta, Entry, Origin};
use crate::mapping::{Of, Reporter, Updates};
use crate::predicate::Decoded;
use crate::queue::Priority;
use crate::{AnyObject, Key, Kind};

impl<K: AnyObject> Work<K> {
    /// Hears of a change of something. What is left to the users' functions does not hold up the informer.
    pub(super) fn hear(&self, of: Of, delta: &Delta, reporter: &Reporter) {
        if let (Of::Own, None, Some(deleted)) = (of, &delta.new, &delta.old) {
            // The predicate may have no reconcile see the deletion.
            self.failures.remove_terminal(deleted.key());
        }
        let controller = &self.controller;
        let (decided, is_quick) = match of {
            // What it owned by label is left behind if it went without its finalizer.
            Of::Own if delta.new.is_none() && controller.collector.is_some() => (Some(true), true),
            Of::Own => (
                controller.predicate.decide(delta),
                controller.priority.is_none(),
            ),
            Of::Watched(number) => match controller.watches.get(number) {
                Some(watch) => (
                    watch.filter.decide(delta),
                    watch.is_quick && controller.priority.is_none(),
                ),
                None => return,
            },
        };
        match decided {
            Some(false) => {}
            Some(true) if is_quick => self.enqueue(of, delta),
            _ if reporter.passes_on(of, delta) => {}
            _ => self.heed(of, delta),
        }
    }

    /// Calls the users' functions for what was heard.
    pub(super) async fn map(self: Arc<Self>, mut updates: Updates) {
        while let Some((of, delta)) = updates.next().await {
            self.heed(of, &delta);
        }
    }

    /// Enqueues what a change concerns, if it matters.
    pub(super) fn heed(&self, of: Of, delta: &Delta) {
        let Some(entry) = delta.new.as_ref().or(delta.old.as_ref()) else {
            return;
        };
        match of {
            Of::Own => {
                let change = Decoded::new(delta);
                let matches = || self.controller.predicate.matches(&change);
                if self.admits(&self.kind, entry.key(), matches) {
                    let priority = self.priority(urgency(delta), entry.key(), |of| {
                        Ok(change.new_one(Entry::decode::<K>)?.map(of))
                    });
                    self.enqueue_key(entry.key(), priority, Instant::now());
                }
            }
            Of::Watched(number) => {
                let Some(watch) = self.controller.watches.get(number) else {
                    return;
                };
                if self.admits(&watch.kind, entry.key(), || watch.filter.matches(delta)) {
                    self.enqueue(of, delta);
                }
            }
        }
    }

    /// Enqueues the objects that a change concerns.
    fn enqueue(&self, of: Of, delta: &Delta) {
        let watch = match of {
            Of::Own => {
                if let Some(entry) = delta.new.as_ref().or(delta.old.as_ref()) {
                    self.add(entry.key(), urgency(delta), Instant::now());
                }
                return;
            }
            Of::Watched(number) => self.controller.watches.get(number),
        };
        let Some(watch) = watch else { return };
        // The function is the user's: its panic must not end the informer, which other controllers share.
        match catch_unwind(AssertUnwindSafe(|| watch.concerned(&self.kind, delta))) {
            Ok(concerned) => {
                let now = Instant::now();
                for key in concerned {
                    self.add(&key, urgency(delta), now);
                }
            }
            Err(panic) => tracing::error!(
                controller = %self.controller.name, watched = %watch.kind, panic = message(&*panic),
                "the function that maps a change to objects panicked: the change is not heeded"
            ),
        }
    }

    /// Has every object looked at after something watched was listed anew. What a reconcile had made may have been undone
    /// before the list, and then no event tells of either.
    pub(super) async fn look_after_lists(self: Arc<Self>, mut lists: watch::Receiver<u64>) {
        while lists.changed().await.is_ok() {
            let now = Instant::now();
            for entry in self.objects.select(|_| true) {
                self.add(entry.key(), Priority::LOW, now);
                if self.controller.priority.is_some() {
                    // Each object is decoded.
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    /// Enqueues an object of the controller.
    fn add(&self, key: &Key, urgency: Priority, now: Instant) {
        let priority = self.priority(urgency, key, |of| {
            let entry = self.objects.get(key);
            entry.map(|entry| Ok(of(&entry.decode()?))).transpose()
        });
        self.enqueue_key(key, priority, now);
    }

    /// Enqueues an object, unless another replica is to reconcile it.
    fn enqueue_key(&self, key: &Key, priority: Priority, now: Instant) {
        let holdings = self.holdings.as_ref();
        if holdings.is_none_or(|holdings| holdings.is_open(key)) {
            self.queue.add(key, priority, now);
        }
    }

    /// Whether a predicate has a change heeded. The predicate may be the user's: its panic must not end the informer, which
    /// other controllers share, and must not have a change lost.
    fn admits(
        &self,
        kind: &Kind,
        key: &Key,
        matches: impl FnOnce() -> Result<bool, serde_json::Error>,
    ) -> bool {
        match catch_unwind(AssertUnwindSafe(matches)) {
            Ok(Ok(matches)) => matches,
            Ok(Err(error)) => {
                tracing::error!(
                    controller = %self.controller.name, object = kind.reference(key), error = %Undecodable::from(error),
                    "cannot decode an object for the predicate: its change is heeded"
                );
                true
            }
            Err(panic) => {
                tracing::error!(
                    controller = %self.controller.name, object = kind.reference(key), panic = message(&*panic),
                    "the predicate panicked: the change is heeded"
                );
                true
            }
        }
    }

    /// The priority of work on an object: by how urgent that work is and, if there is one, by the user's function, with which
    /// `ask` is called.
    pub(super) fn priority(
        &self,
        urgency: Priority,
        key: &Key,
        ask: impl FnOnce(&dyn Fn(&K) -> i32) -> Result<Option<i32>, serde_json::Error>,
    ) -> Priority {
        let Some(of) = &self.controller.priority else {
            return urgency;
        };
        let (controller, object) = (&*self.controller.name, || self.kind.reference(key));
        match catch_unwind(AssertUnwindSafe(|| ask(of))) {
            Ok(Ok(priority)) => urgency.of(priority.unwrap_or_default()),
            Ok(Err(error)) => {
                tracing::error!(
                    controller, object = object(), error = %Undecodable::from(error),
                    "cannot decode an object for the function that gives it a priority: it is 0"
                );
                urgency
            }
            Err(panic) => {
                tracing::error!(
                    controller,
                    object = object(),
                    panic = message(&*panic),
                    "the function that gives an object a priority panicked: it is 0"
                );
                urgency
            }
        }
    }
}

fn urgency(delta: &Delta) -> Priority {
    match delta.origin {
        Origin::Snapshot => Priority::LOW,
        Origin::Watch => Priority::NORMAL,
    }
}
