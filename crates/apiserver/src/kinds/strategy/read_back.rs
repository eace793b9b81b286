//! What an object is read back with from where it is stored: defaults that admission never sees, and no empty maps.

use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::ReadBack;
use serde_json::{Map, Value};

use crate::kinds::Resource;

/// Whether an object may be read back as another one than is stored.
pub(crate) fn is_read_back(resource: &Resource, object: &Value) -> bool {
    (resource.custom.is_some() && !empty_maps(object).is_empty())
        || matches!(
            (resource.group.as_str(), resource.kind.as_str()),
            ("", "PersistentVolumeClaim" | "Service") | ("batch", "Job")
        )
}

/// The maps of an object's metadata that an apply stores though they are empty, and that no reader sees.
pub(crate) fn empty_maps(object: &Value) -> Vec<&'static str> {
    let metadata = object.at("metadata");
    let is_empty = |name: &&str| metadata.map(name).is_some_and(Map::is_empty);
    ["annotations", "labels"]
        .into_iter()
        .filter(is_empty)
        .collect()
}

/// Makes an object what clients see of it and validating admission does not; says how that differs from what is stored.
pub(crate) fn read_back(resource: &Resource, object: &mut Value) -> ReadBack {
    if let Some(custom) = &resource.custom {
        let empty = empty_maps(object);
        if let Some(metadata) = object.existing("metadata") {
            for name in &empty {
                metadata.drop_field(name);
            }
        }
        // A conversion to the version that is stored takes them out.
        let is_stored = custom.definition.storage == custom.name;
        return if is_stored && !empty.is_empty() {
            ReadBack::WithoutEmptyMaps
        } else {
            ReadBack::AsStored
        };
    }
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "PersistentVolumeClaim") => {
            let status = object.part("status");
            let Some(status) = status.filter(|status| status.text("phase").is_empty()) else {
                return ReadBack::AsStored;
            };
            status.fill_text("phase", "Pending");
            ReadBack::WithDefaults
        }
        ("", "Service") => {
            let spec = object.existing("spec");
            if let Some(spec) = spec.filter(|spec| spec.text("type") == "ExternalName") {
                spec.drop_field("internalTrafficPolicy");
            }
            ReadBack::AsStored
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
                return ReadBack::WithDefaults;
            }
            ReadBack::AsStored
        }
        _ => ReadBack::AsStored,
    }
}
