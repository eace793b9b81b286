//! A controller as a value.

use std::fmt;
use std::sync::Arc;

use crate::ownership::{Collector, Collects};
use crate::reconcile::AnyReconcile;
use crate::watch::Watch;
use crate::{
    AnyObject, Backoff, DynamicKind, Kind, Object, Ownership, Predicate, RateLimit, Reconcile,
    Scope, Sharding, Trigger,
};

/// A controller: a kind of object, and the function that reconciles each object of it.
///
/// It is a value: nothing happens until it [runs](Self::run), by itself or as a part of a program.
///
/// * Every object is reconciled when the controller starts, and whenever it or something [watched](Self::watch) changes.
/// * Nothing waits between a change and its reconcile but other reconciles. What many changes ask for while an object waits
///   is done once.
/// * One object is never reconciled twice at once.
/// * After an error, or a panic, an object is reconciled again, after 5 ms at first and at most 1000 s.
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Action, Context, Controller, Scope};
/// use kubewright_testing::{TestCluster, yaml};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let cluster = TestCluster::start().await;
/// cluster.create::<ConfigMap>(&yaml("metadata: {name: settings}")).await.expect_allowed();
/// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
/// let reconcile = move |map: Arc<ConfigMap>, _: Context| {
///     drop(sender.send(map.metadata.name.clone()));
///     async { Ok(Action::await_change()) }
/// };
/// let controller = Controller::new("settings", reconcile).within(Scope::all().named("settings"));
/// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
/// assert_eq!(reconciled.recv().await.flatten().as_deref(), Some("settings"));
/// # Ok(())
/// # }
/// ```
#[must_use]
pub struct Controller<K> {
    pub(crate) name: Arc<str>,
    pub(crate) reconciler: Arc<dyn AnyReconcile<K>>,
    pub(crate) kind: Kind,
    pub(crate) scope: Scope,
    pub(crate) is_optional: bool,
    pub(crate) predicate: Predicate<K>,
    pub(crate) watches: Vec<Watch<K>>,
    pub(crate) collector: Option<Box<dyn Collects>>,
    pub(crate) triggers: Vec<Trigger<K>>,
    pub(crate) concurrency: usize,
    pub(crate) backoff: Backoff,
    pub(crate) priority: Option<Box<PriorityOf<K>>>,
    pub(crate) rate_limit: Option<RateLimit>,
    pub(crate) is_fair: bool,
    pub(crate) sharding: Option<Sharding>,
}

type PriorityOf<K> = dyn Fn(&K) -> i32 + Send + Sync;

impl<K: Object> Controller<K> {
    /// Creates a controller with a name, for logs and metrics, and its reconciler.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_controller::{Action, AnyController, Context, Controller, Error};
    ///
    /// async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> {
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let controller = AnyController::from(Controller::new("pods", reconcile));
    /// assert_eq!(controller.name(), "pods");
    /// ```
    pub fn new(name: impl Into<Arc<str>>, reconciler: impl Reconcile<K>) -> Self {
        Self::of(Kind::of::<K>(), name.into(), reconciler)
    }
}

impl<K: DynamicKind> Controller<K> {
    /// Creates a controller of a kind that is known only while the program runs, with a name, for logs and metrics, and its
    /// reconciler, which takes a `DynamicObject`, or a `PartialObjectMeta` for its metadata alone.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, Scope};
    ///
    /// async fn reconcile(widget: Arc<DynamicObject>, _: Context) -> Result<Action, Error> {
    ///     tracing::info!(size = %widget.data["spec"]["size"], "a widget");
    ///     Ok(Action::await_change())
    /// }
    ///
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let controller = AnyController::from(Controller::dynamic("widgets", &kind, reconcile));
    /// assert_eq!(controller.watched(), [(kind, Scope::all())]);
    /// # Ok::<(), kubewright_controller::InvalidKind>(())
    /// ```
    pub fn dynamic(name: impl Into<Arc<str>>, kind: &Kind, reconciler: impl Reconcile<K>) -> Self {
        Self::of(kind.read_as::<K>(), name.into(), reconciler)
    }
}

