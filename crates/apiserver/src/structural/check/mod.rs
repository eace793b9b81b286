//! What is wrong with the schema of a definition.

mod defaults;
mod openapi;
mod root;
mod shown;
mod structure;

use serde_json::Value;

use super::schema::Schema;
use crate::field::{FieldError, Path};

/// What is wrong with an `openAPIV3Schema`, in the words and the order of the real server. `status` is whether the
/// definition has the sub-resource of that name, which keeps some things out of the root.
pub fn check(schema: &Value, at: &Path<'_>, status: bool) -> Vec<FieldError> {
    let mut errors = Vec::new();
    root::check(schema, at, status, &mut errors);
    let before = errors.len();
    let unsupported = structure::unsupported(schema);
    if unsupported.is_none() {
        structure::check(schema, at, &mut errors);
        if errors.len() == before {
            defaults::check(&Schema::read(schema), at, &mut errors);
        }
    }
    openapi::check(schema, at, &mut errors);
    if let Some(text) = unsupported
        && errors.is_empty()
    {
        errors.push(FieldError::invalid(at, "", text));
    }
    errors
}
