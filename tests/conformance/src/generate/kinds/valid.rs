//! A valid object of each built-in kind.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::types::{self, TypeRef};
use serde_json::Value;

/// Valid objects: the path of the collection and the object, a line each.
const OBJECTS: &str = include_str!("objects.tsv");

#[derive(Debug)]
pub(super) struct Valid {
    pub(super) path: &'static str,
    pub(super) object: Value,
}

pub(super) static VALID: LazyLock<BTreeMap<String, Vec<Valid>>> = LazyLock::new(|| {
    let mut kinds: BTreeMap<String, Vec<Valid>> = BTreeMap::new();
    for (path, object) in OBJECTS.lines().filter_map(|line| line.split_once('\t')) {
        let object: Value = serde_json::from_str(object).expect("the table holds JSON");
        let kind = format!(
            "{} of {}",
            text(&object, "kind"),
            text(&object, "apiVersion")
        );
        kinds.entry(kind).or_default().push(Valid { path, object });
    }
    kinds
});

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

pub(super) fn root(object: &Value) -> Option<TypeRef> {
    let both = text(object, "apiVersion");
    let (group, version) = both.split_once('/').unwrap_or(("", both));
    types::root(&GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: text(object, "kind").to_owned(),
    })
}
