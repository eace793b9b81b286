//! The columns of definitions, and their cells.

use kubewright_apimachinery::view::View;
use kubewright_registry::Column;
use serde_json::Value;

use super::conditions;

pub(super) const COLUMNS: [Column<'static>; 8] = [
    Column {
        format: "name",
        ..column("Name", "the name: the plural and the group")
    },
    column("Scope", "whether its objects are in namespaces"),
    column("Versions", "the versions that are served"),
    Column {
        kind: "date",
        ..column("Created At", "when the definition was created")
    },
    wide("Group", "the group of its objects"),
    wide("Kind", "the kind of its objects"),
    wide("ShortNames", "short names of its objects"),
    Column {
        kind: "boolean",
        ..wide("Established", "whether its objects are served")
    },
];

const fn column(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        name,
        kind: "string",
        format: "",
        description,
        priority: 0,
    }
}

const fn wide(name: &'static str, description: &'static str) -> Column<'static> {
    Column {
        priority: 1,
        ..column(name, description)
    }
}

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
