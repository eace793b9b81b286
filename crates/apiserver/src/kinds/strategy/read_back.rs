//! What defaulting adds when an object is read back from where it is stored: admission never sees it.

use serde_json::{Map, Value};

use crate::kinds::Resource;
use crate::kinds::view::{Edit, View};

/// Whether objects of this kind may be read back with more than what is stored of them.
pub(crate) fn is_read_back(resource: &Resource) -> bool {
    matches!(
        (resource.group.as_str(), resource.kind.as_str()),
        ("", "PersistentVolumeClaim") | ("batch", "Job")
    )
}

/// Gives an object what clients see of it and validating admission does not; says whether there was something to give.
pub fn read_back(resource: &Resource, object: &mut Value) -> bool {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "PersistentVolumeClaim") => {
            let status = object.part("status");
            let Some(status) = status.filter(|status| status.text("phase").is_empty()) else {
                return false;
            };
            status.fill_text("phase", "Pending");
            true
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
                return true;
            }
            false
        }
        _ => false,
    }
}
