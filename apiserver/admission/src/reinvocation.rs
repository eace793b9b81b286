//! Which policies and webhooks are called a second time (A.9).

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

/// What one request remembers between the calls of both rounds.
#[derive(Debug, Default)]
pub(crate) struct Reinvocation {
    pub(crate) policies: Calls,
    pub(crate) webhooks: Calls,
    /// Whether a webhook sent a patch that is not empty.
    patched: bool,
}

/// The calls to one sort of steps.
#[derive(Debug, Default)]
pub(crate) struct Calls {
    round: u8,
    wanted: bool,
    /// Called since the last change and willing to be called again.
    previous: HashSet<Arc<str>>,
    again: HashSet<Arc<str>>,
    last_output: Option<Value>,
}

impl Reinvocation {
    /// Starts the second round if a step of the first one asked for it; there is never a third.
    pub(crate) fn begin_second_round(&mut self) -> bool {
        self.policies.round = 1;
        self.webhooks.round = 1;
        self.is_wanted()
    }

    /// Whether there will be a second round, as far as is known.
    pub(crate) fn is_wanted(&self) -> bool {
        self.policies.wanted || self.webhooks.wanted
    }

    /// A webhook sent a patch that is not empty. Says whether it was the first one of the request.
    pub(crate) fn first_patch(&mut self) -> bool {
        !std::mem::replace(&mut self.patched, true)
    }

    /// Whether any webhook sent a patch that is not empty.
    pub(crate) fn was_patched(&self) -> bool {
        self.patched
    }
}

impl Calls {
    pub(crate) fn round(&self) -> u8 {
        self.round
    }

    /// The calls start: a change by the steps before them counts as a change after each call so far.
    pub(crate) fn begin(&mut self, object: &Value) {
        let awaited = self.round > 0 && !self.previous.is_empty();
        if awaited && self.last_output.as_ref() != Some(object) {
            self.move_previous();
        }
    }

    /// The calls are done. The object is kept only where a second round may compare with it.
    pub(crate) fn end(&mut self, object: &Value, second_round: bool) {
        if self.round == 0 && second_round && !self.previous.is_empty() {
            self.last_output = Some(object.clone());
        }
    }

    /// Whether this round calls it.
    pub(crate) fn calls(&self, id: &Arc<str>) -> bool {
        self.round == 0 || self.again.contains(id)
    }

    /// It was called; `changed` if the object differs now.
    pub(crate) fn called(&mut self, id: &Arc<str>, changed: bool, if_needed: bool) {
        if changed {
            self.changed();
        }
        if if_needed {
            self.previous.insert(Arc::clone(id));
        }
    }

    /// The object changed: a second round calls again what was called so far.
    pub(crate) fn changed(&mut self) {
        self.move_previous();
        self.wanted = true;
    }

    fn move_previous(&mut self) {
        self.again.extend(self.previous.drain());
    }
}
