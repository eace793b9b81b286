//! The patch that `kubectl apply` sends: from what was applied before, what is applied now, and what the cluster has.
//!
//! Fields that were applied before and are no longer there are deleted; fields that others have set stay.

use kubewright_apimachinery::types::{FieldRef, TypeRef};
use serde_json::{Map, Value, json};

type Object = Map<String, Value>;

/// The three states of an object, or of a part of it.
#[derive(Clone, Copy)]
struct States<'a> {
    /// As it was applied before.
    original: &'a Object,
    /// As it is applied now.
    modified: &'a Object,
    /// As the cluster has it.
    current: &'a Object,
}

/// A strategic merge patch for an object of a built-in type; a JSON merge patch without a type.
///
/// Empty if nothing changes.
pub(crate) fn patch(
    original: &Object,
    modified: &Object,
    current: &Object,
    of: Option<TypeRef>,
) -> Object {
    let states = States {
        original,
        modified,
        current,
    };
    of_maps(states, of)
}

fn of_maps(states: States<'_>, of: Option<TypeRef>) -> Object {
    let mut patch = Object::new();
    for (key, wanted) in states.modified {
        let field = of.and_then(|of| of.field(key));
        let Some(has) = states.current.get(key) else {
            if !wanted.is_null() {
                patch.insert(key.clone(), wanted.clone());
            }
            continue;
        };
        match (wanted, has) {
            (Value::Object(wanted), Value::Object(has)) => {
                of_map(&mut patch, states, key, (wanted, has), field);
            }
            (Value::Array(wanted), Value::Array(has)) if is_merged(field) => {
                let original = list(states.original, key);
                of_merged_lists(&mut patch, key, [original, wanted, has], field);
            }
            (wanted, has) if wanted != has => {
                patch.insert(key.clone(), wanted.clone());
            }
            _ => {}
        }
    }
    let gone = states
        .original
        .keys()
        .filter(|key| !states.modified.contains_key(*key));
    for key in gone.filter(|key| states.current.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    patch
}

fn of_map(
    patch: &mut Object,
    states: States<'_>,
    key: &str,
    (wanted, has): (&Object, &Object),
    field: Option<FieldRef>,
) {
    let merge = field.map(FieldRef::merge).unwrap_or_default();
    if merge.replace {
        if wanted != has {
            let mut whole = wanted.clone();
            whole.insert("$patch".to_owned(), "replace".into());
            patch.insert(key.to_owned(), whole.into());
        }
        return;
    }
    let none = Object::new();
    let original = states.original.get(key).and_then(Value::as_object);
    let states = States {
        original: original.unwrap_or(&none),
        modified: wanted,
        current: has,
    };
    let mut inner = of_maps(states, field.and_then(|field| field.slot().object()));
    if !inner.is_empty() {
        if merge.retain_keys {
            retain_keys(&mut inner, wanted);
        }
        patch.insert(key.to_owned(), inner.into());
    }
}

/// Lists whose elements are merged: by a key, or as scalars.
fn of_merged_lists(
    patch: &mut Object,
    key: &str,
    [original, wanted, has]: [&[Value]; 3],
    field: Option<FieldRef>,
) {
    let merge = field.map(FieldRef::merge).unwrap_or_default();
    let Some(merge_key) = merge.key else {
        let added: Vec<Value> = wanted
            .iter()
            .filter(|value| !has.contains(value))
            .cloned()
            .collect();
        let gone = original
            .iter()
            .filter(|value| !wanted.contains(value) && has.contains(value));
        let gone: Vec<Value> = gone.cloned().collect();
        if added.is_empty() && gone.is_empty() {
            return;
        }
        if !gone.is_empty() {
            patch.insert(format!("$deleteFromPrimitiveList/{key}"), gone.into());
        }
        if !added.is_empty() {
            patch.insert(key.to_owned(), added.into());
        }
        patch.insert(format!("$setElementOrder/{key}"), wanted.to_vec().into());
        return;
    };
    let of = field.and_then(|field| field.slot().object());
    let mut elements: Vec<Value> = Vec::new();
    for element in wanted {
        elements.extend(of_element(
            element,
            [original, has],
            merge_key,
            of,
            merge.retain_keys,
        ));
    }
    let name = |element: &Value| element.get(merge_key).cloned();
    for element in original {
        let is_wanted = wanted.iter().any(|other| name(other) == name(element));
        let is_there = has.iter().any(|other| name(other) == name(element));
        if let (false, true, Some(name)) = (is_wanted, is_there, name(element)) {
            elements.push(json!({ "$patch": "delete", merge_key: name }));
        }
    }
    let order: Vec<Value> = wanted.iter().filter_map(name).collect();
    let common = |list: &[Value], other: &[Value]| -> Vec<Value> {
        let names = list.iter().filter_map(name);
        names
            .filter(|name| {
                other
                    .iter()
                    .any(|element| element.get(merge_key) == Some(name))
            })
            .collect()
    };
    if elements.is_empty() && common(wanted, has) == common(has, wanted) {
        return;
    }
    if !elements.is_empty() {
        patch.insert(key.to_owned(), elements.into());
    }
    let order: Vec<Value> = order
        .into_iter()
        .map(|name| json!({ merge_key: name }))
        .collect();
    patch.insert(format!("$setElementOrder/{key}"), order.into());
}

/// How an element of a list changes: not at all, in part, or by being new.
fn of_element(
    wanted: &Value,
    [original, has]: [&[Value]; 2],
    merge_key: &str,
    of: Option<TypeRef>,
    retains: bool,
) -> Option<Value> {
    let same = |list: &[Value]| -> Option<Object> {
        let mut elements = list.iter();
        let found = elements.find(|other| other.get(merge_key) == wanted.get(merge_key));
        found.and_then(Value::as_object).cloned()
    };
    let (Some(current), Some(modified)) = (same(has), wanted.as_object()) else {
        return Some(wanted.clone());
    };
    let original = same(original).unwrap_or_default();
    let states = States {
        original: &original,
        modified,
        current: &current,
    };
    let mut inner = of_maps(states, of);
    if inner.is_empty() {
        return None;
    }
    if retains {
        retain_keys(&mut inner, modified);
    }
    if let Some(name) = modified.get(merge_key) {
        inner.insert(merge_key.to_owned(), name.clone());
    }
    Some(inner.into())
}

fn retain_keys(patch: &mut Object, wanted: &Object) {
    let keys: Vec<Value> = wanted.keys().map(|key| key.as_str().into()).collect();
    patch.insert("$retainKeys".to_owned(), keys.into());
}

fn is_merged(field: Option<FieldRef>) -> bool {
    field.is_some_and(|field| field.merge().merge)
}

fn list<'a>(object: &'a Object, key: &str) -> &'a [Value] {
    object
        .get(key)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use kubewright_apimachinery::meta::GroupVersionKind;
    use kubewright_apimachinery::patch::{merge, strategic};
    use kubewright_apimachinery::types;

    use super::*;

    fn deployment() -> Option<TypeRef> {
        types::root(&GroupVersionKind::from_api_version_and_kind(
            "apps/v1",
            "Deployment",
        ))
    }

    fn object(value: Value) -> Object {
        match value {
            Value::Object(object) => object,
            _ => Object::new(),
        }
    }

    fn applied(original: Value, modified: Value, current: Value) -> Value {
        let (original, modified) = (object(original), object(modified));
        let mut current = object(current);
        let patch = patch(&original, &modified, &current, deployment());
        let of = strategic::Place::Object(deployment().unwrap());
        strategic::apply(&mut current, patch, &of).unwrap();
        current.into()
    }

    fn containers(containers: &Value) -> Value {
        json!({"spec": {"template": {"spec": {"containers": containers}}}})
    }

    #[test]
    fn what_others_have_set_stays() {
        let now = applied(
            containers(&json!([{"name": "a", "image": "a:1"}])),
            containers(&json!([{"name": "a", "image": "a:2"}])),
            containers(
                &json!([{"name": "sidecar", "image": "s"}, {"name": "a", "image": "a:1", "stdin": true}]),
            ),
        );
        let expected = json!([{"name": "sidecar", "image": "s"}, {"name": "a", "image": "a:2", "stdin": true}]);
        assert_eq!(now, containers(&expected));
    }

    #[test]
    fn what_was_applied_before_and_is_left_out_now_is_deleted() {
        let now = applied(
            containers(
                &json!([{"name": "a", "image": "a", "tty": true}, {"name": "b", "image": "b"}]),
            ),
            containers(&json!([{"name": "a", "image": "a"}])),
            containers(
                &json!([{"name": "a", "image": "a", "tty": true}, {"name": "b", "image": "b"}]),
            ),
        );
        assert_eq!(now, containers(&json!([{"name": "a", "image": "a"}])));
    }

    #[test]
    fn a_new_kind_of_volume_takes_the_place_of_the_old_one() {
        let volumes =
            |volume: Value| json!({"spec": {"template": {"spec": {"volumes": [volume]}}}});
        let now = applied(
            json!({}),
            volumes(json!({"name": "v", "configMap": {"name": "c"}})),
            volumes(json!({"name": "v", "emptyDir": {}})),
        );
        assert_eq!(
            now,
            volumes(json!({"name": "v", "configMap": {"name": "c"}}))
        );
    }

    #[test]
    fn the_order_of_elements_is_that_of_the_manifest() {
        let (one, two) = (
            json!({"name": "a", "image": "a"}),
            json!({"name": "b", "image": "b"}),
        );
        let now = applied(
            json!({}),
            containers(&json!([two, one])),
            containers(&json!([one, two])),
        );
        assert_eq!(now, containers(&json!([two, one])));
    }

    #[test]
    fn finalizers_are_merged_as_a_set() {
        let finalizers = |names: &[&str]| json!({"metadata": {"finalizers": names}});
        let now = applied(
            finalizers(&["a/a", "b/b"]),
            finalizers(&["a/a", "c/c"]),
            finalizers(&["a/a", "b/b", "x/x"]),
        );
        let mut left: Vec<Value> = now["metadata"]["finalizers"].as_array().unwrap().clone();
        left.sort_by_key(Value::to_string);
        assert_eq!(left, ["a/a", "c/c", "x/x"]);
    }

    #[test]
    fn nothing_is_sent_when_nothing_changes() {
        let same = object(containers(&json!([{"name": "a", "image": "a"}])));
        assert_eq!(patch(&same, &same, &same, deployment()), Object::new());
    }

    #[test]
    fn lists_of_custom_resources_are_replaced() {
        let (modified, current) = (
            object(json!({"l": [{"name": "a"}]})),
            object(json!({"l": [{"name": "b"}], "x": 1})),
        );
        let mut now = Value::Object(current.clone());
        merge::apply(
            &mut now,
            patch(&Object::new(), &modified, &current, None).into(),
        );
        assert_eq!(now, json!({"l": [{"name": "a"}], "x": 1}));
    }
}
