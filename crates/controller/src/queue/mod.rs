//! The work queue of a controller.

mod state;
#[cfg(test)]
mod tests;

use std::future::poll_fn;
use std::hash::Hash;
use std::pin::pin;
use std::task::{Poll, ready};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use crate::sync;
use state::Next;
pub(crate) use state::{Back, Priority};

/// Keys that wait for their reconcile.
pub(crate) type Queue<K> = state::Queue<K, Instant>;

impl<K: Clone + Eq + Hash> Queue<K> {
    /// Waits for the next key for a worker, and returns it with the time for which it has waited and the time now; `None` when
    /// the queue is closed.
    pub(crate) async fn take(&self, worker: usize) -> Option<(K, Duration, Instant)> {
        poll_fn(|context| {
            let now = Instant::now();
            match self.next(worker, context.waker(), now) {
                Next::Key(key, since) => Poll::Ready(Some((key, now - since, now))),
                Next::Wait => Poll::Pending,
                Next::Closed => Poll::Ready(None),
            }
        })
        .await
    }

    /// Readies keys when their time has come, without end. Keys that are ready at once never pass through here.
    pub(crate) async fn keep_time(&self) {
        let mut alarm = pin!(sleep_until(Instant::now()));
        poll_fn(|context| {
            while let Some(at) = self.due(Instant::now(), context.waker()) {
                alarm.as_mut().reset(at);
                ready!(alarm.as_mut().poll(context));
            }
            Poll::<()>::Pending
        })
        .await;
    }
}
