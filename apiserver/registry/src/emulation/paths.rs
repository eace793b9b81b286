//! Fields of an object by paths such as `spec.devices[].taints`, where `[]` is each element of a list and `{}` each value of a map.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

/// Returns whether an object has the field somewhere.
pub(super) fn has(object: &Value, path: &str) -> bool {
    let Some((first, rest)) = path.split_once('.') else {
        return object.has(path);
    };
    if let Some(list) = first.strip_suffix("[]") {
        return object.list(list).iter().any(|item| has(item, rest));
    }
    if let Some(map) = first.strip_suffix("{}") {
        return object.entries(map).any(|(_, value)| has(value, rest));
    }
    has(object.at(first), rest)
}

/// The value of a field; its path has neither lists nor maps.
pub(super) fn field<'o>(object: &'o Value, path: &str) -> Option<&'o Value> {
    path.split('.')
        .try_fold(object, |part, name| part.get(name))
}

/// Sets a field of an object that has what is around it; its path has neither lists nor maps.
pub(super) fn set(object: &mut Value, path: &str, value: Value) {
    match path.split_once('.') {
        None => object.put(path, value),
        Some((first, rest)) => {
            if let Some(part) = object.existing(first) {
                set(part, rest, value);
            }
        }
    }
}

/// Takes the field out wherever an object has it.
pub(super) fn drop(object: &mut Value, path: &str) {
    let Some((first, rest)) = path.split_once('.') else {
        object.drop_field(path);
        return;
    };
    if let Some(list) = first.strip_suffix("[]") {
        object.each(list).for_each(|item| drop(item, rest));
    } else if let Some(map) = first.strip_suffix("{}") {
        let map = object.existing(map).and_then(Value::as_object_mut);
        for value in map.into_iter().flat_map(serde_json::Map::values_mut) {
            drop(value, rest);
        }
    } else if let Some(part) = object.existing(first) {
        drop(part, rest);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_is_taken_out_of_each_element_and_value() {
        let mut object = json!({"a": [{"b": {"x": {"c": 1}, "y": {"d": 2}}}, {}], "c": 3});
        assert!(has(&object, "a[].b{}.c"));
        drop(&mut object, "a[].b{}.c");
        assert_eq!(
            object,
            json!({"a": [{"b": {"x": {}, "y": {"d": 2}}}, {}], "c": 3})
        );
        assert!(!has(&object, "a[].b{}.c"));
        assert!(has(&object, "c"));
    }

    #[test]
    fn what_has_another_type_is_left_alone() {
        for object in [json!(null), json!({"a": "text"}), json!({"a": {"b": 1}})] {
            let mut same = object.clone();
            drop(&mut same, "a[].b");
            assert_eq!(same, object);
            assert!(!has(&object, "a[].b"));
        }
    }
}
