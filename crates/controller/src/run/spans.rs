//! The spans of the reconciles in progress, for those who look inside.

use ahash::AHashMap;
use tracing::Span;

use crate::Key;
use crate::sync::{Mutex, locked};

/// The spans that are enabled. The queue knows which reconciles are in progress, so that there is nothing to note without traces.
#[derive(Default)]
pub(crate) struct Spans(Mutex<AHashMap<Key, Span>>);

/// A span that is shown until this is dropped.
pub(super) struct Shown<'a> {
    spans: &'a Spans,
    key: &'a Key,
}

impl Spans {
    /// Shows the span of a reconcile. It is not closed before the result is dropped.
    pub(super) fn show<'a>(&'a self, key: &'a Key, span: &Span) -> Option<Shown<'a>> {
        if span.is_disabled() {
            return None;
        }
        locked(self.0.lock()).insert(key.clone(), span.clone());
        Some(Shown { spans: self, key })
    }

    /// The span of the reconcile of an object, a disabled one if it has none.
    pub(crate) fn of(&self, key: &Key) -> Span {
        let span = locked(self.0.lock()).get(key).cloned();
        span.unwrap_or_else(Span::none)
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        locked(self.spans.0.lock()).remove(self.key);
    }
}
