//! A controller at work.

mod end;
mod outcome;

use std::fmt;
use std::future::pending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use ahash::AHashMap;
use futures::FutureExt;
use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use self::end::{End, Failure, message};
pub use self::outcome::Outcome;
use crate::clock::Clock;
use crate::handles::Undecodable;
use crate::informer::{Delta, Entry, Informer, Informers, Origin, Subscription};
use crate::mapping::{Reporter, Updates};
use crate::queue::{Back, Priority, Queue};
use crate::sync::{Mutex, locked};
use crate::{Context, Controller, Key, Kind, LeaderGuard, Meter, Object};

/// A controller that reads from shared informers and can be run, again and again.
pub struct Running(Box<dyn Run>);

type Shutdown<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

trait Run: Send + Sync {
    fn name(&self) -> &str;
    fn observe(&mut self, observe: Observe);
    fn meter(&self) -> Meter;
    fn run<'a>(&'a self, guard: Option<LeaderGuard>, shutdown: Shutdown<'a>) -> Shutdown<'a>;
}

impl Running {
    pub(crate) fn new<K: Object>(engine: Engine<K>) -> Self {
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
    /// held up writes nothing any more: every handle refuses.
    ///
    /// # Cancel safety
    ///
    /// As for [`run`](Self::run).
    pub async fn run_for(&self, guard: LeaderGuard, shutdown: impl Future<Output = ()> + Send) {
        self.0.run(Some(guard), Box::pin(shutdown)).await;
    }
}

impl<K: Object> Controller<K> {
    /// Runs this controller without a manager, until `shutdown` resolves and the reconciles in progress are done.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future stops the controller at once and cancels the reconciles in progress.
    pub async fn run(self, client: Client, shutdown: impl Future<Output = ()>) {
        let informers = Informers::new();
        let engine = Engine::new(self, &informers);
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
    controller: Arc<Controller<K>>,
    objects: Informer,
    watched: Vec<Informer>,
    meter: Meter,
}

/// What the workers of a controller share.
struct Work<K> {
    observe: Option<Observe>,
    controller: Arc<Controller<K>>,
    kind: Arc<Kind>,
    objects: Informer,
    queue: Arc<Queue<Key>>,
    meter: Meter,
    failures: Mutex<AHashMap<Key, u32>>,
    clock: Clock,
}

impl<K: Object> Engine<K> {
    pub(crate) fn new(controller: impl Into<Arc<Controller<K>>>, informers: &Informers) -> Self {
        let controller = controller.into();
        Self {
            observe: None,
            meter: Meter::new(Arc::clone(&controller.name), controller.concurrency),
            objects: informers.informer(Kind::of::<K>(), controller.scope.clone()),
            watched: controller
                .watches
                .iter()
                .map(|watch| informers.informer(watch.kind.clone(), watch.scope.clone()))
                .collect(),
            controller,
        }
    }

    pub(crate) async fn run(&self, guard: Option<LeaderGuard>, shutdown: impl Future<Output = ()>) {
        let mut shutdown = pin!(shutdown);
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
            kind: Arc::new(self.objects.kind().clone()),
            objects: self.objects.clone(),
            controller: Arc::clone(&self.controller),
            queue: Arc::new(Queue::new()),
            meter: self.meter.clone(),
            failures: Mutex::default(),
            clock: Clock::new(),
        });
        let _look = self.meter.look_at(&work.queue);
        let (reporter, updates) = Updates::new();
        let subscriptions = self.subscribe(&work, &reporter);
        let mut mapping = JoinSet::new();
        mapping.spawn(Arc::clone(&work).map(updates));
        for informer in &self.watched {
            mapping.spawn(Arc::clone(&work).look_after_lists(informer.lists()));
        }
        let mut workers = JoinSet::new();
        for worker in 0..self.controller.concurrency {
            let work = Arc::clone(&work).work(worker);
            match guard.clone() {
                Some(guard) => workers.spawn(guard.bind(work)),
                None => workers.spawn(work),
            };
        }
        tracing::info!(controller = %self.controller.name, "reconciling");
        tokio::select! {
            () = shutdown => {}
            () = over.clone() => {}
            () = work.queue.keep_time() => {}
        }
        drop((subscriptions, mapping));
        work.queue.close();
        let all_done = async { while workers.join_next().await.is_some() {} };
        let is_cut = tokio::select! {
            biased;
            () = over.clone() => true,
            () = all_done => false,
        };
        if is_cut {
            workers.shutdown().await;
        }
        tracing::info!(controller = %self.controller.name, "no longer reconciling");
    }

    fn subscribe(&self, work: &Arc<Work<K>>, reporter: &Reporter) -> Vec<Subscription> {
        let own = {
            let work = Arc::clone(work);
            self.objects.subscribe(move |delta| {
                if work.controller.predicate.matches(delta)
                    && let Some(entry) = delta.new.as_ref().or(delta.old.as_ref())
                {
                    work.queue.add(entry.key(), priority(delta), Instant::now());
                }
            })
        };
        let watched = self.watched.iter().enumerate().map(|(number, informer)| {
            let (work, reporter) = (Arc::clone(work), reporter.clone());
            informer.subscribe(move |delta| work.hear(number, delta, &reporter))
        });
        std::iter::once(own).chain(watched).collect()
    }
}

