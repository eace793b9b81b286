//! Objects of a kind that vary in what expressions mention, so that rules are true of some and false of others.

use kubewright_policy::Schema;
use regex::Regex;
use serde_json::{Map, Value, json};

use super::fields::Mentioned;

/// Makes objects.
pub(super) struct Objects {
    schema: Value,
    sample: Value,
    mentioned: Mentioned,
    values: Vec<(String, Vec<Value>)>,
    seed: u64,
    made: usize,
}

impl Objects {
    pub(super) fn new<'e>(
        schema: &Schema,
        sample: Value,
        expressions: impl Iterator<Item = &'e str>,
        values: &[(String, Vec<Value>)],
        seed: u64,
    ) -> Self {
        Self {
            schema: schema.resolved(),
            sample,
            mentioned: Mentioned::of(expressions),
            values: values.to_vec(),
            seed,
            made: 0,
        }
    }

    /// The next object; the first one is the sample.
    pub(super) fn next(&mut self) -> Value {
        let (schema, sample) = (self.schema.clone(), self.sample.clone());
        let mut object = if self.made == 0 {
            sample.clone()
        } else {
            self.object(&schema, Some(&sample), "")
        };
        let mut metadata = match &sample["metadata"] {
            Value::Object(metadata) => Value::Object(metadata.clone()),
            _ => json!({}),
        };
        for field in ["labels", "annotations"] {
            if self.mentioned.names.contains(field) && self.made > 0 {
                let of = json!({"type": "object", "additionalProperties": {"type": "string"}});
                let known = metadata[field].clone();
                let varied = self.value(&of, Some(&known), &format!("metadata.{field}"));
                metadata[field] = varied;
                if self.chance(4)
                    && let Some(metadata) = metadata.as_object_mut()
                {
                    metadata.remove(field);
                }
            }
        }
        let name = self.name();
        metadata["name"] = json!(name);
        object["metadata"] = metadata;
        if let Some(members) = object.as_object_mut() {
            members.remove("status");
        }
        self.made += 1;
        object
    }

    /// Names differ in their lengths, and have literals in them, where expressions mention them.
    fn name(&mut self) -> String {
        let plain = format!("object-{}", self.made);
        if !self.mentioned.names.contains("name") {
            return plain;
        }
        let strings = self.mentioned.strings.iter();
        let mut parts: Vec<String> = strings.filter(|text| is_label(text)).cloned().collect();
        parts.extend(["a".repeat(1 + self.made % 60), String::new()]);
        let part = parts[self.index(parts.len())].clone();
        let name = match self.index(3) {
            0 => format!("{part}-{plain}"),
            1 => format!("{plain}-{part}"),
            _ => part,
        };
        let name = name.trim_matches('-');
        if name.is_empty() || name.len() > 63 {
            plain
        } else {
            name.to_owned()
        }
    }

    fn value(&mut self, schema: &Value, known: Option<&Value>, path: &str) -> Value {
        let said = self.values.iter().find(|(of, _)| of == path);
        if let Some(values) = said.map(|(_, values)| values.clone()) {
            return self.one_of(&values);
        }
        if let Some(values) = schema["enum"].as_array() {
            let values = values.clone();
            return self.one_of(&values);
        }
        if schema["x-kubernetes-int-or-string"] == true || schema["format"] == "int-or-string" {
            let mut values = vec![json!(1), json!("50%")];
            values.extend(self.mentioned.numbers.iter().map(|number| json!(number)));
            return self.one_of(&values);
        }
        match schema["type"].as_str() {
            Some("object") => self.object(schema, known, path),
            Some("array") => self.array(schema, known, path),
            Some("string") => self.text(schema, known),
            Some("integer") => self.integer(schema),
            Some("number") => {
                let mut values = vec![json!(0.5), json!(0)];
                values.extend(self.mentioned.numbers.iter().map(|number| json!(number)));
                self.one_of(&values)
            }
            Some("boolean") => json!(self.chance(2)),
            _ => known.cloned().unwrap_or_else(|| json!({})),
        }
    }

    fn object(&mut self, schema: &Value, known: Option<&Value>, path: &str) -> Value {
        let known = known.and_then(Value::as_object);
        let mut made: Map<String, Value> = known.cloned().unwrap_or_default();
        let required = schema["required"].as_array();
        let is_required =
            |name: &str| required.is_some_and(|required| required.iter().any(|it| it == name));
        let properties = schema["properties"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        for (name, property) in &properties {
            let below = join(path, name);
            if path.is_empty()
                && matches!(name.as_str(), "apiVersion" | "kind" | "metadata" | "status")
            {
                continue;
            }
            let is_said = self.values.iter().any(|(of, _)| of.starts_with(&below));
            let is_mentioned = is_said || self.mentioned.names.contains(name);
            let before = made.get(name).cloned();
            if is_mentioned && !is_required(name) && self.chance(4) {
                made.remove(name);
            } else if is_mentioned || (is_required(name) && before.is_none()) {
                let value = self.value(property, before.as_ref(), &below);
                made.insert(name.clone(), value);
            }
        }
        let values = &schema["additionalProperties"];
        if values.is_object() {
            self.entries(values, &mut made, path);
        }
        Value::Object(made)
    }

    /// The entries of a map: keys are literals, and names that are no fields of the kind.
    fn entries(&mut self, values: &Value, made: &mut Map<String, Value>, path: &str) {
        let strings = self.mentioned.strings.iter();
        let mut keys: Vec<String> = strings.filter(|text| is_key(text)).cloned().collect();
        let is_field = |name: &str| FIELDS.contains(&name) || path.split('.').any(|it| it == name);
        let names = self.mentioned.names.iter();
        keys.extend(
            names
                .filter(|name| is_key(name) && !is_field(name))
                .cloned(),
        );
        // Maps of several entries, too, where expressions name no keys.
        keys.extend(["other", "a", "b"].map(str::to_owned));
        for _ in 0..self.index(4) {
            let key = keys[self.index(keys.len())].clone();
            let value = self.value(values, None, &format!("{path}{{}}"));
            made.insert(key, value);
        }
    }

    fn array(&mut self, schema: &Value, known: Option<&Value>, path: &str) -> Value {
        let known = known.and_then(Value::as_array).cloned().unwrap_or_default();
        let least = usize::from(!known.is_empty());
        let mut made = Vec::new();
        let is_named = schema["items"]["properties"]["name"].is_object();
        for number in 0..least + self.index(3) {
            let first = known.get(number).or(known.first()).cloned();
            let mut item = self.value(&schema["items"], first.as_ref(), &format!("{path}[]"));
            if is_named && number > 0 {
                // Names of one list differ.
                let name = item["name"].as_str().unwrap_or("a").to_owned();
                item["name"] = json!(format!("{name}{number}"));
            }
            if !made.contains(&item) {
                made.push(item);
            }
        }
        Value::Array(made)
    }

    fn text(&mut self, schema: &Value, known: Option<&Value>) -> Value {
        if let Some("date-time") = schema["format"].as_str() {
            return json!("2026-01-02T03:04:05Z");
        }
        let known = known.and_then(Value::as_str).unwrap_or("a").to_owned();
        let pattern = schema["pattern"].as_str();
        let pattern = pattern.and_then(|pattern| Regex::new(pattern).ok());
        let fits = |value: &String| pattern.as_ref().is_none_or(|it| it.is_match(value));
        // Most comparisons are with a literal as it is.
        let strings = self.mentioned.strings.iter().filter(|text| fits(text));
        let strings: Vec<String> = strings.cloned().collect();
        if !strings.is_empty() && self.chance(3) {
            return json!(strings[self.index(strings.len())]);
        }
        let mut values = vec![known.clone(), "a".to_owned(), "b".to_owned()];
        for text in &self.mentioned.strings {
            values.push(text.clone());
            values.push(format!("{known}{text}"));
            values.push(format!("{text}{known}"));
            values.push(format!("{known}{text}{known}"));
        }
        for number in &self.mentioned.numbers {
            let length = usize::try_from(*number).unwrap_or(0).min(300);
            values.extend([length.saturating_sub(1), length, length + 1].map(|it| "x".repeat(it)));
        }
        values.retain(fits);
        if values.is_empty() {
            values.push(known);
        }
        json!(values[self.index(values.len())])
    }

    fn integer(&mut self, schema: &Value) -> Value {
        let mut values = vec![0, 1, 2];
        for number in &self.mentioned.numbers {
            values.extend([number.saturating_sub(1), *number, number.saturating_add(1)]);
        }
        let least = schema["minimum"].as_i64().unwrap_or(0);
        let most = schema["maximum"].as_i64().unwrap_or(i64::from(i32::MAX));
        values.retain(|value| (least..=most).contains(value));
        if values.is_empty() {
            values.push(least);
        }
        json!(values[self.index(values.len())])
    }

    fn one_of(&mut self, values: &[Value]) -> Value {
        if values.is_empty() {
            return Value::Null;
        }
        values[self.index(values.len())].clone()
    }

    fn chance(&mut self, one_in: usize) -> bool {
        self.index(one_in) == 0
    }

    /// `SplitMix64`: short, and good enough to choose with.
    fn index(&mut self, length: usize) -> usize {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let mixed = mixed ^ (mixed >> 31);
        usize::try_from(mixed % (length.max(1) as u64)).unwrap_or(0)
    }
}

