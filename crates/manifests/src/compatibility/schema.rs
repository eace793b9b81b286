//! What a new schema refuses or forgets of what an old one allowed.

use std::collections::BTreeSet;

use serde_json::Value;

/// The places that break, and how.
pub(super) fn breaks(old: &Value, new: &Value) -> Vec<(String, String)> {
    let mut found = Vec::new();
    compare("", old, new, &mut found);
    found
}

fn compare(path: &str, old: &Value, new: &Value, found: &mut Vec<(String, String)>) {
    let mut say = |problem: String| {
        let path = if path.is_empty() { "the object" } else { path };
        found.push((path.to_owned(), problem));
    };
    if let Some(problem) = other_type(old, new) {
        // What is below is of something else.
        return say(problem);
    }
    if is(old, "nullable") && !is(new, "nullable") {
        say("could be null and cannot any more".to_owned());
    }
    if is(old, PRESERVED) && !is(new, PRESERVED) {
        say("no longer keeps fields that it does not know".to_owned());
    }
    for problem in narrower(old, new) {
        say(problem);
    }
    for name in required(new).difference(&required(old)) {
        // One with a default is filled in before anybody looks.
        if new["properties"][*name]["default"].is_null() {
            say(format!("now requires `{name}`"));
        }
    }
    for (name, schema) in old["properties"].as_object().into_iter().flatten() {
        let place = below(path, name);
        match new["properties"].get(name) {
            Some(field) => compare(&place, schema, field, found),
            // A field that is no longer named is one of the rest, if there is a schema for that, or kept as it is.
            None if new["additionalProperties"].is_object() => {
                compare(&place, schema, &new["additionalProperties"], found);
            }
            None if is(new, PRESERVED) || new["additionalProperties"] == true => {}
            None => found.push((place, "is gone: its value is dropped".to_owned())),
        }
    }
    for (key, suffix) in [("items", "[]"), ("additionalProperties", "{}")] {
        let place = format!("{path}{suffix}");
        if old[key].is_object() && new[key].is_object() {
            compare(&place, &old[key], &new[key], found);
        }
    }
    let more = &old["additionalProperties"];
    let allows_more = more.is_object() || *more == true;
    if allows_more && new["additionalProperties"].is_null() && !is(new, PRESERVED) {
        let place = format!("{path}{{}}");
        found.push((place, "is gone: its value is dropped".to_owned()));
    }
}

/// Says when what was of one type is of another. A number may take the place of an integer.
fn other_type(old: &Value, new: &Value) -> Option<String> {
    let flexible = (is(old, INT_OR_STRING), is(new, INT_OR_STRING));
    let of = |schema: &Value, flexible: bool| match (flexible, text(&schema["type"])) {
        (true, _) => "integer or string".to_owned(),
        (false, "") => "any".to_owned(),
        (false, name) => name.to_owned(),
    };
    let (was, is) = (of(old, flexible.0), of(new, flexible.1));
    let wider = match (was.as_str(), is.as_str()) {
        (_, "any") | ("integer", "number") | ("integer" | "string", "integer or string") => true,
        (was, is) => was == is,
    };
    (!wider).then(|| format!("was of type {was} and is of type {is}"))
}

/// Bounds that became narrower, or are new.
fn narrower(old: &Value, new: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (key, least) in BOUNDS {
        let number = |schema: &Value| schema[key].as_f64();
        let is_narrower = match (number(old), number(new)) {
            (None, Some(_)) => true,
            (Some(was), Some(is)) if least => is > was,
            (Some(was), Some(is)) => is < was,
            _ => false,
        };
        if is_narrower {
            found.push(match &old[key] {
                Value::Null => format!("now has {key} {}", new[key]),
                was => format!("had {key} {was} and has {}", new[key]),
            });
        }
    }
    for key in ["exclusiveMinimum", "exclusiveMaximum"] {
        if is(new, key) && !is(old, key) {
            found.push(format!("now has {key}"));
        }
    }
    for key in ["pattern", "format", "multipleOf"] {
        if !new[key].is_null() && new[key] != old[key] {
            found.push(format!("now has {key} {}", new[key]));
        }
    }
    if new["enum"].is_array() {
        let allowed: Vec<&Value> = items(&new["enum"]).collect();
        let mut lost = items(&old["enum"])
            .filter(|value| !allowed.contains(value))
            .peekable();
        if old["enum"].is_null() {
            found.push("now allows only some values".to_owned());
        } else if lost.peek().is_some() {
            let lost: Vec<String> = lost.map(ToString::to_string).collect();
            found.push(format!("no longer allows {}", lost.join(", ")));
        }
    }
    let rules = |schema: &Value| -> BTreeSet<String> {
        let rules = items(&schema["x-kubernetes-validations"]);
        rules.map(|rule| text(&rule["rule"]).to_owned()).collect()
    };
    for rule in rules(new).difference(&rules(old)) {
        found.push(format!("has a new rule `{rule}`"));
    }
    for (key, unless_said) in [
        ("x-kubernetes-list-type", "atomic"),
        ("x-kubernetes-map-type", "granular"),
    ] {
        let kind = |schema: &Value| schema[key].as_str().unwrap_or(unless_said).to_owned();
        if kind(old) != kind(new) {
            found.push(format!(
                "has another {key}: appliers merge it in another way"
            ));
        }
    }
    if old[LIST_KEYS] != new[LIST_KEYS] {
        found.push(format!("has other {LIST_KEYS}"));
    }
    found
}

fn required(schema: &Value) -> BTreeSet<&str> {
    items(&schema["required"]).map(text).collect()
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn is(schema: &Value, key: &str) -> bool {
    schema[key] == true
}

/// Bounds, and whether a larger one is narrower.
const BOUNDS: [(&str, bool); 8] = [
    ("minimum", true),
    ("maximum", false),
    ("minLength", true),
    ("maxLength", false),
    ("minItems", true),
    ("maxItems", false),
    ("minProperties", true),
    ("maxProperties", false),
];
const PRESERVED: &str = "x-kubernetes-preserve-unknown-fields";
const LIST_KEYS: &str = "x-kubernetes-list-map-keys";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";

pub(super) fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
