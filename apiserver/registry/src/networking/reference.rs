//! References to objects of any kind.

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, Required, problems, subdomain};

/// A reference to an object of any kind: its group, kind and name.
pub(super) fn reference(
    reference: &Value,
    path: &Path<'_>,
    required: Required,
    errors: &mut Errors,
) {
    if reference.has("apiGroup") {
        let group = reference.text("apiGroup");
        subdomain(&path.child("apiGroup"), group, errors);
    }
    for field in ["kind", "name"] {
        if required(reference, path, field, errors) {
            segment(reference, field, path, errors);
        }
    }
}

pub(super) fn segment(holder: &Value, field: &str, path: &Path<'_>, errors: &mut Errors) {
    let text = holder.text(field);
    problems(&path.child(field), text, names::path_segment(text), errors);
}
