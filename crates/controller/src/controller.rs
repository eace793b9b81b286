//! A controller as a value.

use std::fmt;
use std::sync::Arc;

use crate::reconcile::AnyReconcile;
use crate::watch::Watch;
use crate::{Backoff, Object, Predicate, Reconcile, Scope};

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
    pub(crate) scope: Scope,
    pub(crate) predicate: Predicate,
    pub(crate) watches: Vec<Watch<K>>,
    pub(crate) concurrency: usize,
    pub(crate) backoff: Backoff,
}

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
        Self {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            scope: Scope::all(),
            predicate: Predicate::any_change(),
            watches: Vec::new(),
            concurrency: 1,
            backoff: Backoff::default(),
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

    /// Reconciles an object only after changes that match the predicate. Default: any change.
    pub fn filter(mut self, predicate: Predicate) -> Self {
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
