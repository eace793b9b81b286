//! Type-erased controllers: a program holds controllers of different kinds in one list.

use std::fmt;
use std::sync::Arc;

use crate::run::Engine;
use crate::{AnyObject, Controller, Informers, Kind, LeaderElection, Running, Scope, Sharding};

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
pub struct AnyController {
    declared: Arc<dyn Declared>,
    program: Option<Arc<str>>,
}

trait Declared: Send + Sync {
    fn name(&self) -> &str;
    fn watched(&self) -> Vec<(Kind, Scope)>;
    fn finalizes(&self) -> bool;
    fn sharding(&self) -> Option<&Sharding>;
    fn attach(self: Arc<Self>, informers: &Informers, program: Option<&str>) -> Running;
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
        self.declared.name()
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
        self.declared.watched()
    }

    /// Returns whether the controller adds and removes finalizers of its own objects, because it [owns](Controller::owns) others by
    /// label.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error};
    /// # async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// assert!(!AnyController::from(Controller::new("pods", pod)).finalizes());
    /// ```
    pub fn finalizes(&self) -> bool {
        self.declared.finalizes()
    }

    /// Returns the Lease by which replicas share the objects, and its times, if the controller is [sharded](Controller::sharded).
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error};
    /// # async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let controller = AnyController::from(Controller::new("pods", pod));
    /// assert!(controller.sharding_lease().is_none());
    /// ```
    pub fn sharding_lease(&self) -> Option<LeaderElection> {
        let sharding = self.declared.sharding()?;
        Some(sharding.election(self.program.as_deref(), self.name()))
    }

    /// Names the program that the controller is a part of: the default name of its [Lease](Sharding::lease) begins with it.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_controller::{Action, AnyController, Context, Controller, Error};
    /// # async fn pod(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
    /// let controller = AnyController::from(Controller::new("pods", pod).sharded(8)).of_program("gardens");
    /// assert_eq!(controller.sharding_lease().unwrap().lease(), "gardens-pods-shards");
    /// ```
    pub fn of_program(mut self, name: impl Into<Arc<str>>) -> Self {
        self.program = Some(name.into());
        self
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
        Arc::clone(&self.declared).attach(informers, self.program.as_deref())
    }
}

impl<K: AnyObject> From<Controller<K>> for AnyController {
    fn from(controller: Controller<K>) -> Self {
        Self {
            declared: Arc::new(controller),
            program: None,
        }
    }
}

impl<K: AnyObject> Declared for Controller<K> {
    fn name(&self) -> &str {
        &self.name
    }

    fn watched(&self) -> Vec<(Kind, Scope)> {
        let own = (self.kind.clone(), self.scope.clone());
        let others = self
            .watches
            .iter()
            .map(|watch| (watch.kind.clone(), watch.scope.clone()));
        std::iter::once(own).chain(others).collect()
    }

    fn finalizes(&self) -> bool {
        self.collector.is_some()
    }

    fn sharding(&self) -> Option<&Sharding> {
        self.sharding.as_ref()
    }

    fn attach(self: Arc<Self>, informers: &Informers, program: Option<&str>) -> Running {
        Running::new(Engine::new(self, informers, program))
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
