//! What is wrong with the schema of a definition.

mod defaults;
mod openapi;
mod root;
mod rules;
mod shown;
mod structure;

pub use defaults::settle as settle_defaults;
pub use shown::schema as shown;

use kubewright_apimachinery::field::{FieldError, Path};
use serde_json::Value;

use super::schema::Schema;

/// What is wrong with an `openAPIV3Schema`, in the words and the order of the real server. `status` is whether the
/// definition has the sub-resource of that name, which keeps some things out of the root.
pub fn check(schema: &Value, at: &Path<'_>, status: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    root::check(schema, at, status, &mut errors);
    let before = errors.len();
    let unsupported = structure::unsupported(schema);
    let mut read = None;
    if unsupported.is_none() {
        structure::check(schema, at, &mut errors);
        if errors.len() == before {
            let mut compiled = Schema::read(schema);
            super::rules::compile(&mut compiled);
            defaults::check(&compiled, at, &mut errors);
            read = Some(compiled);
        }
    }
    // Rules are looked at where the schema is structural and its defaults fit.
    let mut rules = read
        .as_ref()
        .filter(|_| errors.len() == before)
        .map(rules::Checks::new);
    openapi::check(schema, at, &mut rules, &mut errors);
    if let Some(text) = unsupported.filter(|_| errors.is_empty()) {
        errors.push(FieldError::invalid(at, "", text));
    }
    if let Some(rules) = rules {
        rules.total(at, &mut errors);
    }
    errors
}
