//! How far a program has come: it starts, runs, and stops.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

/// How far a program has come. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Stage(Arc<watch::Sender<At>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum At {
    Start,
    /// What has to come before the controllers is there.
    Running,
    /// It was told to stop.
    Stopping(Instant),
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self(Arc::new(watch::Sender::new(At::Start)))
    }

    pub(crate) fn begin(&self) {
        self.0.send_if_modified(|at| {
            let is_start = *at == At::Start;
            if is_start {
                *at = At::Running;
            }
            is_start
        });
    }

    /// Returns when it was stopped first.
    pub(crate) fn stop(&self) -> Instant {
        let now = Instant::now();
        let mut told = now;
        self.0.send_modify(|at| match at {
            At::Stopping(first) => told = *first,
            At::Start | At::Running => *at = At::Stopping(now),
        });
        told
    }

    pub(crate) fn is_stopping(&self) -> bool {
        matches!(*self.0.borrow(), At::Stopping(_))
    }

    pub(crate) async fn begun(&self) {
        self.until(|at| *at != At::Start).await;
    }

    pub(crate) async fn stopping(&self) {
        self.until(|at| matches!(at, At::Stopping(_))).await;
    }

    async fn until(&self, is_reached: impl FnMut(&At) -> bool) {
        // This holds a sender, so the channel cannot close.
        drop(self.0.subscribe().wait_for(is_reached).await);
    }
}
