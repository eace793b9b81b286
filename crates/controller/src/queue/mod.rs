//! The work queue of a controller.

mod priority;
mod ranks;
mod state;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::hash::Hash;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::rate_limit::Bucket;
use crate::sync::{self, Mutex, locked};
pub(crate) use priority::Priority;
pub(crate) use state::Back;
use state::{Glance, Load, Next};

/// Keys that wait for their reconcile.
pub(crate) struct Queue<K> {
    order: state::Queue<K, Instant>,
    /// How many are given out in a time, if that is limited.
    limit: Option<Arc<Mutex<Bucket>>>,
}

/// The group of a key.
pub(crate) type GroupOf<K> = fn(&K) -> &str;

impl<K: Clone + Eq + Hash> Queue<K> {
    /// A queue with the priorities normal and low or, with a function for groups, with any number of priorities, in each of
    /// which groups take turns.
    pub(crate) fn new(groups: Option<GroupOf<K>>, limit: Option<Arc<Mutex<Bucket>>>) -> Self {
        let order = groups.map_or_else(state::Queue::new, state::Queue::ranked);
        Self { order, limit }
    }

    /// Adds a key.
    pub(crate) fn add(&self, key: &K, priority: Priority, now: Instant) {
        self.order.add(key, priority, now);
    }

    /// Gives a key back. If it was added meanwhile, it is given out again as if it were added now; otherwise it comes back with
    /// a priority.
    pub(crate) fn done(&self, key: &K, back: Option<Back<Instant>>, priority: Priority) {
        self.order.done(key, back, priority);
    }

    /// Forgets keys, with what asked for them while a worker has them.
    pub(crate) fn forget(&self, is_meant: impl Fn(&K) -> bool) {
        self.order.forget(is_meant);
    }

    /// Has a key that was taken not count against the limit.
    pub(crate) fn give_back_token(&self) {
        if let Some(limit) = &self.limit {
            locked(limit.lock()).give_back();
        }
    }

    /// How full it is.
    pub(crate) fn load(&self) -> Load<Instant> {
        self.order.load()
    }

    /// The first keys, so many at most of those that are ready and of those that are not.
    pub(crate) fn glance(&self, most: usize) -> Glance<K, Instant> {
        self.order.glance(most)
    }

    /// Gives out nothing more, and lets every worker know.
    pub(crate) fn close(&self) {
        self.order.close();
        if let Some(limit) = &self.limit {
            locked(limit.lock()).settle(Instant::now());
        }
    }

    /// Waits for the next key for a worker, and returns it with the time for which it has waited and the time now; `None` when
    /// the queue is closed.
    pub(crate) async fn take(&self, worker: usize) -> Option<(K, Duration, Instant)> {
        match &self.limit {
            None => poll_fn(|context| self.next(worker, context, Instant::now())).await,
            Some(limit) => self.take_within(limit, worker).await,
        }
    }

    /// A key that waits for a token stays in the queue, where it may be overtaken.
    async fn take_within(
        &self,
        limit: &Mutex<Bucket>,
        worker: usize,
    ) -> Option<(K, Duration, Instant)> {
        let mut alarm = pin!(sleep_until(Instant::now()));
        poll_fn(|context| {
            loop {
                let now = Instant::now();
                let mut bucket = locked(limit.lock());
                let token_in = bucket.token_in(now);
                if token_in.is_zero() {
                    let next = self.next(worker, context, now);
                    if matches!(next, Poll::Ready(Some(_))) {
                        bucket.spend(now);
                    }
                    return next;
                }
                match self.order.hold(worker, context.waker()) {
                    None => return Poll::Ready(None),
                    Some(false) => return Poll::Pending,
                    Some(true) => bucket.hold(now),
                }
                drop(bucket);
                alarm.as_mut().reset(now + token_in);
                ready!(alarm.as_mut().poll(context));
            }
        })
        .await
    }

    fn next(
        &self,
        worker: usize,
        context: &Context<'_>,
        now: Instant,
    ) -> Poll<Option<(K, Duration, Instant)>> {
        match self.order.next(worker, context.waker(), now) {
            Next::Key(key, since) => Poll::Ready(Some((key, now - since, now))),
            Next::Wait => Poll::Pending,
            Next::Closed => Poll::Ready(None),
        }
    }

    /// Readies keys when their time has come, without end. Keys that are ready at once never pass through here.
    pub(crate) async fn keep_time(&self) {
        let mut alarm = pin!(sleep_until(Instant::now()));
        poll_fn(|context| {
            while let Some(at) = self.order.due(Instant::now(), context.waker()) {
                alarm.as_mut().reset(at);
                ready!(alarm.as_mut().poll(context));
            }
            Poll::<()>::Pending
        })
        .await;
    }
}
