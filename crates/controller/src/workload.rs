//! What a controller has to do, object by object, for those who look inside a program.

use std::time::Duration;

use tokio::time::Instant;
use tracing::Span;

use crate::Key;
use crate::queue::Queue;
use crate::run::{Failing, Failures, Spans};

/// What a controller has to do: the objects that wait, are delayed, are being reconciled, or fail. [`Meter::workload`] returns it.
///
/// It has names of objects and messages of errors, and no values.
///
/// [`Meter::workload`]: crate::Meter::workload
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Workload {
    /// Number of objects that wait for a worker.
    pub waiting_total: usize,
    /// The first of them, in the order in which they are reconciled.
    pub waiting: Vec<WaitingObject>,
    /// Number of objects that return at a later time.
    pub delayed_total: usize,
    /// The first of them to return.
    pub delayed: Vec<WaitingObject>,
    /// Number of reconciles in progress.
    pub in_progress_total: usize,
    /// Those that have lasted longest.
    pub in_progress: Vec<ReconcileInProgress>,
    /// Number of objects whose last reconcile failed.
    pub failing_total: usize,
    /// Those that failed for good, then those that failed most often in a row.
    pub failing: Vec<FailingObject>,
}

/// An object in the work queue.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitingObject {
    /// Namespace and name.
    pub key: Key,
    /// Its priority: 0 after a change, and 100 less for the first list and for retries, plus that of
    /// [`Controller::priority`](crate::Controller::priority).
    pub priority: i32,
    /// For how long it has waited for a worker. Zero while it is delayed.
    pub waited: Duration,
    /// In which time it returns. Zero if it waits for a worker.
    pub returns_in: Duration,
    /// How often its reconciles failed in a row.
    pub failures: u32,
}

/// A reconcile in progress.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ReconcileInProgress {
    /// Namespace and name of the object.
    pub key: Key,
    /// How long it has taken so far.
    pub lasted: Duration,
    /// How often reconciles of the object failed in a row before.
    pub failures: u32,
    /// The span of the reconcile, which is disabled unless traces are on or the log is at the level `debug`.
    pub span: Span,
}

/// An object whose last reconcile failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailingObject {
    /// Namespace and name.
    pub key: Key,
    /// How often it failed in a row; 0 if it [failed for good](crate::Error::terminal).
    pub failures: u32,
    /// For how long it has failed.
    pub since: Duration,
    /// When the last failure was.
    pub last: Duration,
    /// The last error as it was logged, or its first 512 bytes. It is kept for the first 1,000 failing objects of a controller.
    pub error: Option<Box<str>>,
}

impl Workload {
    pub(crate) fn of(queue: &Queue<Key>, failures: &Failures, spans: &Spans, most: usize) -> Self {
        let now = Instant::now();
        let passed = |since: Instant| now.saturating_duration_since(since);
        let count = |key: &Key| failures.get(key).map_or(0, |failing| failing.count);
        let glance = queue.glance(most);
        let waiting = glance.ready.into_iter().map(|(key, priority, since)| {
            let failures = count(&key);
            WaitingObject {
                key,
                priority: priority.0,
                waited: passed(since),
                returns_in: Duration::ZERO,
                failures,
            }
        });
        let delayed = glance.later.into_iter().map(|(key, priority, at)| {
            let failures = count(&key);
            WaitingObject {
                key,
                priority: priority.0,
                waited: Duration::ZERO,
                returns_in: at.saturating_duration_since(now),
                failures,
            }
        });
        let longest = glance.running.into_iter();
        let in_progress = longest.map(|(key, since)| ReconcileInProgress {
            failures: count(&key),
            span: spans.of(&key),
            key,
            lasted: passed(since),
        });
        let (failing_total, worst) = failures.worst(most);
        let failing = worst.into_iter().map(|(key, failing)| {
            let Failing {
                count,
                since,
                last,
                error,
            } = failing;
            FailingObject {
                key,
                failures: count,
                since: passed(since),
                last: passed(last),
                error,
            }
        });
        Self {
            waiting_total: glance.ready_total,
            waiting: waiting.collect(),
            delayed_total: glance.later_total,
            delayed: delayed.collect(),
            in_progress_total: glance.running_total,
            in_progress: in_progress.collect(),
            failing_total,
            failing: failing.collect(),
        }
    }
}
