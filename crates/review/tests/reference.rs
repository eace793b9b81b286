//! What grafting means, written for reading: no patch, no text, only values.

use serde_json::{Map, Value};

/// The raw object with the changes between two typed forms.
pub(crate) fn graft(field: &str, raw: &Value, before: &Value, after: &Value) -> Value {
    if before == after {
        return raw.clone();
    }
    match (raw, after) {
        (Value::Object(raw), Value::Object(after)) => {
            let empty = Map::new();
            members(raw, before.as_object().unwrap_or(&empty), after)
        }
        (Value::Array(raw), Value::Array(after)) => match before {
            Value::Array(before) if before.len() == raw.len() => {
                elements(field, raw, before, after)
            }
            _ => Value::Array(after.clone()),
        },
        _ => after.clone(),
    }
}

fn members(
    raw: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Value {
    let mut grafted = raw.clone();
    grafted.retain(|key, _| after.contains_key(key) || !before.contains_key(key));
    for (key, value) in after {
        let old = before.get(key);
        if old == Some(value) {
            continue;
        }
        match raw.get(key) {
            Some(raw) => {
                // `false` stands for a member that was not there: it is neither a map nor a list.
                let new = graft(key, raw, old.unwrap_or(&Value::Bool(false)), value);
                grafted.insert(key.clone(), new);
            }
            None => {
                if let Some(new) = changed(old, value) {
                    grafted.insert(key.clone(), new);
                }
            }
        }
    }
    Value::Object(grafted)
}

/// What changed in a value that the raw object lacks.
fn changed(before: Option<&Value>, after: &Value) -> Option<Value> {
    let (Some(Value::Object(before)), Value::Object(after)) = (before, after) else {
        return Some(after.clone());
    };
    let new: Map<_, _> = after
        .iter()
        .filter(|(key, value)| before.get(*key) != Some(value))
        .filter_map(|(key, value)| Some((key.clone(), changed(before.get(key), value)?)))
        .collect();
    (!new.is_empty()).then_some(Value::Object(new))
}

fn elements(field: &str, raw: &[Value], before: &[Value], after: &[Value]) -> Value {
    let identity = |value: &Value| -> Value {
        match field {
            "containers" => value["name"].clone(),
            "ports" => {
                let protocol = value.get("protocol").cloned().unwrap_or("TCP".into());
                Value::Array(vec![value["containerPort"].clone(), protocol])
            }
            _ => value.clone(),
        }
    };
    let mut left: Vec<usize> = (0..before.len()).collect();
    let mut found: Vec<Option<usize>> = after
        .iter()
        .map(|value| {
            let place = left
                .iter()
                .position(|old| identity(&before[*old]) == identity(value));
            place.map(|place| left.remove(place))
        })
        .collect();
    if field == "tolerations" {
        let missing = found.iter().filter(|place| place.is_none()).count();
        if missing == left.len() {
            let mut left = left.into_iter();
            for place in found.iter_mut().filter(|place| place.is_none()) {
                *place = left.next();
            }
        }
    }
    let all = after.iter().zip(found).map(|(value, place)| match place {
        Some(place) => graft(field, &raw[place], &before[place], value),
        None => value.clone(),
    });
    Value::Array(all.collect())
}