impl<K: Object> Work<K> {
    /// Hears of a change of something watched. What is left to the users' functions does not hold up the informer.
    fn hear(&self, number: usize, delta: &Delta, reporter: &Reporter) {
        let Some(watch) = self.controller.watches.get(number) else {
            return;
        };
        if !watch.predicate.matches(delta) {
            return;
        }
        if watch.is_quick || !reporter.passes_on(number, delta) {
            self.heed(number, delta);
        }
    }

    /// Calls the users' functions for what was heard.
    async fn map(self: Arc<Self>, mut updates: Updates) {
        while let Some((number, delta)) = updates.next().await {
            self.heed(number, &delta);
        }
    }

    /// Enqueues the objects that a change of a watched object concerns.
    fn heed(&self, number: usize, delta: &Delta) {
        let Some(watch) = self.controller.watches.get(number) else {
            return;
        };
        // The function is the user's: its panic must not end the informer, which other controllers share.
        match catch_unwind(AssertUnwindSafe(|| watch.concerned(delta))) {
            Ok(concerned) => {
                let now = Instant::now();
                for key in concerned {
                    self.queue.add(&key, priority(delta), now);
                }
            }
            Err(panic) => tracing::error!(
                controller = %self.controller.name, watched = %watch.kind, panic = message(&*panic),
                "the function that maps a change to objects panicked: the change is not heeded"
            ),
        }
    }

    /// Has every object looked at after something watched was listed anew. What a reconcile had made may have been undone
    /// before the list, and then no event tells of either.
    async fn look_after_lists(self: Arc<Self>, mut lists: watch::Receiver<u64>) {
        while lists.changed().await.is_ok() {
            let now = Instant::now();
            for entry in self.objects.select(|_| true) {
                self.queue.add(entry.key(), Priority::Low, now);
            }
        }
    }

    async fn work(self: Arc<Self>, worker: usize) {
        while let Some((key, waited, begun)) = self.queue.take(worker).await {
            let span = self.span(&key);
            let end = match self.objects.get(&key) {
                Some(entry) => self.reconcile(entry).instrument(span.clone()).await,
                None => End::Gone,
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
            self.queue.done(&key, back);
        }
    }

    /// What a trace tells of a reconcile, which is of what object and how it ended.
    fn span(&self, key: &Key) -> Span {
        tracing::debug_span!(
            "reconcile",
            controller = &*self.controller.name,
            kind = self.kind.name(),
            namespace = key.namespace(),
            name = key.name(),
            outcome = field::Empty,
            otel.status_code = field::Empty,
        )
    }

    async fn reconcile(&self, entry: Arc<Entry>) -> End {
        let object = match entry.decode::<K>() {
            Ok(object) => Arc::new(object),
            Err(error) => {
                let error = Undecodable::from(error);
                return End::Terminal(format!("cannot decode the object: {error}"));
            }
        };
        let context = Context {
            controller: Arc::clone(&self.controller.name),
            kind: Arc::clone(&self.kind),
            failures: locked(self.failures.lock())
                .get(entry.key())
                .copied()
                .unwrap_or_default(),
            clock: self.clock,
            entry,
        };
        let reconciler = &self.controller.reconciler;
        let reconcile = AssertUnwindSafe(async { reconciler.reconcile_any(object, context).await });
        match reconcile.catch_unwind().await {
            Ok(Ok(action)) => End::Done(action),
            Ok(Err(error)) => End::of_error(&error),
            Err(panic) => End::of_panic(&*panic),
        }
    }

    /// Has an object that failed tried again, and not at once, whatever becomes of it meanwhile.
    fn again(&self, object: &str, failure: &Failure, count: &mut u32) -> Back<Instant> {
        self.meter.retried();
        *count = count.saturating_add(1);
        let wanted = failure.wanted;
        let pause = self.controller.backoff.pause(*count).max(wanted);
        let (controller, error, failures) = (&*self.controller.name, &failure.error, *count);
        if failure.is_conflict && failures <= USUAL_CONFLICTS {
            tracing::debug!(
                controller,
                object,
                error,
                failures,
                ?pause,
                "another client changed the object that was to be written; trying again"
            );
        } else {
            tracing::warn!(
                controller,
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
        let mut failures = locked(self.failures.lock());
        let (name, object) = (&self.controller.name, || self.kind.reference(key));
        match end {
            End::Done(action) => {
                failures.remove(key);
                action.after().map(|pause| Back::At(Instant::now() + pause))
            }
            End::Gone => {
                failures.remove(key);
                None
            }
            End::Retry(failure) | End::Panicked(failure) => {
                let count = failures.entry(key.clone()).or_default();
                Some(self.again(&object(), &failure, count))
            }
            End::Terminal(error) => {
                failures.remove(key);
                tracing::error!(
                    controller = %name, object = object(), error,
                    "cannot reconcile; not trying again until something changes"
                );
                None
            }
        }
    }
}

impl<K: Object> Run for Engine<K> {
    fn name(&self) -> &str {
        &self.controller.name
    }

    fn observe(&mut self, observe: Observe) {
        self.observe = Some(observe);
    }

    fn meter(&self) -> Meter {
        self.meter.clone()
    }

    fn run<'a>(&'a self, guard: Option<LeaderGuard>, shutdown: Shutdown<'a>) -> Shutdown<'a> {
        Box::pin(Self::run(self, guard, shutdown))
    }
}

fn priority(delta: &Delta) -> Priority {
    match delta.origin {
        Origin::Snapshot => Priority::Low,
        Origin::Watch => Priority::Normal,
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
