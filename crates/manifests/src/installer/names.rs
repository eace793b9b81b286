//! Whether objects can have the names that they are given.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{ManifestError, names};

/// Checks a name that becomes that of a namespace, a Service or a container.
pub(super) fn check_label(what: &'static str, name: &str) -> Result<(), ManifestError> {
    // The names of Services do not begin with a digit.
    if names::is_label(name) && !name.starts_with(|first: char| first.is_ascii_digit()) {
        return Ok(());
    }
    Err(ManifestError::no_name(what, name))
}

/// Checks that no two objects are the same for an API server.
pub(super) fn check_unique(objects: &[Value]) -> Result<(), ManifestError> {
    let mut seen = BTreeSet::new();
    for object in objects {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = text(&object["apiVersion"]);
        let group = version.rsplit_once('/').map_or("", |(group, _)| group);
        let kind = text(&object["kind"]);
        let metadata = &object["metadata"];
        let (namespace, name) = (text(&metadata["namespace"]), text(&metadata["name"]));
        let key = (group.to_owned(), kind.clone(), namespace, name.clone());
        if !seen.insert(key) {
            return Err(ManifestError::Clash { kind, name });
        }
    }
    Ok(())
}
