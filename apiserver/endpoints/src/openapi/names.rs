//! How OpenAPI documents name kinds, operations and places.

use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::{Value, json};

/// What the schema of a kind without a type is called: `com.example.v1.Widget`.
pub(super) fn name_of(kind: &GroupVersionKind) -> String {
    let mut words: Vec<&str> = kind.group.rsplit('.').collect();
    words.extend([&*kind.version, &*kind.kind]);
    words.join(".")
}

/// A kind as OpenAPI extensions name it.
pub(super) fn kind_value(kind: &GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

/// The letters and digits of a name, with a capital behind each that is neither.
pub(super) fn identifier(name: &str, mut capital: bool) -> String {
    let mut out = String::new();
    for letter in name.chars() {
        if !letter.is_ascii_alphanumeric() {
            capital = true;
        } else if capital {
            out.push(letter.to_ascii_uppercase());
            capital = false;
        } else {
            out.push(letter);
        }
    }
    out
}

/// `api/v1` or `apis/apps/v1`.
pub(super) fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}
