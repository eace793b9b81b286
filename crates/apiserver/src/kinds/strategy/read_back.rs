//! What defaulting adds when an object is read back from where it is stored: admission never sees it.

use serde_json::{Map, Value};

use crate::kinds::Resource;
use crate::kinds::view::{Edit, View};

/// Gives a new object what clients see of it and validating admission does not.
pub fn read_back(resource: &Resource, object: &mut Value) {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "PersistentVolumeClaim") => {
            if let Some(status) = object.part("status") {
                status.fill_text("phase", "Pending");
            }
        }
        ("batch", "Job") => {
            let template = object.at("spec").at("template");
            let labels = template.at("metadata").at("labels").clone();
            let own = object.at("metadata").map("labels");
            if own.is_none_or(Map::is_empty)
                && !labels.is_null()
                && let Some(metadata) = object.part("metadata")
            {
                metadata.put("labels", labels);
            }
        }
        _ => {}
    }
}
