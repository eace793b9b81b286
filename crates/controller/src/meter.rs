//! The workload of a controller, for metrics: its queue, its workers and its reconciles.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::Key;
use crate::queue::Queue;
use crate::sync::{Mutex, locked};

/// Reads the load of a controller at any time. Clones read that of the same controller.
#[derive(Clone)]
pub struct Meter(Arc<Shared>);

struct Shared {
    controller: Arc<str>,
    workers: usize,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    /// The queue of the current run.
    queue: Option<Arc<Queue<Key>>>,
    /// Totals of the queues of earlier runs.
    adds: u64,
    retries: u64,
}

/// Load of a controller: its queue, its workers and its reconciles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// Number of objects that wait for their reconcile.
    pub waiting: usize,
    /// Number of additions to the queue, over all runs.
    pub adds: u64,
    /// Number of requeues after an error.
    pub retries: u64,
    /// Maximum number of concurrent reconciles.
    pub workers: usize,
    /// Number of reconciles in progress.
    pub active: usize,
    /// Total time that the reconciles in progress have taken so far.
    pub unfinished: Duration,
    /// Time that the longest reconcile in progress has taken so far.
    pub longest: Duration,
}

impl Meter {
    pub(crate) fn new(controller: Arc<str>, workers: usize) -> Self {
        Self(Arc::new(Shared {
            controller,
            workers,
            count: Mutex::default(),
        }))
    }

    /// Returns the name of the controller.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let running = AnyController::from(Controller::new("pods", reconcile)).attach(&Informers::new());
    /// assert_eq!(running.meter().controller(), "pods");
    /// ```
    pub fn controller(&self) -> &str {
        &self.0.controller
    }

    /// Returns how much it has to do now.
    pub fn read(&self) -> Load {
        let count = locked(self.0.count.lock());
        let mut load = Load {
            adds: count.adds,
            retries: count.retries,
            workers: self.0.workers,
            ..Load::default()
        };
        if let Some(queue) = &count.queue {
            let (now, queue) = (Instant::now(), queue.load());
            let passed = |since: &Instant| now.duration_since(*since);
            load.waiting = queue.waiting;
            load.adds += queue.adds;
            load.active = queue.running.len();
            load.unfinished = queue.running.iter().map(passed).sum();
            load.longest = queue.running.iter().map(passed).max().unwrap_or_default();
        }
        load
    }

    /// Looks at the queue of a run, until what this returns is dropped.
    pub(crate) fn look_at(&self, queue: &Arc<Queue<Key>>) -> Look<'_> {
        locked(self.0.count.lock()).queue = Some(Arc::clone(queue));
        Look(self)
    }

    pub(crate) fn retried(&self) {
        locked(self.0.count.lock()).retries += 1;
    }
}

pub(crate) struct Look<'a>(&'a Meter);

impl Drop for Look<'_> {
    fn drop(&mut self) {
        let mut count = locked(self.0.0.count.lock());
        if let Some(queue) = count.queue.take() {
            count.adds += queue.load().adds;
        }
    }
}

impl fmt::Debug for Meter {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Meter")
            .field(&self.controller())
            .finish()
    }
}
