//! Group commit: the writes that arrive while the backend is busy are its next commit, all together.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard, RwLock};

use crate::backend::{Backend, Write};
use crate::blocking::blocking;
use crate::event::Change;
use crate::object::Object;
use crate::state::{CommitError, Pending, Raced, State};

/// A backend that this store alone writes to, and the writes that wait for it.
#[derive(Debug)]
pub(crate) struct Group {
    backend: Box<dyn Backend>,
    queue: Mutex<Queue>,
    /// The backend has committed what had waited for it.
    committed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    waiting: Vec<(Pending<'static>, Answer)>,
    /// Whether a writer commits for all that waited when it began.
    is_busy: bool,
}

type Outcome = Result<Arc<Object>, CommitError>;
type Answer = Arc<Mutex<Option<Outcome>>>;

/// What a commit does to the objects, once it is durable.
struct Batch {
    changes: Vec<(String, Change, Arc<Object>)>,
    writes: Vec<Write>,
    answers: Vec<(Answer, Outcome)>,
}

impl Group {
    pub(crate) fn new(backend: impl Backend + 'static) -> Self {
        Self {
            backend: Box::new(backend),
            queue: Mutex::default(),
            committed: Condvar::new(),
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(crate) fn commit(&self, state: &RwLock<State>, pending: Pending<'_>) -> Outcome {
        let answer = Answer::default();
        let pending = (pending.into_owned(), answer.clone());
        blocking(|| {
            let mut queue = self.queue.lock();
            queue.waiting.push(pending);
            loop {
                if let Some(outcome) = answer.lock().take() {
                    return outcome;
                }
                if queue.is_busy {
                    self.committed.wait(&mut queue);
                    continue;
                }
                queue.is_busy = true;
                let all = std::mem::take(&mut queue.waiting);
                MutexGuard::unlocked(&mut queue, || self.commit_all(state, all));
                queue.is_busy = false;
                self.committed.notify_all();
            }
        })
    }

    /// Readers see the changes when they are durable, and read on meanwhile.
    fn commit_all(&self, state: &RwLock<State>, all: Vec<(Pending<'static>, Answer)>) {
        let batch = Batch::of(&state.read(), all);
        let last = batch.changes.last().map(|(_, _, object)| object.revision);
        let Some(revision) = last else {
            return batch.answer();
        };
        if let Err(error) = self.backend.commit(&batch.writes, revision) {
            for (answer, _) in batch.answers {
                *answer.lock() = Some(Err(error.clone().into()));
            }
            return;
        }
        let mut state = state.write();
        for (resource, change, object) in &batch.changes {
            state.record(resource, *change, object.clone());
        }
        drop(state);
        batch.answer();
    }
}

impl Batch {
    /// Decides in their order which writes win. No other writer changes the state before they are committed.
    fn of(state: &State, all: Vec<(Pending<'static>, Answer)>) -> Self {
        let mut revision = state.revision;
        let mut batch = Self {
            changes: Vec::with_capacity(all.len()),
            writes: Vec::with_capacity(all.len()),
            answers: Vec::with_capacity(all.len()),
        };
        let mut changed: HashMap<(String, String), Option<Arc<Object>>> = HashMap::new();
        for (pending, answer) in all {
            let key = (pending.resource.into_owned(), pending.path.into_owned());
            let present = match changed.get(&key) {
                Some(present) => present.clone(),
                None => state.present(&key.0, &key.1).cloned(),
            };
            if present.as_ref().map(|object| object.revision) != pending.expected {
                batch.answers.push((answer, Err(Raced(present).into())));
                continue;
            }
            revision += 1;
            let object = Arc::new(pending.draft.at(key.1.clone(), revision));
            let write = Write::of(&key.0, pending.change, &object);
            let stays = (pending.change != Change::Deleted).then(|| object.clone());
            batch.writes.push(write);
            batch
                .changes
                .push((key.0.clone(), pending.change, object.clone()));
            batch.answers.push((answer, Ok(object)));
            changed.insert(key, stays);
        }
        batch
    }

    fn answer(self) {
        for (answer, outcome) in self.answers {
            *answer.lock() = Some(outcome);
        }
    }
}
