//! Type-erased controllers: a program holds controllers of different kinds in one list.

use std::fmt;
use std::sync::Arc;

use crate::run::Engine;
use crate::{Controller, Informers, Kind, Object, Running, Scope};

/// Type-erased controller: a program holds controllers of different kinds in one list.
///
/// ```
/// use std::sync::Arc;
/// use k8s_openapi::api::core::v1::{Pod, Secret};
/// use kubewright_controller::{Action, AnyController, Context, Controller, Error};
///
/// async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> {
///     Ok(Action::await_change())
/// }
/// async fn secret(_: Arc<Secret>, _: Context) -> Result<Action, Error> {
///     Ok(Action::await_change())
/// }
///
/// let all: [AnyController; 2] = [Controller::new("pods", pod).into(), Controller::new("secrets", secret).into()];
/// assert_eq!(all.each_ref().map(AnyController::name), ["pods", "secrets"]);
/// ```
#[derive(Clone)]
pub struct AnyController(Arc<dyn Declared>);

trait Declared: Send + Sync {
    fn name(&self) -> &str;
    fn watched(&self) -> Vec<(Kind, Scope)>;
    fn attach(self: Arc<Self>, informers: &Informers) -> Running;
}

impl AnyController {
    /// Returns the name of the controller.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error};
    /// # async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let controller = AnyController::from(Controller::new("pods", pod));
    /// assert_eq!(controller.name(), "pods");
    /// ```
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns the kinds and scopes that the controller watches, its own objects first.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::{apps::v1::ReplicaSet, core::v1::Pod};
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Kind, Scope, owned};
    /// # async fn reconcile(_: Arc<ReplicaSet>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let pods = owned::<Pod>().within(Scope::all().in_namespace("blue"));
    /// let controller = AnyController::from(Controller::new("replicas", reconcile).watch(pods));
    /// assert_eq!(controller.watched(), [
    ///     (Kind::of::<ReplicaSet>(), Scope::all()),
    ///     (Kind::of::<Pod>(), Scope::all().in_namespace("blue")),
    /// ]);
    /// ```
    pub fn watched(&self) -> Vec<(Kind, Scope)> {
        self.0.watched()
    }

    /// Attaches the controller to shared informers, so that several controllers read from one cache.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error, Informers};
    /// # async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let informers = Informers::new();
    /// let controllers = ["first", "second"].map(|name| AnyController::from(Controller::new(name, pod)));
    /// let running = controllers.map(|controller| controller.attach(&informers));
    /// assert_eq!(informers.missing(), ["pods"], "one list and watch for both");
    /// assert_eq!(running[1].name(), "second");
    /// ```
    pub fn attach(&self, informers: &Informers) -> Running {
        Arc::clone(&self.0).attach(informers)
    }
}

impl<K: Object> From<Controller<K>> for AnyController {
    fn from(controller: Controller<K>) -> Self {
        Self(Arc::new(controller))
    }
}

impl<K: Object> Declared for Controller<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn watched(&self) -> Vec<(Kind, Scope)> {
        let own = (Kind::of::<K>(), self.scope.clone());
        let others = self
            .watches
            .iter()
            .map(|watch| (watch.kind.clone(), watch.scope.clone()));
        std::iter::once(own).chain(others).collect()
    }

    fn attach(self: Arc<Self>, informers: &Informers) -> Running {
        Running::new(Engine::new(self, informers))
    }
}

impl fmt::Debug for AnyController {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("AnyController")
            .field(&self.name())
            .finish()
    }
}
