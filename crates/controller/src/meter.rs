//! The workload of a controller, for metrics: its queue, its workers and its reconciles.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::queue::Queue;
use crate::rate_limit::Bucket;
use crate::run::{Failures, Spans};
use crate::shards::Holdings;
use crate::sync::{Mutex, locked};
use crate::trigger::Calls;
use crate::workload::Workload;
use crate::{Key, Kind};

/// Reads the load of a controller at any time. Clones read that of the same controller.
#[derive(Clone)]
pub struct Meter(Arc<Shared>);

struct Shared {
    controller: Arc<str>,
    kind: Kind,
    workers: usize,
    limit: Option<Arc<Mutex<Bucket>>>,
    holdings: Option<Arc<Holdings>>,
    triggers: Vec<Calls>,
    count: Mutex<Count>,
}

#[derive(Default)]
struct Count {
    /// The current run.
    run: Option<Run>,
    /// Totals of the queues of earlier runs.
    adds: u64,
    retries: u64,
}

/// What a run has to do.
#[derive(Clone)]
struct Run {
    queue: Arc<Queue<Key>>,
    failures: Arc<Failures>,
    spans: Arc<Spans>,
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
    /// Total time, over all runs, for which objects waited for a token of the [rate limit](crate::RateLimit) while a worker was
    /// idle.
    pub rate_limited: Duration,
    /// Number of shards of a [sharded](crate::Controller::sharded) controller, over all replicas.
    pub shards: usize,
    /// Number of shards that this replica holds.
    pub shards_held: usize,
}

impl Meter {
    pub(crate) fn new(
        controller: Arc<str>,
        kind: Kind,
        workers: usize,
        limit: Option<Arc<Mutex<Bucket>>>,
        holdings: Option<Arc<Holdings>>,
        triggers: Vec<Calls>,
    ) -> Self {
        Self(Arc::new(Shared {
            controller,
            kind,
            workers,
            limit,
            holdings,
            triggers,
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

    /// Returns the kind of the controller's objects.
    pub fn kind(&self) -> &Kind {
        &self.0.kind
    }

    /// Returns how often each trigger of the controller was called, whether the controller ran or not.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers, Trigger};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let refresh = Trigger::new();
    /// let controller = AnyController::from(Controller::new("pods", reconcile).triggered_by(&refresh));
    /// let meter = controller.attach(&Informers::new()).meter();
    /// refresh.reconcile(("blue", "web"));
    /// assert_eq!(meter.trigger_calls(), [1]);
    /// ```
    pub fn trigger_calls(&self) -> Vec<u64> {
        self.0.triggers.iter().map(Calls::read).collect()
    }

    /// Returns what it has to do now, object by object: of each kind of objects in it the first `most`, and their total. `None`
    /// while the controller does not run.
    ///
    /// The queue is locked while it is read, for a time that depends on `most`, on the number of objects in it and on that of objects that fail.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers, Scope};
    /// use kubewright_testing::{TestCluster, eventually, yaml};
    ///
    /// async fn reconcile(_: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
    ///     Err(Error::retry("the bucket is locked"))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// cluster.create::<ConfigMap>(&yaml("metadata: {name: settings}")).await.expect_allowed();
    /// let controller = Controller::new("settings", reconcile).within(Scope::all().named("settings"));
    /// let informers = Informers::new();
    /// let running = AnyController::from(controller).attach(&informers);
    /// let meter = running.meter();
    /// assert!(meter.workload(10).is_none(), "it does not run");
    /// let failing = eventually("a failure", async || meter.workload(10)?.failing.pop());
    /// tokio::select! {
    ///     () = informers.run(cluster.client()) => {}
    ///     () = running.run(std::future::pending()) => {}
    ///     failing = failing => {
    ///         assert_eq!(failing.key.name(), "settings");
    ///         assert_eq!(failing.error.as_deref(), Some("the bucket is locked"));
    ///     }
    /// }
    /// # }
    /// ```
    pub fn workload(&self, most: usize) -> Option<Workload> {
        let run = locked(self.0.count.lock()).run.clone()?;
        let Run {
            queue,
            failures,
            spans,
        } = run;
        Some(Workload::of(&queue, &failures, &spans, most))
    }

    /// Returns how much it has to do now.
    pub fn read(&self) -> Load {
        let count = locked(self.0.count.lock());
        let mut load = Load {
            adds: count.adds,
            retries: count.retries,
            workers: self.0.workers,
            shards: self.0.holdings.as_ref().map_or(0, |shards| shards.count()),
            shards_held: self.0.holdings.as_ref().map_or(0, |shards| shards.held()),
            ..Load::default()
        };
        if let Some(run) = &count.run {
            let (now, queue) = (Instant::now(), run.queue.load());
            let passed = |since: &Instant| now.duration_since(*since);
            load.waiting = queue.waiting;
            load.adds += queue.adds;
            load.active = queue.running.len();
            load.unfinished = queue.running.iter().map(passed).sum();
            load.longest = queue.running.iter().map(passed).max().unwrap_or_default();
        }
        if let Some(limit) = &self.0.limit {
            load.rate_limited = locked(limit.lock()).held(Instant::now());
        }
        load
    }

    /// Looks at a run, until what this returns is dropped.
    pub(crate) fn look_at(
        &self,
        queue: &Arc<Queue<Key>>,
        failures: &Arc<Failures>,
        spans: &Arc<Spans>,
    ) -> Look<'_> {
        locked(self.0.count.lock()).run = Some(Run {
            queue: Arc::clone(queue),
            failures: Arc::clone(failures),
            spans: Arc::clone(spans),
        });
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
        if let Some(run) = count.run.take() {
            count.adds += run.queue.load().adds;
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
