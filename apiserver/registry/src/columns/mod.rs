//! The columns that `kubectl get` shows for each kind, and their cells.
//!
//! The server always makes the wide cells; clients leave out what has priority 1.

mod known;
pub(crate) mod network;
pub(crate) mod pods;
pub(crate) mod storage;
#[cfg(test)]
mod tests;
pub(crate) mod text;
pub(crate) mod workloads;

pub(crate) use known::of;

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

/// How long ago or how long: `5s`, `3m2s`, `2d`, as kubectl users know it.
pub fn duration(seconds: i64) -> String {
    text::duration(seconds)
}

/// A label selector in the form of the query, `a=b,c in (d)`.
pub(crate) fn selector_text(selector: &Value) -> String {
    text::selector(selector)
}

/// One object on its way into a table.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    pub(crate) object: &'a Value,
    pub(crate) now: Timestamp,
}

impl<'a> Row<'a> {
    pub(crate) fn metadata(self) -> &'a Value {
        self.object.at("metadata")
    }

    pub(crate) fn spec(self) -> &'a Value {
        self.object.at("spec")
    }

    pub(crate) fn status(self) -> &'a Value {
        self.object.at("status")
    }

    pub(crate) fn name(self) -> Value {
        self.metadata().text("name").into()
    }

    pub(crate) fn age(self) -> Value {
        self.since(self.metadata().at("creationTimestamp")).into()
    }

    /// How long ago a time was; `<unknown>` for none.
    pub(crate) fn since(self, time: &Value) -> String {
        match text::time(time) {
            Some(time) => text::duration(self.now.duration_since(time).as_secs()),
            None => "<unknown>".to_owned(),
        }
    }

    pub(crate) fn is_going(self) -> bool {
        self.metadata().has("deletionTimestamp")
    }
}
