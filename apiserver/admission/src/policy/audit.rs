//! What policies write into the audit log.

use std::collections::BTreeMap;

use kubewright_apimachinery::go_text::html_escaped;
use serde::Serialize;

use crate::level::Level;
use crate::notes::Notes;

const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
const MOST_FAILURES: usize = 50;
const LONGEST_VALUE: usize = 10 * 1024;

/// One failed validation whose binding says `Audit`. The order of the members is the real server's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ValidationFailure {
    pub(super) message: String,
    pub(super) policy: String,
    pub(super) binding: String,
    pub(super) expression_index: usize,
    pub(super) validation_actions: Vec<String>,
}

/// Notes the failed validations of a request; too many would fill the log.
pub(super) fn validations_failed(notes: &Notes, failures: &[ValidationFailure]) {
    if failures.is_empty() || !notes.keeps(Level::Metadata) {
        return;
    }
    let noted = &failures[..failures.len().min(MOST_FAILURES)];
    if let Ok(json) = serde_json::to_string(noted) {
        notes.annotate(VALIDATION_FAILURE, html_escaped(json));
    }
}

/// The audit annotations of one policy: bindings may give a key several values.
#[derive(Debug, Default)]
pub(super) struct Annotations(BTreeMap<String, Vec<String>>);

impl Annotations {
    pub(super) fn add(&mut self, key: &str, value: &str) {
        let value = cut(value);
        let values = self.0.entry(key.to_owned()).or_default();
        if !values.iter().any(|known| known == value) {
            values.push(value.to_owned());
        }
    }

    pub(super) fn publish(self, policy: &str, notes: &Notes) {
        for (key, values) in self.0 {
            notes.annotate(&format!("{policy}/{key}"), values.join(", "));
        }
    }
}

/// The real server cuts at a byte; here the character that would be cut goes, too.
fn cut(value: &str) -> &str {
    let mut end = value.len().min(LONGEST_VALUE);
    while !value.is_char_boundary(end) {
        end -= 1;
    }
    &value[..end]
}
