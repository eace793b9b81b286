//! The cells of definitions in tables.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::conditions;

pub(super) fn cells(definition: &Value) -> Vec<Value> {
    let (metadata, spec) = (definition.at("metadata"), definition.at("spec"));
    let names = spec.at("names");
    let served = spec.list("versions").iter();
    let served = served.filter(|version| version.at("served") == true);
    let mut versions: Vec<String> = served
        .map(|version| {
            let is_stored = version.at("storage") == true;
            let mark = if is_stored { "(storage)" } else { "" };
            format!("{}{mark}", version.text("name"))
        })
        .collect();
    versions.sort_unstable();
    let short_names = names.list("shortNames").iter();
    let short_names: Vec<&str> = short_names.filter_map(Value::as_str).collect();
    vec![
        metadata.text("name").into(),
        spec.text("scope").into(),
        versions.join(",").into(),
        metadata.at("creationTimestamp").clone(),
        spec.text("group").into(),
        names.text("kind").into(),
        short_names.join(",").into(),
        conditions::is_true(definition, "Established").into(),
    ]
}
