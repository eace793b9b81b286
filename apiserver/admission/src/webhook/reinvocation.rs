//! Which webhooks are called a second time (A.9).

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::Value;

/// What one request remembers between the webhook calls of both rounds.
#[derive(Debug, Default)]
pub(crate) struct Reinvocation {
    round: u8,
    wanted: bool,
    /// Called since the last change and willing to be called again.
    previous: HashSet<Arc<str>>,
    again: HashSet<Arc<str>>,
    last_output: Option<Value>,
    patched: bool,
}

impl Reinvocation {
    /// Starts the second round if a step of the first one asked for it; there is never a third.
    pub(crate) fn begin_second_round(&mut self) -> bool {
        self.round = 1;
        self.wanted
    }

    pub(super) fn round(&self) -> u8 {
        self.round
    }

    /// The webhooks start: a change by the steps before them counts as a change after each webhook called so far.
    pub(super) fn begin_webhooks(&mut self, object: &Value) {
        let awaited = self.round > 0 && !self.previous.is_empty();
        if awaited && self.last_output.as_ref() != Some(object) {
            self.move_previous();
        }
    }

    /// The webhooks are done. The object is kept only where a second round will compare with it for a webhook's sake.
    pub(super) fn end_webhooks(&mut self, object: &Value) {
        if self.round == 0 && self.wanted && !self.previous.is_empty() {
            self.last_output = Some(object.clone());
        }
    }

    /// Whether this round calls the webhook.
    pub(super) fn calls(&self, id: &Arc<str>) -> bool {
        self.round == 0 || self.again.contains(id)
    }

    /// A webhook sent a patch that is not empty. Says whether it was the first one of the request.
    pub(super) fn first_patch(&mut self) -> bool {
        !std::mem::replace(&mut self.patched, true)
    }

    /// Whether any webhook sent a patch that is not empty.
    pub(super) fn was_patched(&self) -> bool {
        self.patched
    }

    /// A webhook was called; `changed` if the object differs now.
    pub(super) fn called(&mut self, id: &Arc<str>, changed: bool, if_needed: bool) {
        if changed {
            self.move_previous();
            self.wanted = true;
        }
        if if_needed {
            self.previous.insert(Arc::clone(id));
        }
    }

    fn move_previous(&mut self) {
        self.again.extend(self.previous.drain());
    }
}
