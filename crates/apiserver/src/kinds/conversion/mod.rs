//! Conversion between the served versions of the same stored object.

use serde_json::Value;

use super::Resource;
use crate::status;

/// Turns an object of `from` into one of `to`: another version of the same objects.
///
/// # Errors
///
/// Answers a Status when there is no conversion between the two.
pub fn convert(from: &Resource, to: &Resource, object: &mut Value) -> status::Result<()> {
    if let Value::Object(map) = object
        && (from.group != to.group || from.version != to.version)
        && map.contains_key("apiVersion")
    {
        map.insert("apiVersion".to_owned(), to.api_version().into());
    }
    Ok(())
}
