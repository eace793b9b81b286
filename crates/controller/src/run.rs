//! A controller at work.

mod collect;
mod end;
mod failures;
mod heed;
mod outcome;
mod sharing;
mod spans;
mod triggers;

use std::fmt;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::join;
use kube::Client;
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use self::end::{End, Failure};
pub(crate) use self::failures::{Failing, Failures};
pub use self::outcome::Outcome;
pub(crate) use self::spans::Spans;
use crate::clock::Clock;
use crate::handles::Undecodable;
use crate::informer::{Entry, Informer, Informers, Subscription};
use crate::mapping::{Of, Reporter, Updates};
use crate::queue::{Back, GroupOf, Priority, Queue};
use crate::rate_limit::Bucket;
use crate::shards::Holdings;
use crate::sync::Mutex;
use crate::{
    AnyObject, Context, Controller, Key, Kind, LeaderElection, LeaderGuard, Meter, Trigger,
};

/// A controller that reads from shared informers and can be run, again and again.
pub struct Running(Box<dyn Run>);

type Shutdown<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

trait Run: Send + Sync {
    fn name(&self) -> &str;
    fn observe(&mut self, observe: Observe);
    fn meter(&self) -> Meter;
    fn is_sharded(&self) -> bool;
    fn works_in(&mut self, cluster: Arc<str>);
    fn run<'a>(&'a self, guard: Option<LeaderGuard>, shutdown: Shutdown<'a>) -> Shutdown<'a>;
}

impl Running {
    pub(crate) fn new<K: AnyObject>(engine: Engine<K>) -> Self {
        Self(Box::new(engine))
    }

    /// Returns the name of the controller.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let running = AnyController::from(Controller::new("pods", reconcile)).attach(&Informers::new());
    /// assert_eq!(running.name(), "pods");
    /// ```
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Calls a function after every reconcile.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers, Outcome};
    /// use kubewright_testing::TestCluster;
    ///
    /// async fn reconcile(_: Arc<Namespace>, _: Context) -> Result<Action, Error> {
    ///     Err(Error::terminal("no namespace is good enough"))
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let mut running = AnyController::from(Controller::new("namespaces", reconcile)).attach(&informers);
    /// let (sender, mut outcomes) = tokio::sync::mpsc::unbounded_channel();
    /// running.observe(move |reconciled| drop(sender.send(reconciled.outcome)));
    /// tokio::select! {
    ///     () = informers.run(cluster.client()) => {}
    ///     () = running.run(std::future::pending()) => {}
    ///     outcome = outcomes.recv() => assert_eq!(outcome, Some(Outcome::Terminal)),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn observe(&mut self, observe: impl Fn(&Reconciled<'_>) + Send + Sync + 'static) {
        self.0.observe(Arc::new(observe));
    }

    /// Names the cluster that the controller works in, if it is not the program's own: for [`Context::cluster`] and its spans.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// async fn pod(_: Arc<Pod>, context: Context) -> Result<Action, Error> {
    ///     tracing::info!(cluster = context.cluster(), "a pod");
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let mut running = AnyController::from(Controller::new("pods", pod)).attach(&Informers::new());
    /// running.works_in("east");
    /// ```
    pub fn works_in(&mut self, cluster: impl Into<Arc<str>>) {
        self.0.works_in(cluster.into());
    }

    /// Returns a meter of the work queue and the workers.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let running = AnyController::from(Controller::new("pods", reconcile)).attach(&Informers::new());
    /// let load = running.meter().read();
    /// assert_eq!((load.workers, load.waiting, load.active), (1, 0, 0));
    /// ```
    pub fn meter(&self) -> Meter {
        self.0.meter()
    }

    /// Returns whether replicas [share](Controller::sharded) the objects of the controller, whichever of them leads.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let running = AnyController::from(Controller::new("pods", reconcile).sharded(4)).attach(&Informers::new());
    /// assert!(running.is_sharded());
    /// ```
    pub fn is_sharded(&self) -> bool {
        self.0.is_sharded()
    }

    /// Reconciles until `shutdown` resolves and the reconciles in progress are done. Starts when the informers have synced.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future cancels the reconciles in progress.
    pub async fn run(&self, shutdown: impl Future<Output = ()> + Send) {
        self.0.run(None, Box::pin(shutdown)).await;
    }

    /// Reconciles as [`run`](Self::run) does, and at most as long as this program leads.
    ///
    /// When leadership is lost, the reconciles in progress are cancelled, and this returns when none is left. A reconcile that was
    /// held up writes nothing any more: every handle refuses. A [sharded](Controller::sharded) controller does not heed the leader:
    /// its replicas share the objects by their own Lease.
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    pub async fn run_for(&self, guard: LeaderGuard, shutdown: impl Future<Output = ()> + Send) {
        self.0.run(Some(guard), Box::pin(shutdown)).await;
    }
}

