//! The columns of both kinds of admission policies.

use kubewright_apimachinery::view::View;

use crate::columns::Row;
use serde_json::Value;

pub(super) fn cells(row: Row<'_>, rules: &str) -> Vec<Value> {
    let kind = row.spec().at("paramKind");
    let kind = if kind.is_null() {
        "<unset>".to_owned()
    } else {
        format!("{}/{}", kind.text("apiVersion"), kind.text("kind"))
    };
    let rules = row.spec().list(rules).len().into();
    vec![row.name(), rules, kind.into(), row.age()]
}
