//! Semantic equality: whether Go's structs of two objects are deeply equal.
//!
//! A missing list or map equals an empty one, and a missing value equals its zero value; a missing struct behind a pointer does not
//! equal an empty one. Quantities are equal by their amount, however they are written.
//!
//! ```
//! use kubewright_apimachinery::equality;
//! use kubewright_apimachinery::meta::GroupVersionKind;
//! use serde_json::json;
//!
//! let pods = GroupVersionKind::from_api_version_and_kind("v1", "Pod");
//! let (bare, spelled_out) = (json!({}), json!({"spec": {"tolerations": [], "hostNetwork": false}}));
//! assert!(equality::same(&pods, &bare, &spelled_out));
//! assert!(!equality::same(&pods, &bare, &json!({"spec": {"affinity": {}}})));
//! ```

use serde_json::{Map, Value};

use crate::conform::is_zero_time;
use crate::meta::GroupVersionKind;
use crate::quantity::Quantity;
use crate::types::{self, Shape, Slot, Type};

/// Returns whether two objects of a built-in kind are semantically equal. Objects of other kinds have to be equal as JSON.
pub fn same(kind: &GroupVersionKind, a: &Value, b: &Value) -> bool {
    match types::root(kind) {
        Some(root) => members(root.inner(), a, b),
        None => a == b,
    }
}

/// Returns whether one field of two objects of a kind is semantically equal.
pub fn same_field(kind: &GroupVersionKind, name: &str, a: &Value, b: &Value) -> bool {
    let (a, b) = (member(a, name), member(b, name));
    let root = types::root(kind).map(types::TypeRef::inner);
    match root.and_then(|root| root.field(name)) {
        Some(field) => values(&field.slot, field.pointer, a, b),
        None => a == b,
    }
}

/// Returns whether two values of a built-in type are semantically equal, by the name of the type: `api.core.v1.PodSpec`. Values
/// of other types have to be equal as JSON.
pub fn same_type(name: &str, a: &Value, b: &Value) -> bool {
    match types::by_name(name) {
        Some(of) => members(of.inner(), a, b),
        None => a == b,
    }
}

fn member<'a>(object: &'a Value, name: &str) -> &'a Value {
    object.get(name).unwrap_or(&Value::Null)
}

fn members(ty: &'static Type, a: &Value, b: &Value) -> bool {
    let empty = Map::new();
    let (left, right) = (
        a.as_object().unwrap_or(&empty),
        b.as_object().unwrap_or(&empty),
    );
    let only_right = right.keys().filter(|name| !left.contains_key(*name));
    left.keys().chain(only_right).all(|name| {
        let (a, b) = (member(a, name), member(b, name));
        match ty.field(name) {
            // A null that is there is a pointer to the zero time.
            Some(field)
                if field.pointer
                    && matches!(field.slot.shape, Shape::Time | Shape::MicroTime)
                    && left.contains_key(name) != right.contains_key(name) =>
            {
                false
            }
            Some(field) => values(&field.slot, field.pointer, a, b),
            None => a == b,
        }
    })
}

fn values(slot: &Slot, pointer: bool, a: &Value, b: &Value) -> bool {
    match &slot.shape {
        Shape::Object(_) if pointer && a.is_null() != b.is_null() => false,
        Shape::Object(reference) => members(reference.get().inner(), a, b),
        Shape::List(item) => {
            let (a, b) = (items(a), items(b));
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| values(item, false, a, b))
        }
        Shape::Map(_, item) => {
            let empty = Map::new();
            let (a, b) = (
                a.as_object().unwrap_or(&empty),
                b.as_object().unwrap_or(&empty),
            );
            a.len() == b.len()
                && a.iter().all(|(key, value)| {
                    b.get(key)
                        .is_some_and(|other| values(item, false, value, other))
                })
        }
        Shape::Quantity if !a.is_null() && !b.is_null() => {
            let same = |amount| Some(amount) == Quantity::from_value(b);
            a == b || Quantity::from_value(a).is_some_and(same)
        }
        _ if pointer => a == b,
        Shape::Time | Shape::MicroTime => {
            let is_none = |time: &Value| time.is_null() || is_zero_time(time, slot);
            a == b || (is_none(a) && is_none(b))
        }
        _ => a == b || (is_zero(a) && is_zero(b)),
    }
}

fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// What Go has where nothing is said.
fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(is) => !is,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn same_specs(kind: &str, a: &Value, b: &Value) -> bool {
        let (group, kind) = kind.split_once('/').unwrap();
        let kind = GroupVersionKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: kind.to_owned(),
        };
        let object = |spec: &Value| json!({ "spec": spec });
        assert_eq!(
            same_field(&kind, "spec", &object(a), &object(b)),
            same(&kind, &object(a), &object(b))
        );
        same_field(&kind, "spec", &object(a), &object(b))
    }

    #[test]
    fn quantities_are_equal_by_their_amount() {
        let with = |limit: &str| {
            let resources = json!({ "limits": { "cpu": limit } });
            json!({ "template": { "spec": { "containers": [{ "resources": resources }] } } })
        };
        let deployment = |a, b| same_specs("apps/Deployment", &with(a), &with(b));
        assert!(deployment("1", "+1"));
        assert!(deployment("1Ki", " 1024"));
        assert!(!deployment("1", "1m"));
        assert!(!deployment("one", "two"));
    }

    #[test]
    fn an_empty_struct_behind_a_pointer_is_not_nothing() {
        let with = |pod: Value| json!({ "template": { "spec": pod } });
        let deployment = |a, b| same_specs("apps/Deployment", &with(a), &with(b));
        assert!(!deployment(json!({}), json!({"affinity": {}})));
        assert!(!deployment(json!({"securityContext": {}}), json!({})));
        assert!(deployment(json!({"affinity": {}}), json!({"affinity": {}})));
        assert!(same_specs(
            "apps/Deployment",
            &json!({}),
            &json!({"strategy": {}})
        ));
    }

    #[test]
    fn nothing_and_an_empty_list_map_or_text_are_one() {
        let pod = |a, b| same_specs("/Pod", &a, &b);
        assert!(pod(
            json!({}),
            json!({"tolerations": [], "nodeSelector": {}, "nodeName": "", "hostNetwork": false})
        ));
        assert!(!pod(json!({}), json!({"tolerations": [{}]})));
        assert!(!pod(json!({}), json!({"nodeSelector": {"a": ""}})));
        assert!(
            !pod(json!({}), json!({"runtimeClassName": ""})),
            "a pointer"
        );
        assert!(
            !pod(json!({}), json!({"enableServiceLinks": false})),
            "a pointer"
        );
    }

    #[test]
    fn objects_of_unknown_kinds_are_the_same_when_they_are_equal() {
        let kind = GroupVersionKind {
            group: "example.com".to_owned(),
            version: "v1".to_owned(),
            kind: "Box".to_owned(),
        };
        let (a, b) = (json!({"spec": {}}), json!({"spec": {"m": {}}}));
        assert!(!same(&kind, &a, &b));
        assert!(same(&kind, &b, &b));
    }
}