impl<K: AnyObject> Controller<K> {
    fn of(kind: Kind, name: Arc<str>, reconciler: impl Reconcile<K>) -> Self {
        Self {
            name,
            reconciler: Arc::new(reconciler),
            kind,
            scope: Scope::all(),
            is_optional: false,
            predicate: Predicate::any_change(),
            watches: Vec::new(),
            collector: None,
            triggers: Vec::new(),
            concurrency: 1,
            backoff: Backoff::default(),
            priority: None,
            rate_limit: None,
            is_fair: false,
            sharding: None,
        }
    }

    /// Watches another kind as well: [`owned`](crate::owned) or [`related`](crate::related) objects.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, Scope, owned};
    /// # async fn reconcile(_: Arc<ReplicaSet>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let controller = Controller::new("replicas", reconcile).watch(owned::<Pod>());
    /// let watched = AnyController::from(controller).watched();
    /// assert_eq!(watched[1], (Kind::of::<Pod>(), Scope::all()));
    /// ```
    pub fn watch(mut self, watch: impl Into<Watch<K>>) -> Self {
        self.watches.push(watch.into());
        self
    }

    /// Owns the objects of this handle: reconciles an owner when something changes that it owns by the label of the handle, and
    /// collects what a deleted owner owns before the owner goes.
    ///
    /// The collection begins when a reconcile of the owner has succeeded after its deletion, so that a cleanup can still use
    /// what is owned; a reconcile that fails delays it. [`Ownership`] has an example.
    pub fn owns<T: AnyObject>(mut self, handle: &Ownership<K, T>) -> Self {
        let collection = handle.collection();
        collection.is_collected_by(&self.kind);
        self.watches.push(collection.watch());
        let collector = self
            .collector
            .get_or_insert_with(|| Box::new(Collector::default()));
        collector.add(Arc::clone(collection));
        self
    }

    /// Reconciles an object whenever this trigger names it, also if nothing has changed in the cluster.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Scope, Trigger};
    /// # async fn first(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// # async fn second(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let refresh = Trigger::new(); // for a webhook, a task or any other code of the program
    /// let controllers: [AnyController; 2] = [
    ///     Controller::new("first", first).triggered_by(&refresh).into(),
    ///     Controller::new("second", second).triggered_by(&refresh).into(),
    /// ];
    /// # assert_eq!(controllers.len(), 2);
    /// refresh.reconcile(("blue", "web"));
    /// ```
    pub fn triggered_by(mut self, trigger: &Trigger<K>) -> Self {
        self.triggers.push(trigger.clone());
        self
    }

    /// Reconciles only the objects of this scope. Default: all objects of the kind.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, Scope};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let blue = Scope::all().in_namespace("blue");
    /// let controller = Controller::new("pods", reconcile).within(blue.clone());
    /// assert_eq!(AnyController::from(controller).watched(), [(Kind::of::<Pod>(), blue)]);
    /// ```
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Does not require that the API server serves the kind: until it does, there is nothing to reconcile, and what else the
    /// program does goes on. Default: the program is ready, and its controllers begin, when all their kinds are served.
    ///
    /// A definition that is created while the program runs is found within two seconds. When it is deleted, its objects are gone
    /// for every controller, optional or not, and the wait begins again.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use kube::core::DynamicObject;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers, Kind};
    /// use kubewright_testing::TestCluster;
    /// # async fn reconcile(_: Arc<DynamicObject>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let controller = AnyController::from(Controller::dynamic("widgets", &kind, reconcile).optional());
    /// let running = controller.attach(&informers);
    /// tokio::select! {
    ///     () = informers.run(cluster.client()) => {}
    ///     () = running.run(std::future::pending()) => {}
    ///     // No widget is defined, and that holds nothing up.
    ///     () = informers.synced() => assert_eq!(informers.not_served(), ["widgets.example.com"]),
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn optional(mut self) -> Self {
        self.is_optional = true;
        self
    }

