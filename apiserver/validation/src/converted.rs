//! Labels and annotations that a conversion webhook returned.

use kubewright_apimachinery::field::{FieldError, Path};
use serde_json::{Map, Value};

use crate::check;

/// The labels or annotations that a conversion webhook gave an object, at the paths that the real server shows.
pub fn converted_entries(field: &str, entries: &Map<String, Value>) -> Vec<FieldError> {
    let mut holder = Map::new();
    holder.insert(field.to_owned(), Value::Object(entries.clone()));
    let (holder, path) = (Value::Object(holder), Path::new("metadata"));
    let mut errors = Vec::new();
    if field == "labels" {
        check::labels(&holder, &path, field, &mut errors);
    } else {
        check::annotations_at(&holder, &path.child("annotation"), &mut errors);
    }
    errors
}
