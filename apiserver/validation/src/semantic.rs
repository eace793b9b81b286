//! Equality as the API server sees it, where the types of the values do not matter.

use kubewright_apimachinery::view::View;
use serde_json::Value;

/// Returns whether two values are equal to the API server (`equality.Semantic`): absent, null and empty are one.
pub fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(x), Value::Object(y)) => {
            x.iter().all(|(key, value)| same(value, b.at(key)))
                && y.iter()
                    .all(|(key, value)| x.contains_key(key) || is_zero(value))
        }
        (Value::Array(x), Value::Array(y)) => {
            x.len() == y.len() && x.iter().zip(y).all(|(x, y)| same(x, y))
        }
        _ => a == b || (is_zero(a) && is_zero(b)),
    }
}

/// Returns whether a value is null, an empty list, or a map of nothing but such values.
pub fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.values().all(is_zero),
        _ => false,
    }
}
