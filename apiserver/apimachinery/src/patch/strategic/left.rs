//! What a merge leaves of the patch itself, which errors show: Go takes maps of the patch into the document, and changes them there.

use serde_json::{Map, Value};

use super::{Field, Schema, Strategy, discard_nulls, merge_maps};

/// What the merge into `document` leaves of `patch`. Nulls are gone that have nothing to remove, in what is new to the document
/// or takes the place of another type; and where a list names a map again, the first one has what the others change in it.
pub fn left_of<S: Schema>(
    patch: &Map<String, Value>,
    document: &Value,
    schema: &S,
) -> Map<String, Value> {
    let mut patch = patch.clone();
    for (name, value) in &mut patch {
        match (document.get(name), &mut *value) {
            (Some(old @ Value::Object(_)), Value::Object(new)) => {
                // What takes the place of another map is taken as it is.
                if let Ok(field) = schema.map(name)
                    && field.strategy != Strategy::Replace
                {
                    *new = left_of(new, old, &field.below);
                }
            }
            (Some(Value::Array(old)), Value::Array(new)) => {
                if let Ok(field) = schema.list(name)
                    && field.strategy == Strategy::Merge
                {
                    left_of_list(new, old, &field);
                }
            }
            (_, value) => discard_nulls(value),
        }
    }
    patch
}

fn left_of_list<S: Schema>(patch: &mut [Value], document: &[Value], field: &Field<S>) {
    let key = field.merge_key.as_str();
    let mut document = document.to_vec();
    // What each item was merged into; null where it is new.
    let mut before: Vec<Value> = vec![Value::Null; patch.len()];
    for at in 0..patch.len() {
        let (earlier, rest) = patch.split_at_mut(at);
        let Some(item) = rest[0].as_object_mut() else {
            continue;
        };
        let Some(id) = item.get(key).cloned() else {
            continue;
        };
        let of_key = |other: &Value| other.get(key) == Some(&id);
        let Some(place) = document.iter_mut().find(|old| of_key(old)) else {
            document.push(item.clone().into());
            continue;
        };
        *item = left_of(item, place, &field.below);
        let old = place.as_object().cloned().unwrap_or_default();
        before[at] = place.clone();
        if let Ok(after) = merge_maps(old, item.clone(), &field.below) {
            *place = after.into();
        }
        for (earlier, before) in earlier.iter_mut().zip(&before) {
            if of_key(earlier)
                && let Value::Object(earlier) = earlier
            {
                share(earlier, before, item, place);
            }
        }
    }
}

/// Changes the maps of `patch` that the merge took into the document, where `later` changed them: `before` has no map in their
/// places, `after` has them.
fn share(
    patch: &mut Map<String, Value>,
    before: &Value,
    later: &Map<String, Value>,
    after: &Value,
) {
    if !before.is_object() {
        if let Value::Object(after) = after {
            patch.clone_from(after);
        }
        return;
    }
    for (name, value) in patch {
        if let (Value::Object(patch), Some(Value::Object(later)), Some(after)) =
            (value, later.get(name), after.get(name))
        {
            let before = before.get(name).unwrap_or(&Value::Null);
            share(patch, before, later, after);
        }
    }
}
