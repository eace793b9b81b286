//! Group commit: the writes that arrive while the backend is busy are its next commit, all together.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::backend::{Backend, Write};
use crate::blocking::blocking;
use crate::event::Change;
use crate::object::Object;
use crate::store::{CommitError, Pending, Raced, State, Store};

/// A backend that this store alone writes to, and the writes that wait for it.
#[derive(Debug)]
pub(crate) struct Group {
    backend: Box<dyn Backend>,
    waiting: Mutex<Vec<(Pending<'static>, Answer)>>,
    /// The writer that has it commits for all that wait.
    turn: Mutex<()>,
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
            waiting: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    pub(crate) fn commit(&self, store: &Store, pending: Pending<'_>) -> Outcome {
        let answer = Answer::default();
        self.waiting
            .lock()
            .push((pending.into_owned(), answer.clone()));
        blocking(|| {
            let _turn = self.turn.lock();
            let is_answered = answer.lock().is_some();
            if !is_answered {
                let all = std::mem::take(&mut *self.waiting.lock());
                self.commit_all(store, all);
            }
            let outcome = answer.lock().take();
            outcome.expect("whoever has the turn answers all that wait")
        })
    }

    /// Readers see the changes when they are durable, and read on meanwhile.
    fn commit_all(&self, store: &Store, all: Vec<(Pending<'static>, Answer)>) {
        let batch = Batch::of(&store.state.read(), all);
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
        let mut state = store.state.write();
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
