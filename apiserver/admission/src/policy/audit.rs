//! What policies write into the audit log.

use std::collections::BTreeMap;

use kubewright_apimachinery::go_text::html_escaped;
use serde::Serialize;

use super::binding::Binding;
use crate::level::Level;
use crate::notes::Notes;

const VALIDATION_FAILURE: &str = "validation.policy.admission.k8s.io/validation_failure";
const LONGEST_VALUE: usize = 10 * 1024;

/// One failed validation. The order of the members is the real server's.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ValidationFailure<'a> {
    message: &'a str,
    policy: &'a str,
    binding: &'a str,
    expression_index: usize,
    validation_actions: &'a [String],
}

/// Notes a failed validation whose binding says `Audit`.
pub(super) fn validation_failed(
    notes: &Notes,
    policy: &str,
    binding: &Binding,
    expression_index: usize,
    message: &str,
) {
    if !notes.keeps(Level::Metadata) {
        return;
    }
    let failure = [ValidationFailure {
        message,
        policy,
        binding: &binding.name,
        expression_index,
        validation_actions: &binding.actions,
    }];
    if let Ok(json) = serde_json::to_string(&failure) {
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
