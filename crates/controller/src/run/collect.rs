//! What a controller does for what its objects own by label, after each reconcile.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Work;
use super::end::End;
use crate::informer::Entry;
use crate::ownership::{Collects, Owner};
use crate::queue::Priority;
use crate::{Action, AnyObject, Error, Key};

impl<K: AnyObject> Work<K> {
    /// Collects what is to be collected after a reconcile.
    pub(super) async fn collect(&self, collector: &dyn Collects, entry: &Entry, end: End) -> End {
        let has_succeeded = matches!(end, End::Done(_));
        let owner = self.owner(entry.key());
        match (collector.after(owner, entry, has_succeeded).await, end) {
            (Ok(false), End::Done(action)) => {
                let pause = action.after().map_or(PAUSE, |after| after.min(PAUSE));
                End::Done(Action::requeue_after(pause))
            }
            (Err(error), End::Done(_)) => End::of_error(&Error::from(error)),
            // The failure of the reconcile is reported, and all of this is tried again.
            (_, end) => end,
        }
    }

    /// Collects what an object owned that the cache does not have.
    pub(super) async fn collect_for_gone(&self, key: &Key) -> End {
        // While their kind is not served, all owners are missing, which proves nothing.
        let is_known = self.objects.is_served() && self.objects.scope().admits(key);
        match &self.controller.collector {
            Some(collector) if is_known => match collector.for_gone(self.owner(key)).await {
                Ok(()) => End::Gone,
                Err(error) => End::of_error(&Error::from(error)),
            },
            _ => End::Gone,
        }
    }

    /// Has the owners looked at that are gone after each list: while their kind was not served, they could not be.
    pub(super) async fn look_after_owners(self: Arc<Self>, mut lists: watch::Receiver<u64>) {
        while lists.changed().await.is_ok() {
            let owners = self.controller.collector.iter();
            for owner in owners.flat_map(|collector| collector.owners()) {
                self.queue.add(&owner, Priority::LOW, Instant::now());
            }
        }
    }

    fn owner<'a>(&'a self, key: &'a Key) -> Owner<'a> {
        Owner {
            kind: &self.kind,
            key,
        }
    }
}

/// What is owned and takes its time to go tells of its end by an event. This is for one that no event tells of.
const PAUSE: Duration = Duration::from_secs(10);
