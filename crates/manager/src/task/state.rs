//! How it goes with each task, for those who look inside a program.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::time::Instant;

use super::declared::{Site, Task};
use crate::metrics::TaskOutcome;

/// The states of all tasks. Clones share them.
#[derive(Clone, Default)]
pub(super) struct States(Arc<Mutex<Vec<TaskState>>>);

/// How it goes with one task on this replica.
#[derive(Clone)]
pub(crate) struct TaskState {
    pub(crate) name: Arc<str>,
    pub(crate) site: Site,
    /// Since when it runs, if it does.
    pub(crate) running: Option<Instant>,
    /// When it runs next, if that is known.
    pub(crate) next: Option<Timestamp>,
    /// How often it failed in a row.
    pub(crate) failures: u32,
    pub(crate) last: Option<LastRun>,
}

/// The last run of a task that has ended.
#[derive(Clone)]
pub(crate) struct LastRun {
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    pub(crate) outcome: TaskOutcome,
    pub(crate) error: Option<Arc<str>>,
}

impl States {
    pub(super) fn of(tasks: &[Task]) -> Self {
        let state = |task: &Task| TaskState {
            name: task.name().into(),
            site: task.site(),
            running: None,
            next: None,
            failures: 0,
            last: None,
        };
        Self(Arc::new(Mutex::new(tasks.iter().map(state).collect())))
    }

    pub(super) fn read(&self) -> Vec<TaskState> {
        self.lock().clone()
    }

    pub(super) fn set(&self, task: &str, set: impl FnOnce(&mut TaskState)) {
        let mut all = self.lock();
        if let Some(state) = all.iter_mut().find(|state| *state.name == *task) {
            set(state);
        }
    }

    /// The names of those that run now.
    pub(super) fn in_progress(&self, is_meant: impl Fn(Site) -> bool) -> Vec<Arc<str>> {
        let states = self.lock();
        let running = states.iter().filter(|state| state.running.is_some());
        running
            .filter(|state| is_meant(state.site))
            .map(|state| Arc::clone(&state.name))
            .collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<TaskState>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
