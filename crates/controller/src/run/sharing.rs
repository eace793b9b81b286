//! A controller whose replicas share its objects: which of them are reconciled here.

use std::sync::Arc;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::{Engine, Work};
use crate::informer::Origin;
use crate::queue::Priority;
use crate::shards::{Moved, Site, Turn};
use crate::{AnyObject, Key};

/// Another replica is to reconcile the object.
pub(super) struct NotHeld;

impl<K: AnyObject> Engine<K> {
    /// Holds a share of the objects until the other end of the channel is dropped and the last reconcile has ended.
    pub(super) async fn share(&self, work: &Arc<Work<K>>, leaving: oneshot::Receiver<()>) {
        let leaving = async { drop(leaving.await) };
        let sharing = self.controller.sharding.as_ref();
        let (election, holdings) = (self.shared_by.as_ref(), self.holdings.as_ref());
        // The informers have synced, so that there is a client.
        let (Some(sharing), Some((election, holdings)), Some(client)) =
            (sharing, election.zip(holdings), self.informers.client())
        else {
            return leaving.await;
        };
        let site = Site {
            election,
            controller: &self.controller.name,
            kind: self.objects.kind(),
            holdings,
            client,
        };
        (sharing.share())(site, Box::pin(leaving), &|moved| work.moves(moved)).await;
    }
}

impl<K: AnyObject> Work<K> {
    /// Begins a reconcile of an object, if this replica is to reconcile it.
    pub(super) fn turn(&self, key: &Key) -> Result<Option<Turn>, NotHeld> {
        match &self.holdings {
            None => Ok(None),
            Some(holdings) => holdings.begin(key).map(Some).ok_or(NotHeld),
        }
    }

    /// Forgets the objects among these that other replicas are to reconcile.
    pub(super) fn forget_others(&self, is_meant: impl Fn(&Key) -> bool) {
        let Some(holdings) = &self.holdings else {
            return;
        };
        let is_other = |key: &Key| is_meant(key) && !holdings.is_open(key);
        self.queue.forget(is_other);
        self.failures.retain(|key| !is_other(key));
    }

    /// Reconciles every object in the shards that are won, as after the first list, and forgets those in the shards that are lost.
    fn moves(&self, moved: &Moved) {
        let Some(holdings) = &self.holdings else {
            return;
        };
        if !moved.closed.is_empty() {
            self.forget_others(|_| true);
        }
        if !moved.opened.is_empty() {
            let is_won = |key: &Key| moved.opened.contains(&holdings.shard(key));
            for entry in self.objects.select(is_won) {
                self.heed_triggered(entry, Origin::Snapshot);
            }
            // What owners have left that are gone is collected by the replica that has their shard.
            let owners = self.controller.collector.iter();
            let owners = owners.flat_map(|collector| collector.owners());
            for owner in owners.filter(is_won) {
                self.queue.add(&owner, Priority::LOW, Instant::now());
            }
        }
    }
}
