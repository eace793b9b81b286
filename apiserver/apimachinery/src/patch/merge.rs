//! JSON merge patch (RFC 7386): objects merge, null deletes, everything else replaces.
//!
//! As in the library of the real server, what comes where there was no object loses the nulls that its objects have, also
//! those in lists; a list that replaces an object's value keeps them.
//!
//! ```
//! use kubewright_apimachinery::patch::merge;
//! use serde_json::json;
//!
//! let mut object = json!({"data": {"a": "1", "b": "2"}});
//! merge::apply(&mut object, json!({"data": {"a": null, "c": "3"}}));
//! assert_eq!(object, json!({"data": {"b": "2", "c": "3"}}));
//! ```

use serde_json::Value;

/// Merges `patch` into `document`.
pub fn apply(document: &mut Value, patch: Value) {
    let patch = match patch {
        Value::Object(patch) => patch,
        other => {
            *document = other;
            return;
        }
    };
    let Value::Object(target) = document else {
        *document = without_nulls(Value::Object(patch));
        return;
    };
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(&key);
            }
            value => match target.get_mut(&key) {
                Some(found @ Value::Object(_)) => apply(found, value),
                _ => {
                    target.insert(key, without_nulls(value));
                }
            },
        }
    }
}

/// Takes the fields that are null out of all objects in a value.
fn without_nulls(mut value: Value) -> Value {
    prune(&mut value);
    value
}

fn prune(value: &mut Value) {
    match value {
        Value::Object(members) => members.retain(|_, value| {
            prune(value);
            !value.is_null()
        }),
        Value::Array(items) => items.iter_mut().for_each(prune),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_and_patches_merge() {
        let table = [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (
                json!({"a": "b"}),
                json!({"b": "c"}),
                json!({"a": "b", "b": "c"}),
            ),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (
                json!({"a": "b", "b": "c"}),
                json!({"a": null}),
                json!({"b": "c"}),
            ),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (
                json!({"a": {"b": "c"}}),
                json!({"a": {"b": "d", "c": null}}),
                json!({"a": {"b": "d"}}),
            ),
            (
                json!({"a": [{"b": "c"}]}),
                json!({"a": [1]}),
                json!({"a": [1]}),
            ),
            (json!(["a", "b"]), json!(["c", "d"]), json!(["c", "d"])),
            (json!({"a": "b"}), json!(["c"]), json!(["c"])),
            (json!({"a": "foo"}), json!(null), json!(null)),
            (
                json!({"e": null}),
                json!({"a": 1}),
                json!({"e": null, "a": 1}),
            ),
            (
                json!([1, 2]),
                json!({"a": "b", "c": null}),
                json!({"a": "b"}),
            ),
            (
                json!({}),
                json!({"a": {"bb": {"ccc": null}}}),
                json!({"a": {"bb": {}}}),
            ),
            // What follows is the library's own.
            (
                json!({}),
                json!({"a": [1, {"b": null, "c": [{"d": null}]}, null]}),
                json!({"a": [1, {"c": [{}]}, null]}),
            ),
            (
                json!({"a": [1]}),
                json!({"a": [{"b": null}]}),
                json!({"a": [{}]}),
            ),
            (
                json!({"a": {"b": 1}}),
                json!({"a": [{"b": null}]}),
                json!({"a": [{"b": null}]}),
            ),
        ];
        for (mut document, patch, expected) in table {
            let shown = format!("{document} + {patch}");
            apply(&mut document, patch);
            assert_eq!(document, expected, "{shown}");
        }
    }
}
