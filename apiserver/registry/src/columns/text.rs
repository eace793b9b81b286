//! How tables write times, selectors, lists and absent things.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

/// A whole number of seconds for people, with two or three significant figures.
pub(crate) fn duration(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, large_unit: char, small: i64, small_unit: char| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        // Clocks may differ by a second or so.
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, 'm', seconds % MINUTE, 's'),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, 'h', seconds / MINUTE % 60, 'm'),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, 'd', seconds / HOUR % 24, 'h'),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds / YEAR, 'y', seconds / DAY % 365, 'd'),
        _ => format!("{}y", seconds / YEAR),
    }
}

/// A time of an object; nothing for an absent, null or malformed one.
pub(crate) fn time(value: &Value) -> Option<Timestamp> {
    value.as_str()?.parse().ok()
}

/// `a=b,c=d`, or `<none>`.
pub(crate) fn labels(map: &Value) -> String {
    let pairs: Vec<String> = map
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(pairs.join(","))
}

/// A label selector in the form of the query, or nothing.
pub(crate) fn selector(selector: &Value) -> String {
    let mut terms: Vec<(&str, String)> = selector
        .entries("matchLabels")
        .map(|(key, value)| (key, format!("{key}={}", value.as_str().unwrap_or_default())))
        .collect();
    for expression in selector.list("matchExpressions") {
        let key = expression.text("key");
        let mut values: Vec<&str> = expression
            .list("values")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        values.sort_unstable();
        let values = values.join(",");
        let term = match expression.text("operator") {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "Exists" => key.to_owned(),
            "DoesNotExist" => format!("!{key}"),
            _ => return "<error>".to_owned(),
        };
        terms.push((key, term));
    }
    terms.sort_by_key(|(key, _)| *key);
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}

/// The text, or `<none>` for an empty one.
pub(crate) fn or_none(text: impl Into<String>) -> String {
    or(text, "<none>")
}

/// The text, or another for an empty one.
pub(crate) fn or(text: impl Into<String>, instead: &str) -> String {
    let text = text.into();
    if text.is_empty() {
        instead.to_owned()
    } else {
        text
    }
}

/// The first three, and how many more.
pub(crate) fn first_three(items: &[String]) -> String {
    let shown = items[..items.len().min(3)].join(",");
    if items.len() > 3 {
        format!("{shown} + {} more...", items.len() - 3)
    } else {
        shown
    }
}

/// Names and images of containers.
pub(crate) fn containers(spec: &Value) -> (Value, Value) {
    let join = |field: &str| {
        let all: Vec<&str> = spec
            .list("containers")
            .iter()
            .map(|container| container.text(field))
            .collect();
        all.join(",").into()
    };
    (join("name"), join("image"))
}

/// A number or a text with a per cent sign.
pub(crate) fn int_or_text(value: &Value, absent: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => absent.to_owned(),
    }
}

/// The number in a field, zero if it is absent.
pub(crate) fn count(holder: &Value, field: &str) -> i64 {
    holder.int(field).unwrap_or(0)
}

/// Whether the condition of this type is true.
pub(crate) fn condition(status: &Value, kind: &str) -> bool {
    status
        .list("conditions")
        .iter()
        .find(|condition| condition.text("type") == kind)
        .is_some_and(|condition| condition.text("status") == "True")
}
