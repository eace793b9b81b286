//! The name of a class in a table, which says whether it is the default.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::columns::Row;

pub(super) fn default_name(row: Row<'_>, marks: &[&str]) -> Value {
    let annotations = row.metadata().at("annotations");
    let name = row.metadata().text("name");
    if marks.iter().any(|mark| annotations.text(mark) == "true") {
        format!("{name} (default)").into()
    } else {
        name.into()
    }
}