    /// Reconciles an object only after changes that match the predicate. Default: any change.
    ///
    /// The predicate is not asked when a [watched](Self::watch) object changes, when watched objects are listed anew, or when an
    /// object returns after a time or an error.
    pub fn filter(mut self, predicate: Predicate<K>) -> Self {
        self.predicate = predicate;
        self
    }

    /// Sets the number of objects that are reconciled at the same time. Default: one.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let controller = AnyController::from(Controller::new("pods", reconcile).concurrency(4));
    /// assert_eq!(controller.attach(&Informers::new()).meter().read().workers, 4);
    /// ```
    pub fn concurrency(mut self, reconciles: usize) -> Self {
        self.concurrency = reconciles.max(1);
        self
    }

    /// Sets how long to wait after errors. Default: from 5 ms to 1000 s.
    pub fn retry(mut self, backoff: Backoff) -> Self {
        self.backoff = backoff;
        self
    }

    /// Sets the priority of each object: objects with a higher priority are reconciled first. Default: 0.
    ///
    /// Objects of the first list, and objects that return after a time or an error, have 100 less, as in controller-runtime. An
    /// object that is added to the queue with several priorities keeps the highest one until it is reconciled.
    ///
    /// Priorities are strict: an object waits as long as there are others with a higher priority. Reconciles in progress are not
    /// interrupted.
    ///
    /// The function is called for every addition to the queue, with the object as the cache has it, which is decoded each
    /// time. While it runs, other changes wait as they do for the function of [`related`](crate::related). If it panics, or if the
    /// object cannot be decoded, the log has an error and the object has the default priority.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Action, Context, Controller, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// for (name, tier) in [("a", "free"), ("b", "free"), ("c", "gold")] {
    ///     let map: ConfigMap = yaml(&format!("metadata: {{name: {name}, labels: {{tier: {tier}}}}}"));
    ///     cluster.create(&map).await.expect_allowed();
    /// }
    /// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
    /// let reconcile = move |map: Arc<ConfigMap>, _: Context| {
    ///     drop(sender.send(map.metadata.name.clone()));
    ///     async { Ok(Action::await_change()) }
    /// };
    /// let controller = Controller::new("maps", reconcile)
    ///     .within(Scope::all().labelled("tier"))
    ///     .priority(|map: &ConfigMap| match map.metadata.labels.as_ref().and_then(|labels| labels.get("tier")) {
    ///         Some(tier) if tier == "gold" => 1000,
    ///         _ => 0,
    ///     });
    /// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    /// for name in ["c", "a", "b"] {
    ///     assert_eq!(reconciled.recv().await.flatten().as_deref(), Some(name));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn priority(mut self, of: impl Fn(&K) -> i32 + Send + Sync + 'static) -> Self {
        self.priority = Some(Box::new(of));
        self
    }

    /// Limits how many reconciles begin per second or minute, whatever causes them. Default: no limit. [`RateLimit`] has an
    /// example.
    pub fn rate_limit(mut self, limit: RateLimit) -> Self {
        self.rate_limit = Some(limit);
        self
    }

    /// Lets namespaces take turns: between two objects of one namespace, one object of every other namespace with waiting objects of
    /// the same [priority](Self::priority) is reconciled. Default: objects are reconciled in the order in which they were added,
    /// whatever their namespace.
    ///
    /// A namespace with a hundred thousand objects delays the first object of another namespace by one reconcile.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
    /// use kubewright_controller::{Action, Context, Controller, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// for namespace in ["large", "small"] {
    ///     let namespace: Namespace = yaml(&format!("metadata: {{name: {namespace}}}"));
    ///     cluster.create(&namespace).await.expect_allowed();
    /// }
    /// for (namespace, name) in [("large", "a"), ("large", "b"), ("large", "c"), ("small", "d")] {
    ///     let map = format!("metadata: {{name: {name}, namespace: {namespace}, labels: {{mine: 'yes'}}}}");
    ///     cluster.create(&yaml::<ConfigMap>(&map)).await.expect_allowed();
    /// }
    /// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
    /// let reconcile = move |map: Arc<ConfigMap>, _: Context| {
    ///     drop(sender.send(map.metadata.name.clone()));
    ///     async { Ok(Action::await_change()) }
    /// };
    /// let controller = Controller::new("maps", reconcile)
    ///     .within(Scope::all().labelled("mine"))
    ///     .fair_between_namespaces();
    /// tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    /// for name in ["a", "d", "b", "c"] {
    ///     assert_eq!(reconciled.recv().await.flatten().as_deref(), Some(name));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn fair_between_namespaces(mut self) -> Self {
        self.is_fair = true;
        self
    }

    /// Has the replicas of the program share the objects, among so many shards: each replica reconciles those in the shards that it
    /// holds, and no object has two reconciles at once. Default: each replica reconciles all objects, or the
    /// [leader](crate::LeaderElection) alone does.
    ///
    /// * An object is in a shard by its namespace and name. An owner or a trigger that names it is in the same shard, and so is an
    ///   object of the same name that is created anew.
    /// * All replicas hold as many shards, or one more. Each replica renews what it holds every other second, by one write to one Lease,
    ///   however many shards there are. Have several times as many shards as replicas.
    /// * When a replica comes, others begin no more reconciles in some of their shards, finish those at work, and hand the shards over.
    ///   When a replica stops, the others take its shards at once; when it dies or cannot reach the API server, after the lease
    ///   duration.
    /// * Who wins a shard reconciles every object in it. Changes of other objects, triggers of them, and what waits for them end here:
    ///   their holder hears of them, too.
    /// * A replica that may have lost a shard cuts off the reconciles in it, and every handle refuses their writes, before another
    ///   replica can win it. The bounds are those of [`LeaderElection`](crate::LeaderElection); tasks that a reconcile spawns are not bound.
    /// * With another number of shards, a new version of the program waits until the replicas of the old one have stopped.
    ///
    /// Each replica has all objects in its cache: shards divide the work, not the memory. A trigger reaches the controller of its own
    /// process alone, and has no effect there on objects in the shards of others. A user who deletes the Lease stops the
    /// controller for the lease duration; a replica that starts within that time does not know of its holders.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Action, Context, Controller, LeaderElection, Scope, Sharding};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// for name in ["a", "b", "c", "d", "e"] {
    ///     let map: ConfigMap = yaml(&format!("metadata: {{name: {name}, labels: {{mine: 'yes'}}}}"));
    ///     cluster.create(&map).await.expect_allowed();
    /// }
    /// let (sender, mut reconciled) = tokio::sync::mpsc::unbounded_channel();
    /// for replica in ["replica-0", "replica-1"] {
    ///     let sender = sender.clone();
    ///     let reconcile = move |map: Arc<ConfigMap>, _: Context| {
    ///         drop(sender.send((replica, map.metadata.name.clone())));
    ///         async { Ok(Action::await_change()) }
    ///     };
    ///     let lease = LeaderElection::by_lease("maps").identity(replica);
    ///     let controller = Controller::new("maps", reconcile)
    ///         .within(Scope::all().labelled("mine"))
    ///         .sharded(Sharding::among(8).lease(lease));
    ///     tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    /// }
    /// let mut replicas = std::collections::BTreeSet::new();
    /// while replicas.len() < 2 {
    ///     replicas.insert(reconciled.recv().await.unwrap().0);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn sharded(mut self, sharding: impl Into<Sharding>) -> Self {
        self.sharding = Some(sharding.into());
        self
    }
}

impl<K> fmt::Debug for Controller<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Controller")
            .field("name", &self.name)
            .field("watches", &self.watches)
            .finish_non_exhaustive()
    }
}