/// Names in expressions that are hardly ever keys of maps.
const FIELDS: [&str; 24] = [
    "all",
    "annotations",
    "data",
    "exists",
    "filter",
    "has",
    "in",
    "int",
    "labels",
    "map",
    "matches",
    "metadata",
    "name",
    "object",
    "oldObject",
    "orValue",
    "params",
    "request",
    "size",
    "spec",
    "startsWith",
    "status",
    "string",
    "variables",
];

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

fn is_label(text: &str) -> bool {
    let good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() < 40 && text.chars().all(good)
}

fn is_key(text: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    let ends = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() < 63
        && text.chars().all(good)
        && ends(text.chars().next())
        && ends(text.chars().last())
}

/// What an object would be without one of its parts.
pub(super) fn smaller(object: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    match object {
        Value::Object(members) => {
            for (name, value) in members {
                if name != "name" {
                    let mut without = members.clone();
                    without.remove(name);
                    found.push(Value::Object(without));
                }
                for smaller in smaller(value) {
                    let mut with = members.clone();
                    with.insert(name.clone(), smaller);
                    found.push(Value::Object(with));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let mut without = items.clone();
                without.remove(index);
                found.push(without.into());
                for smaller in smaller(item) {
                    let mut with = items.clone();
                    with[index] = smaller;
                    found.push(with.into());
                }
            }
        }
        _ => {}
    }
    found
}
