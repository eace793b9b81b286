//! A kind as an older version has it.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use kubewright_storage::ReadBack;
use serde_json::Value;

use super::gates::{Closed, Filled};
use super::paths;
use super::rules::Rule;
use crate::behavior::Behavior;
use crate::column::Column;
use crate::strategy::{Creation, Findings, Strategy};

/// The rules of a kind without what came later.
#[derive(Debug)]
pub(crate) struct Older {
    newest: Arc<dyn Strategy>,
    closed: Vec<Closed>,
    rules: Vec<Rule>,
}

impl Older {
    pub(super) fn new(newest: Arc<dyn Strategy>, closed: Vec<Closed>, rules: Vec<Rule>) -> Self {
        Self {
            newest,
            closed,
            rules,
        }
    }

    /// Closes the gates, before the newest version's rules see the object unless one says otherwise: what is dropped counts
    /// as no change.
    fn close(&self, object: &mut Value, old: &Value) {
        for gate in self.closed.iter().filter(|gate| gate.is_of(old)) {
            gate.close(object, old);
        }
    }

    /// Lets the newest version prepare an object, but for the fields that only it sets: they stay as they are.
    fn prepared(&self, object: &mut Value, prepare: impl FnOnce(&mut Value)) {
        let own: Vec<(&str, Option<Value>)> = self
            .filled(Filled::Prepared)
            .map(|field| (field, paths::field(object, field).cloned()))
            .collect();
        prepare(object);
        for (field, sent) in own {
            match sent {
                Some(sent) => paths::set(object, field, sent),
                None => paths::drop(object, field),
            }
        }
    }

    fn filled(&self, how: Filled) -> impl Iterator<Item = &'static str> {
        self.closed.iter().flat_map(move |gate| gate.filled(how))
    }
}

impl Strategy for Older {
    fn default(&self, object: &mut Value) {
        let fields = self.filled(Filled::Defaulted);
        let absent: Vec<_> = fields.filter(|field| !paths::has(object, field)).collect();
        self.newest.default(object);
        for field in absent {
            paths::drop(object, field);
        }
    }

    fn prepare_for_create(&self, object: &mut Value, creation: &mut Creation<'_>) {
        self.close(object, &Value::Null);
        self.prepared(object, |object| {
            self.newest.prepare_for_create(object, creation);
        });
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        for rule in &self.rules {
            rule.prepare(subresource, new, old);
        }
        let counts_dropped = self.rules.contains(&Rule::CountsDropped);
        if !counts_dropped {
            self.close(new, old);
        }
        self.prepared(new, |new| {
            self.newest.prepare_for_update(subresource, new, old);
        });
        if counts_dropped {
            self.close(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.newest.validate(object, found);
        for rule in &self.rules {
            rule.check(object, &Value::Null, found);
        }
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        self.newest.validate_update(subresource, new, old, found);
        for rule in &self.rules {
            rule.check(new, old, found);
        }
    }

    fn conversion_fault(&self, object: &Value) -> Option<String> {
        self.newest.conversion_fault(object)
    }

    fn complete_for_audit(&self, object: &mut Value) {
        self.newest.complete_for_audit(object);
    }

    fn status_warnings(&self, new: &Value) -> Vec<String> {
        self.newest.status_warnings(new)
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        let mut warnings = self.newest.warnings(new, old);
        for rule in &self.rules {
            rule.warn(&mut warnings);
        }
        warnings
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        self.newest.reset_fields(subresource)
    }

    fn may_not_fit(&self) -> bool {
        self.newest.may_not_fit()
    }

    fn with_unseen_bytes(&self, old: &Value, new: &Value) -> Option<Value> {
        self.newest.with_unseen_bytes(old, new)
    }

    fn held(&self, stored: &dyn Fn() -> Value) -> Option<Value> {
        self.newest.held(stored)
    }

    fn is_read_back(&self, object: &Value) -> bool {
        self.newest.is_read_back(object)
    }

    fn read_back(&self, object: &mut Value) -> ReadBack {
        self.newest.read_back(object)
    }

    fn decorate(&self, object: &mut Value) {
        self.newest.decorate(object);
    }

    fn convert(&self, object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        self.newest.convert(object, from, to)
    }

    fn columns(&self, kind: (&str, &str)) -> Vec<Column<'_>> {
        self.newest.columns(kind)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        self.newest.cells(object, now)
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        self.newest.check_field(field)
    }

    fn indexed_field(&self) -> Option<&'static str> {
        self.newest.indexed_field()
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        self.newest.field_value(object, field)
    }

    fn behavior(&self) -> Behavior {
        self.newest.behavior()
    }

    fn grace_period(&self, object: &Value, requested: Option<i64>) -> Option<i64> {
        self.newest.grace_period(object, requested)
    }

    fn refuses_new(&self) -> Option<&str> {
        self.newest.refuses_new()
    }

    fn deprecation(&self) -> Option<&str> {
        self.newest.deprecation()
    }

    fn is_unstructured(&self) -> bool {
        self.newest.is_unstructured()
    }

    fn installs_routes(&self) -> bool {
        self.newest.installs_routes()
    }

    fn converts_by_webhook(&self) -> bool {
        self.newest.converts_by_webhook()
    }

    fn serves_storage_version(&self) -> bool {
        self.newest.serves_storage_version()
    }

    fn shows_as_stored(&self, text: &[u8], revision: Option<u64>) -> bool {
        self.newest.shows_as_stored(text, revision)
    }

    fn has_version(&self, api_version: &str) -> bool {
        self.newest.has_version(api_version)
    }
}
