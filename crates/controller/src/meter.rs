//! How much a controller has to do, for whoever watches over it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::Key;
use crate::queue::Queue;
use crate::sync::{Mutex, locked};

/// A look at how much a controller has to do, at any time. Clones look at the same controller.
#[derive(Clone)]
pub struct Meter(Arc<Shared>);

struct Shared {
    controller: Arc<str>,
    workers: usize,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    /// The queue of the run at hand.
    queue: Option<Arc<Queue<Key>>>,
    /// What the queues of earlier runs have counted.
    adds: u64,
    retries: u64,
}

/// How much a controller has to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Load {
    /// How many objects wait for their reconcile.
    pub waiting: usize,
    /// How often an object came to wait, from the beginning.
    pub adds: u64,
    /// How often an object came to wait because its reconcile had failed.
    pub retries: u64,
    /// How many reconciles there may be at the same time.
    pub workers: usize,
    /// How many reconciles there are.
    pub active: usize,
    /// For how long those have been at it, put together.
    pub unfinished: Duration,
    /// For how long the longest of them has been at it.
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