impl<K: AnyObject> Controller<K> {
    /// Runs this controller without a manager, until `shutdown` resolves and the reconciles in progress are done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the controller at once and cancels the reconciles in progress.
    pub async fn run(self, client: Client, shutdown: impl Future<Output = ()>) {
        let informers = Informers::new();
        let engine = Engine::new(self, &informers, None);
        tokio::select! {
            () = informers.run(client) => {}
            () = engine.run(None, Box::pin(shutdown)) => {}
        }
    }
}

/// One reconcile that has ended.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Reconciled<'a> {
    /// The name of the controller.
    pub controller: &'a str,
    /// How it ended.
    pub outcome: Outcome,
    /// How long the object had waited for it.
    pub waited: Duration,
    /// How long it took.
    pub duration: Duration,
}

type Observe = Arc<dyn Fn(&Reconciled<'_>) + Send + Sync>;

/// A controller with its informers.
pub(crate) struct Engine<K> {
    observe: Option<Observe>,
    /// None: the program's own.
    cluster: Option<Arc<str>>,
    controller: Arc<Controller<K>>,
    objects: Informer,
    watched: Vec<Informer>,
    /// The tokens of the rate limit, which last from one run to the next.
    limit: Option<Arc<Mutex<Bucket>>>,
    /// The shards that this replica holds, if replicas share the objects.
    holdings: Option<Arc<Holdings>>,
    /// The Lease by which they do.
    shared_by: Option<LeaderElection>,
    informers: Informers,
    meter: Meter,
}

/// What the workers of a controller share.
struct Work<K> {
    observe: Option<Observe>,
    cluster: Option<Arc<str>>,
    controller: Arc<Controller<K>>,
    kind: Arc<Kind>,
    objects: Informer,
    queue: Arc<Queue<Key>>,
    meter: Meter,
    failures: Arc<Failures>,
    spans: Arc<Spans>,
    holdings: Option<Arc<Holdings>>,
    clock: Clock,
}

impl<K: AnyObject> Engine<K> {
    pub(crate) fn new(
        controller: impl Into<Arc<Controller<K>>>,
        informers: &Informers,
        program: Option<&str>,
    ) -> Self {
        let controller = controller.into();
        let bucket = |limit| Arc::new(Mutex::new(Bucket::new(limit)));
        let limit = controller.rate_limit.map(bucket);
        let sharding = controller.sharding.as_ref();
        let holdings = sharding.map(|sharding| Arc::new(Holdings::new(sharding.count())));
        let shared_by = sharding.map(|sharding| sharding.election(program, &controller.name));
        Self {
            observe: None,
            cluster: None,
            meter: Meter::new(
                Arc::clone(&controller.name),
                controller.kind.clone(),
                controller.concurrency,
                limit.clone(),
                holdings.clone(),
                controller.triggers.iter().map(Trigger::calls).collect(),
            ),
            limit,
            holdings,
            shared_by,
            informers: informers.clone(),
            objects: informers.asked(controller.is_optional, &controller.kind, &controller.scope),
            watched: controller
                .watches
                .iter()
                .map(|watch| informers.asked(watch.is_optional, &watch.kind, &watch.scope))
                .collect(),
            controller,
        }
    }

    pub(crate) async fn run(&self, guard: Option<LeaderGuard>, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
        let guard = guard.filter(|_| self.holdings.is_none());
        // Shared, because it is waited for again after it has come.
        let over = async {
            match &guard {
                Some(guard) => guard.lost().await,
                None => pending().await,
            }
        };
        let over = pin!(over);
        let over = over.shared();
        let synced = async {
            for informer in self.watched.iter().chain([&self.objects]) {
                informer.synced().await;
            }
        };
        tokio::select! {
            () = &mut shutdown => return,
            () = over.clone() => return,
            () = synced => {}
        }
        let work = Arc::new(Work {
            observe: self.observe.clone(),
            cluster: self.cluster.clone(),
            kind: Arc::new(self.objects.kind().clone()),
            objects: self.objects.clone(),
            controller: Arc::clone(&self.controller),
            queue: Arc::new(Queue::new(self.groups(), self.limit.clone())),
            meter: self.meter.clone(),
            failures: Arc::default(),
            spans: Arc::default(),
            holdings: self.holdings.clone(),
            clock: Clock::new(),
        });
        let (leave, leaving) = oneshot::channel();
        let mut sharing = pin!(self.share(&work, leaving));
        let _look = self.meter.look_at(&work.queue, &work.failures, &work.spans);
        let (reporter, updates) = Updates::new();
        let triggers = self.hear_triggers(&work);
        let subscriptions = self.subscribe(&work, &reporter);
        let mut mapping = JoinSet::new();
        // In boxes: otherwise a program has the code that spawns once for each kind of future and for each kind of runtime.
        let updates = Arc::clone(&work).map(updates).in_current_span();
        mapping.spawn(updates.boxed());
        if self.controller.collector.is_some() {
            let owners = Arc::clone(&work).look_after_owners(self.objects.lists());
            mapping.spawn(owners.in_current_span().boxed());
        }
        for informer in &self.watched {
            let lists = Arc::clone(&work).look_after_lists(informer.lists());
            mapping.spawn(lists.boxed());
        }
        let mut workers = JoinSet::new();
        for worker in 0..self.controller.concurrency {
            let work = Arc::clone(&work).work(worker);
            workers.spawn(match guard.clone() {
                Some(guard) => guard.bind(work).boxed(),
                None => work.boxed(),
            });
        }
        tracing::info!(controller = %self.controller.name, "reconciling");
        tokio::select! {
            () = shutdown => {}
            () = over.clone() => {}
            () = work.queue.keep_time() => {}
            () = &mut sharing => {}
        }
        drop((triggers, subscriptions, mapping));
        work.queue.close();
        drop(leave);
        let all_done = async { while workers.join_next().await.is_some() {} };
        let all_done = join(all_done, sharing);
        let is_cut = tokio::select! {
            biased;
            () = over.clone() => true,
            _ = all_done => false,
        };
        if is_cut {
            workers.shutdown().await;
        }
        tracing::info!(controller = %self.controller.name, "no longer reconciling");
    }

    /// The groups of keys that take turns, if the queue has more than the default priorities.
    fn groups(&self) -> Option<GroupOf<Key>> {
        match (self.controller.is_fair, &self.controller.priority) {
            (true, _) => Some(|key| key.namespace().unwrap_or_default()),
            (false, Some(_)) => Some(|_| ""),
            (false, None) => None,
        }
    }

    fn subscribe(&self, work: &Arc<Work<K>>, reporter: &Reporter) -> Vec<Subscription> {
        let watched = self.watched.iter().enumerate();
        let watched = watched.map(|(number, informer)| (Of::Watched(number), informer));
        std::iter::once((Of::Own, &self.objects))
            .chain(watched)
            .map(|(of, informer)| {
                let (work, reporter) = (Arc::clone(work), reporter.clone());
                informer.subscribe(move |delta| work.hear(of, delta, &reporter))
            })
            .collect()
    }
}

impl<K: AnyObject> Work<K> {
    async fn work(self: Arc<Self>, worker: usize) {
        while let Some((key, waited, begun)) = self.queue.take(worker).await {
            let Ok(turn) = self.turn(&key) else {
                self.queue.give_back_token();
                self.queue.done(&key, None, Priority::LOW);
                continue;
            };
            let span = self.span(&key);
            let attempt = async {
                if let Some(entry) = self.objects.get(&key) {
                    let _shown = self.spans.show(&key, &span);
                    return self.reconcile(entry).await;
                }
                self.queue.give_back_token();
                (self.collect_for_gone(&key).await, None)
            };
            let ended = {
                let attempt = pin!(attempt.instrument(span.clone()));
                match &turn {
                    Some(turn) => turn.hold(attempt).await,
                    None => Some(attempt.await),
                }
            };
            let Some((end, object)) = ended else {
                self.queue.done(&key, None, Priority::LOW);
                continue;
            };
            let outcome = end.outcome();
            span.record("outcome", outcome.as_str());
            if outcome.is_failure() {
                span.record("otel.status_code", "ERROR");
            }
            if let Some(observe) = &self.observe {
                observe(&Reconciled {
                    controller: &self.controller.name,
                    outcome,
                    waited,
                    duration: begun.elapsed(),
                });
            }
            let back = span.in_scope(|| self.conclude(&key, end));
            drop(span);
            let priority = match (&back, object) {
                (Some(_), Some(object)) => {
                    self.priority(Priority::LOW, &key, |of| Ok(Some(of(&object))))
                }
                _ => Priority::LOW,
            };
            self.queue.done(&key, back, priority);
            if turn.is_some() {
                self.forget_others(|of| *of == key);
            }
        }
    }

    /// What a trace tells of a reconcile, which is of what object and how it ended.
    fn span(&self, key: &Key) -> Span {
        // Each is a trace of its own, wherever the controller is run.
        tracing::debug_span!(
            parent: None,
            "reconcile",
            controller = &*self.controller.name,
            cluster = self.cluster.as_deref(),
            kind = self.kind.name(),
            namespace = key.namespace(),
            name = key.name(),
            outcome = field::Empty,
            otel.status_code = field::Empty,
        )
    }

    /// Reconciles an object, and returns the object, too, if its priority depends on it.
    async fn reconcile(&self, entry: Arc<Entry>) -> (End, Option<Arc<K>>) {
        let object = match entry.decode::<K>() {
            Ok(object) => Arc::new(object),
            Err(error) => {
                let error = Undecodable::from(error);
                let end = End::Terminal(format!("cannot decode the object: {error}"));
                return (end, None);
            }
        };
        let kept = self.controller.priority.as_ref();
        let kept = kept.map(|_| Arc::clone(&object));
        let context = Context {
            controller: Arc::clone(&self.controller.name),
            cluster: self.cluster.clone(),
            kind: Arc::clone(&self.kind),
            failures: self.failures.count(entry.key()),
            clock: self.clock,
            entry: Arc::clone(&entry),
        };
        let reconciler = &self.controller.reconciler;
        let reconcile = AssertUnwindSafe(async { reconciler.reconcile_any(object, context).await });
        let end = match reconcile.catch_unwind().await {
            Ok(Ok(action)) => End::Done(action),
            Ok(Err(error)) => End::of_error(&error),
            Err(panic) => End::of_panic(&*panic),
        };
        let end = match &self.controller.collector {
            Some(collector) => self.collect(&**collector, &entry, end).await,
            None => end,
        };
        (end, kept)
    }

    /// Has an object that failed tried again, and not at once, whatever becomes of it meanwhile.
    fn again(&self, key: &Key, failure: &Failure) -> Back<Instant> {
        self.meter.retried();
        let failures = self.failures.add(key, &failure.error);
        let wanted = failure.wanted;
        let pause = self.controller.backoff.pause(failures).max(wanted);
        let (controller, error) = (&*self.controller.name, &failure.error);
        let object = &self.kind.reference(key);
        let cluster = self.cluster.as_deref();
        if failure.is_conflict && failures <= USUAL_CONFLICTS {
            tracing::debug!(
                controller,
                cluster,
                object,
                error,
                failures,
                ?pause,
                "another client changed the object that was to be written; trying again"
            );
        } else {
            tracing::warn!(
                controller,
                cluster,
                object,
                error,
                failures,
                ?pause,
                "cannot reconcile; trying again"
            );
        }
        let now = Instant::now();
        Back::NotBefore {
            no_sooner: now + pause.min(CALM.max(wanted)),
            at: now + pause,
        }
    }

    /// Draws the lesson from a reconcile: when is the next?
    fn conclude(&self, key: &Key, end: End) -> Option<Back<Instant>> {
        match end {
            End::Done(action) => {
                self.failures.remove(key);
                action.after().map(|pause| Back::At(Instant::now() + pause))
            }
            End::Gone => {
                self.failures.remove(key);
                None
            }
            End::Retry(failure) | End::Panicked(failure) => Some(self.again(key, &failure)),
            End::Terminal(error) => {
                if self.objects.get(key).is_some() {
                    self.failures.add_terminal(key, &error);
                } else {
                    self.failures.remove(key);
                }
                tracing::error!(
                    controller = %self.controller.name, cluster = self.cluster.as_deref(), object = self.kind.reference(key), error,
                    "cannot reconcile; not trying again until something changes"
                );
                None
            }
        }
    }
}

impl<K: AnyObject> Run for Engine<K> {
    fn name(&self) -> &str {
        &self.controller.name
    }

    fn observe(&mut self, observe: Observe) {
        self.observe = Some(observe);
    }

    fn meter(&self) -> Meter {
        self.meter.clone()
    }

    fn is_sharded(&self) -> bool {
        self.holdings.is_some()
    }

    fn works_in(&mut self, cluster: Arc<str>) {
        self.cluster = Some(cluster);
    }

    fn run<'a>(&'a self, guard: Option<LeaderGuard>, shutdown: Shutdown<'a>) -> Shutdown<'a> {
        Box::pin(Self::run(self, guard, shutdown))
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Running")
            .field(&self.name())
            .finish()
    }
}

/// After a failure, news of an object have it reconciled no sooner than this, or than its pause if that is shorter. What a
/// failing reconcile itself writes is updates, too, and would have it called again without any pause.
const CALM: Duration = Duration::from_secs(1);
/// With several who write, so many conflicts in a row are how it is meant to be: who was slower looks again.
const USUAL_CONFLICTS: u32 = 3;
