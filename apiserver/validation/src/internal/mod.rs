//! Values in the form of the API server's internal types, which its error messages show: Go's names, Go's order, no field left out.
//!
//! The API server decodes every object into internal (unversioned) structs before it validates them. A message that quotes a
//! struct, or the difference of two structs, shows that form: `{"Type":"X","RollingUpdate":null}`.

mod diff;

use std::collections::HashMap;
use std::sync::LazyLock;

use kubewright_apimachinery::conform::{ZERO_MICRO_TIME, ZERO_TIME, written_time};
use kubewright_apimachinery::go_text::html_escaped;
use kubewright_apimachinery::view::View;
use serde::Serialize;
use serde::ser::{SerializeMap, SerializeSeq, Serializer};
use serde_json::Value;

/// Formats a value as JSON on one line. `kind` names a type of the table, or a list of that type: `[]Toleration`.
pub fn shown(kind: &str, value: &Value) -> String {
    // Writing a value into memory cannot fail.
    html_escaped(serde_json::to_string(&Shown { kind, value }).unwrap_or_default())
}

/// Returns the unified diff of two values of one type, as the API server prints it.
pub fn difference(kind: &str, old: &Value, new: &Value) -> String {
    let text = |value: &Value| {
        let mut out = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b" ");
        let mut writer = serde_json::Serializer::with_formatter(&mut out, format);
        let _ = Shown { kind, value }.serialize(&mut writer);
        out.push(b'\n');
        String::from_utf8(out).unwrap_or_default()
    };
    let (old, new) = (text(old), text(new));
    diff::unified(&old, &new)
}

struct Field {
    name: &'static str,
    json: String,
    kind: &'static str,
    /// Left out where it is empty.
    optional: bool,
    /// Its own fields are written in its place.
    inline: bool,
}

static TYPES: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let mut types: HashMap<&str, Vec<Field>> = HashMap::new();
    let mut current = "";
    for line in include_str!("types.txt").lines() {
        if line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        if !line.starts_with(' ') {
            current = words.next().unwrap_or_default();
        }
        types
            .entry(current)
            .or_default()
            .extend(words.filter_map(Field::read));
    }
    types
});

impl Field {
    fn read(word: &'static str) -> Option<Self> {
        let (name, kind) = word.split_once(':')?;
        let (optional, name) = (name.starts_with('~'), name.trim_start_matches('~'));
        let (inline, name) = (name.starts_with('*'), name.trim_start_matches('*'));
        let (name, json) = match name.split_once('=') {
            Some((name, json)) => (name, json.to_owned()),
            None => (name, lower_first(name)),
        };
        Some(Self {
            name,
            json,
            kind,
            optional,
            inline,
        })
    }
}

impl Field {
    /// Whether Go leaves the value out; a pointer to an empty value is something. A null that is there is a pointer to the zero
    /// time.
    fn is_empty(&self, value: Option<&Value>) -> bool {
        let Some(value) = value else { return true };
        if self.kind == "?t" {
            false
        } else if self.kind.starts_with('?') {
            value.is_null()
        } else {
            is_empty(value) || (self.kind == "t" && value == ZERO_TIME)
        }
    }
}

fn lower_first(name: &str) -> String {
    let mut name = name.to_owned();
    if let Some(first) = name.get_mut(..1) {
        first.make_ascii_lowercase();
    }
    name
}

struct Shown<'a> {
    kind: &'a str,
    value: &'a Value,
}

impl Serialize for Shown<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = self.value;
        if let Some(kind) = self.kind.strip_prefix('?') {
            return if value.is_null() {
                serializer.serialize_none()
            } else {
                Shown { kind, value }.serialize(serializer)
            };
        }
        if let Some(kind) = self.kind.strip_prefix("[]") {
            let Some(items) = value.as_array() else {
                return serializer.serialize_none();
            };
            let mut list = serializer.serialize_seq(Some(items.len()))?;
            for value in items {
                list.serialize_element(&Shown { kind, value })?;
            }
            return list.end();
        }
        if let Some(kind) = self.kind.strip_prefix("{}") {
            let Some(items) = value.as_object() else {
                return serializer.serialize_none();
            };
            let mut map = serializer.serialize_map(Some(items.len()))?;
            for (key, value) in items {
                map.serialize_entry(key, &Shown { kind, value })?;
            }
            return map.end();
        }
        match (self.kind, value) {
            ("s", Value::Null) => serializer.serialize_str(""),
            ("i" | "x", Value::Null) => serializer.serialize_i64(0),
            ("b", Value::Null) => serializer.serialize_bool(false),
            ("q", Value::Null) => serializer.serialize_str("0"),
            ("q", Value::Number(number)) => serializer.collect_str(number),
            ("t", Value::String(time)) => written_time(time).serialize(serializer),
            ("T", Value::String(time)) if time == ZERO_MICRO_TIME => serializer.serialize_none(),
            ("s" | "i" | "b" | "q" | "x" | "t" | "T", value) => value.serialize(serializer),
            (kind, value) => {
                let mut map = serializer.serialize_map(None)?;
                fields(kind, value, &mut map)?;
                map.end()
            }
        }
    }
}

fn fields<M: SerializeMap>(kind: &str, value: &Value, map: &mut M) -> Result<(), M::Error> {
    for field in TYPES.get(kind).into_iter().flatten() {
        let found = value.get(&field.json);
        let value = value.at(&field.json);
        if field.inline {
            fields(field.kind, value, map)?;
        } else if !(field.optional && field.is_empty(found)) {
            let shown = Shown {
                kind: field.kind,
                value,
            };
            map.serialize_entry(field.name, &shown)?;
        }
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_i64() == Some(0),
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Bool(true) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_type_of_the_table_is_there() {
        for (name, fields) in TYPES.iter() {
            for field in fields {
                let kind = field.kind.trim_start_matches(['?', '[', ']', '{', '}']);
                assert!(
                    kind.len() == 1 || TYPES.contains_key(kind),
                    "{name}.{}: {kind}",
                    field.name
                );
            }
        }
    }

    #[test]
    fn values_have_go_s_names_and_nothing_left_out() {
        for (kind, value, expected) in [
            (
                "apps.StatefulSetUpdateStrategy",
                json!({ "type": "X" }),
                r#"{"Type":"X","RollingUpdate":null}"#,
            ),
            (
                "policy.PodDisruptionBudgetSpec",
                json!({ "minAvailable": 1, "maxUnavailable": "5%", "selector": { "matchLabels": { "a": "b" } } }),
                r#"{"MinAvailable":1,"Selector":{"matchLabels":{"a":"b"}},"MaxUnavailable":"5%","UnhealthyPodEvictionPolicy":null}"#,
            ),
            (
                "[]m.OwnerReference",
                json!([{ "uid": "u", "name": "n", "kind": "k", "apiVersion": "v1", "controller": true }]),
                r#"[{"apiVersion":"v1","kind":"k","name":"n","uid":"u","controller":true}]"#,
            ),
        ] {
            assert_eq!(shown(kind, &value), expected, "{kind}");
        }
    }

    #[test]
    fn a_template_has_the_fields_of_its_metadata() {
        let template =
            json!({ "metadata": { "labels": { "a": "b" } }, "spec": { "hostPID": true } });
        let text = shown("PodTemplateSpec", &template);
        assert!(
            text.starts_with(r#"{"labels":{"a":"b"},"Spec":{"Volumes":null,"#),
            "{text}"
        );
        assert!(text.contains(r#""HostPID":true"#), "{text}");
    }
}
