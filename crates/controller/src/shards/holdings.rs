//! Which shards this replica holds, as the workers of its controller see it.

use std::fmt;
use std::sync::Arc;

use tokio::sync::Notify;
use tokio::time::Instant;

use super::hash::shard_of;
use crate::election::Leadership;
use crate::sync::{Mutex, locked};
use crate::{Key, LeaderGuard};

/// The shards of a controller.
pub(crate) struct Holdings {
    shards: Mutex<Vec<Shard>>,
    /// A shard that is not open has no reconcile at work any more.
    idle: Notify,
}

struct Shard {
    /// Whether reconciles begin.
    is_open: bool,
    working: usize,
    leadership: Leadership,
}

/// A reconcile of an object in a shard that is held.
pub(crate) struct Turn {
    holdings: Arc<Holdings>,
    shard: usize,
    guard: LeaderGuard,
}

/// What has come and gone.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Moved {
    pub(crate) opened: Vec<usize>,
    pub(crate) closed: Vec<usize>,
}

impl Holdings {
    pub(crate) fn new(count: usize) -> Self {
        let shard = || Shard {
            is_open: false,
            working: 0,
            leadership: Leadership::of_shard(),
        };
        Self {
            shards: Mutex::new(std::iter::repeat_with(shard).take(count).collect()),
            idle: Notify::new(),
        }
    }

    pub(crate) fn count(&self) -> usize {
        locked(self.shards.lock()).len()
    }

    /// How many it holds, those included that it is about to give away.
    pub(crate) fn held(&self) -> usize {
        let shards = locked(self.shards.lock());
        let is_held = |shard: &&Shard| shard.leadership.guard().is_leader();
        shards.iter().filter(is_held).count()
    }

    /// The shard of an object.
    pub(crate) fn shard(&self, key: &Key) -> usize {
        shard_of(key, self.count())
    }

    /// Whether reconciles of an object begin here.
    pub(crate) fn is_open(&self, key: &Key) -> bool {
        let shards = locked(self.shards.lock());
        let shard = shards.get(shard_of(key, shards.len()));
        shard.is_some_and(|shard| shard.is_open)
    }

    pub(crate) fn is_busy(&self, shard: usize) -> bool {
        let shards = locked(self.shards.lock());
        shards.get(shard).is_some_and(|shard| shard.working > 0)
    }

    /// Begins a reconcile of an object, if its shard is held.
    pub(crate) fn begin(self: &Arc<Self>, key: &Key) -> Option<Turn> {
        let mut shards = locked(self.shards.lock());
        let number = shard_of(key, shards.len());
        let shard = shards.get_mut(number).filter(|shard| shard.is_open)?;
        let guard = shard.leadership.guard();
        if !guard.is_leader() {
            // Its objects are looked through when it is held again.
            shard.is_open = false;
            return None;
        }
        shard.working += 1;
        Some(Turn {
            holdings: Arc::clone(self),
            shard: number,
            guard,
        })
    }

    /// Sets which shards are open, and until when each is held.
    pub(crate) fn set(
        &self,
        is_open: impl Fn(usize) -> bool,
        held_until: impl Fn(usize) -> Option<Instant>,
    ) -> Moved {
        let mut moved = Moved::default();
        for (number, shard) in locked(self.shards.lock()).iter_mut().enumerate() {
            shard.leadership.set(held_until(number));
            let was_open = std::mem::replace(&mut shard.is_open, is_open(number));
            match (was_open, shard.is_open) {
                (false, true) => moved.opened.push(number),
                (true, false) => moved.closed.push(number),
                _ => {}
            }
        }
        moved
    }

    /// Waits until the last reconcile in a shard that is not open any more has ended.
    pub(crate) async fn idle(&self) {
        self.idle.notified().await;
    }
}

impl Turn {
    /// Does the work of a reconcile, whose handles write only while the shard is held; `None`: it is lost, and what was not done is
    /// left to its next holder.
    pub(crate) async fn hold<T>(&self, reconcile: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.guard.lost() => None,
            done = self.guard.clone().bind(reconcile) => Some(done),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut shards = locked(self.holdings.shards.lock());
        if let Some(shard) = shards.get_mut(self.shard) {
            shard.working -= 1;
            if shard.working == 0 && !shard.is_open {
                self.holdings.idle.notify_one();
            }
        }
    }
}

impl Moved {
    pub(crate) fn is_empty(&self) -> bool {
        self.opened.is_empty() && self.closed.is_empty()
    }
}

impl fmt::Debug for Holdings {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Holdings")
            .field("count", &self.count())
            .field("held", &self.held())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn held(count: usize) -> Arc<Holdings> {
        let holdings = Arc::new(Holdings::new(count));
        holdings.set(|_| true, |_| Some(Instant::now() + Duration::from_secs(10)));
        holdings
    }

    fn key() -> Key {
        Key::new(Some("blue"), "web")
    }

    #[tokio::test(start_paused = true)]
    async fn a_shard_that_is_drained_finishes_what_it_has_begun_and_begins_nothing() {
        let holdings = held(1);
        let turn = holdings.begin(&key()).unwrap();
        let until = Some(Instant::now() + Duration::from_secs(10));
        let moved = holdings.set(|_| false, |_| until);
        assert_eq!(moved.closed, [0]);
        assert!(holdings.is_busy(0) && holdings.begin(&key()).is_none());
        assert_eq!(turn.hold(async { 7 }).await, Some(7));
        drop(turn);
        holdings.idle().await;
        assert!(!holdings.is_busy(0));
    }

    #[tokio::test(start_paused = true)]
    async fn a_reconcile_in_a_shard_that_is_lost_is_cut_and_writes_nothing() {
        let holdings = held(1);
        let turn = holdings.begin(&key()).unwrap();
        let reconcile = async {
            assert!(LeaderGuard::check().is_ok());
            // The thread was busy with something else until the shard was lost.
            tokio::time::advance(Duration::from_secs(10)).await;
            assert_eq!(
                LeaderGuard::check().unwrap_err().to_string(),
                "this replica has lost the shard of the object: only its holder writes"
            );
            std::future::pending::<()>().await;
        };
        assert_eq!(turn.hold(reconcile).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_shard_that_was_not_renewed_in_time_counts_as_new_when_it_is_held_again() {
        let holdings = held(1);
        tokio::time::advance(Duration::from_secs(10)).await;
        assert!(holdings.begin(&key()).is_none());
        let until = Some(Instant::now() + Duration::from_secs(10));
        assert_eq!(holdings.set(|_| true, |_| until).opened, [0]);
    }
}
