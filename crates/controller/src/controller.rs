//! A controller as a value.

use std::fmt;
use std::sync::Arc;

use crate::reconcile::AnyReconcile;
use crate::watch::Watch;
use crate::{Backoff, Changed, Object, Reconcile, Scope};

/// A controller: objects of one kind, and the function that makes the world as they want it.
///
/// It is a value: nothing happens until it [runs](Self::run), by itself or as a part of a program.
///
/// * Every object is reconciled when the controller starts, and whenever it or something [watched](Self::watch) changes.
/// * Nothing waits between a change and its reconcile but other reconciles. What many changes ask for while an object waits
///   is done once.
/// * One object is never reconciled twice at once.
/// * After an error, or a panic, an object is reconciled again, after 5 ms at first and at most 1000 s.
#[must_use]
pub struct Controller<K> {
    pub(crate) name: Arc<str>,
    pub(crate) reconciler: Arc<dyn AnyReconcile<K>>,
    pub(crate) scope: Scope,
    pub(crate) changed: Changed,
    pub(crate) watches: Vec<Watch<K>>,
    pub(crate) concurrency: usize,
    pub(crate) backoff: Backoff,
}

impl<K: Object> Controller<K> {
    /// Names a controller, for logs, and says what it does.
    pub fn new(name: impl Into<Arc<str>>, reconciler: impl Reconcile<K>) -> Self {
        Self {
            name: name.into(),
            reconciler: Arc::new(reconciler),
            scope: Scope::all(),
            changed: Changed::anything(),
            watches: Vec::new(),
            concurrency: 1,
            backoff: Backoff::default(),
        }
    }

    /// Watches something else: [`owned`](crate::owned) or [`related`](crate::related) objects.
    pub fn watch(mut self, watch: impl Into<Watch<K>>) -> Self {
        self.watches.push(watch.into());
        self
    }

    /// Reconciles only these objects.
    pub fn within(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Heeds only these changes of its own objects; any unless said.
    pub fn when(mut self, changed: Changed) -> Self {
        self.changed = changed;
        self
    }

    /// Sets how many objects are reconciled at the same time; one unless said.
    pub fn concurrency(mut self, reconciles: usize) -> Self {
        self.concurrency = reconciles.max(1);
        self
    }

    /// Sets how long to wait after errors; from 5 ms to 1000 s unless said.
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
