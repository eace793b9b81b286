//! Type-erased controllers: a program holds controllers of different kinds in one list.

use std::fmt;
use std::sync::Arc;

use crate::run::Engine;
use crate::{Controller, Informers, Kind, Object, Running, Scope};

/// A controller whose kind is forgotten: what a program is made of.
#[derive(Clone)]
pub struct AnyController(Arc<dyn Declared>);

trait Declared: Send + Sync {
    fn name(&self) -> &str;
    fn watched(&self) -> Vec<(Kind, Scope)>;
    fn attach(self: Arc<Self>, informers: &Informers) -> Running;
}

impl AnyController {
    /// Returns the name.
    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// Returns what it watches, its own objects first.
    pub fn watched(&self) -> Vec<(Kind, Scope)> {
        self.0.watched()
    }

    /// Has it read from shared informers.
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
