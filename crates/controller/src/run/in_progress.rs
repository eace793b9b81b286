//! The reconciles in progress, for those who look inside.

use tokio::time::Instant;
use tracing::Span;

use crate::Key;
use crate::sync::{Mutex, locked};

/// A place for each worker of a run.
pub(crate) struct InProgress(Box<[Mutex<Option<Reconcile>>]>);

/// One reconcile in progress.
#[derive(Clone)]
pub(crate) struct Reconcile {
    pub(crate) key: Key,
    pub(crate) since: Instant,
    pub(crate) span: Span,
}

/// A reconcile that is in progress until this is dropped.
pub(super) struct Entered<'a>(&'a Mutex<Option<Reconcile>>);

impl InProgress {
    pub(super) fn of(workers: usize) -> Self {
        Self((0..workers).map(|_| Mutex::default()).collect())
    }

    /// Shows what a worker does. The span is not closed before the result is dropped.
    pub(super) fn enter(
        &self,
        worker: usize,
        key: &Key,
        since: Instant,
        span: &Span,
    ) -> Option<Entered<'_>> {
        let place = self.0.get(worker)?;
        *locked(place.lock()) = Some(Reconcile {
            key: key.clone(),
            since,
            span: span.clone(),
        });
        Some(Entered(place))
    }

    /// Those that have lasted longest, and how many there are.
    pub(crate) fn longest(&self, most: usize) -> (usize, Vec<Reconcile>) {
        let places = self.0.iter();
        let mut all: Vec<Reconcile> = places
            .filter_map(|place| locked(place.lock()).clone())
            .collect();
        let total = all.len();
        all.sort_by_key(|reconcile| reconcile.since);
        all.truncate(most);
        (total, all)
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        locked(self.0.lock()).take();
    }
}
