//! Validates a value against a schema: types, bounds, formats, required fields, combinations. The messages are the real API
//! server's.

use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::go_text::quoted;
use serde_json::{Map, Value};

use super::correlation::Correlation;
use super::formats;
use super::numbers::{self, NumberType, is_json_integer, truncated};
use super::outcome::{Outcome, Sort, written};
use super::schema::{Additional, Limits, Schema};

/// How strictly a schema applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// For objects: formats that the server does not know are ignored, and `x-kubernetes-int-or-string` is a type.
    AsServed,
    /// For defaults in a definition: the schema as written.
    AsWritten,
    /// For conditions on defaults, whose `additionalProperties` the real server does not keep where it reads a definition.
    InCondition,
}

/// Validates a value. Ignores problems in unchanged parts.
pub(super) fn check(
    value: &Value,
    schema: &Schema,
    taken: Taken,
    correlation: Option<&Correlation<'_>>,
) -> Outcome {
    Check { taken }.part(value, schema, &Path::root(), correlation)
}

impl Taken {
    fn in_condition(self) -> Self {
        match self {
            Self::AsServed => Self::AsServed,
            Self::AsWritten | Self::InCondition => Self::InCondition,
        }
    }
}

struct Check {
    taken: Taken,
}

impl Check {
    fn part(
        &self,
        value: &Value,
        schema: &Schema,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
    ) -> Outcome {
        let mut outcome = self.value(value, schema, path, correlation);
        if !outcome.is_valid() && correlation.is_some_and(Correlation::is_unchanged) {
            outcome.forgive();
        }
        outcome
    }

    fn value(
        &self,
        value: &Value,
        schema: &Schema,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let types = self.types(schema);
        let format = self.format(schema, types);
        if value.is_null() {
            self.is_of_type(value, schema, format, path, &mut outcome);
            choice(value, schema, path, &mut outcome);
            return outcome;
        }
        if !types.is_empty() || !format.is_empty() {
            self.is_of_type(value, schema, format, path, &mut outcome);
            outcome.count();
        }
        self.combinations(value, schema, path, &mut outcome);
        outcome.count();
        match value {
            Value::String(text) => {
                text_within(text, &schema.limits, path, &mut outcome);
                outcome.count();
                if formats::is_known(format) {
                    if !formats::fits(format, text) {
                        wrong_type(value, format, Some(text), path, &mut outcome);
                    }
                    outcome.count();
                }
            }
            Value::Number(number) => {
                let of = NumberType::new(types, format);
                numbers::check(number, &schema.limits, of, path, &mut outcome);
                outcome.count();
            }
            Value::Array(items) => {
                self.items(items, schema, path, correlation, &mut outcome);
                outcome.count();
                outcome.count();
            }
            _ => {}
        }
        choice(value, schema, path, &mut outcome);
        outcome.count();
        if let Value::Object(members) = value {
            self.members(members, schema, path, correlation, &mut outcome);
            outcome.count();
        }
        outcome.count();
        outcome
    }

    fn types<'s>(&self, schema: &'s Schema) -> &'s [&'s str] {
        const INT_OR_STRING: &[&str] = &["integer", "string"];
        if schema.int_or_string && self.taken == Taken::AsServed {
            return INT_OR_STRING;
        }
        match schema.kind.as_str() {
            "object" => &["object"],
            "array" => &["array"],
            "string" => &["string"],
            "integer" => &["integer"],
            "number" => &["number"],
            "boolean" => &["boolean"],
            // No definition is accepted with it, but defaults are validated before.
            "null" => &["null"],
            _ => &[],
        }
    }

    fn format<'s>(&self, schema: &'s Schema, types: &[&str]) -> &'s str {
        let format = schema.format.as_str();
        let known = self.taken != Taken::AsServed
            || match types {
                [one] => formats::is_format_of(one, format),
                // Of two types neither is the one that the format is for.
                _ => formats::is_format_of("", format),
            };
        if known { format } else { "" }
    }

    fn is_of_type(
        &self,
        value: &Value,
        schema: &Schema,
        format: &str,
        path: &Path<'_>,
        outcome: &mut Outcome,
    ) {
        let types = self.types(schema);
        let has = |kind: &str| types.contains(&kind);
        let wanted = types.join(",");
        let (found, found_format) = match value {
            Value::Null => {
                if !types.is_empty() && !has("null") && !schema.nullable {
                    let shown = Value::from("null");
                    wrong_type(&shown, &wanted, Some("null"), path, outcome);
                } else {
                    outcome.count();
                }
                return;
            }
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if number.is_i64() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let listed = matches!(value, Value::String(_) | Value::Array(_));
        let whole_float = value.as_f64().is_some_and(is_json_integer);
        let fits =
            has(found) || (whole_float && has("integer")) || (found == "integer" && has("number"));
        if !listed && !format.is_empty() && !fits && found_format != format {
            let shown = Value::from(found_format);
            wrong_type(&shown, format, Some(found_format), path, outcome);
            return;
        }
        if listed && !(format.is_empty() || has("number") || has("integer")) {
            outcome.count();
            return;
        }
        if fits {
            outcome.count();
        } else {
            wrong_type(&Value::from(found), &wanted, Some(found), path, outcome);
        }
    }

    fn combinations(&self, value: &Value, schema: &Schema, path: &Path<'_>, outcome: &mut Outcome) {
        let conditions = Self {
            taken: self.taken.in_condition(),
        };
        let against = |schema: &Schema| conditions.value(value, schema, path, None);
        let name = || quoted(&written(path));
        if !schema.any_of.is_empty() {
            let mut best: Option<Outcome> = None;
            let mut fits = false;
            for one in &schema.any_of {
                let result = against(one);
                if result.is_valid() {
                    fits = true;
                    best = Some(result);
                    break;
                }
                if best
                    .as_ref()
                    .is_none_or(|best| result.passed() > best.passed())
                {
                    best = Some(result);
                }
            }
            if !fits {
                let text = format!("{} must validate at least one schema (anyOf)", name());
                outcome.add(path, text, Sort::Combined);
            }
            if let Some(best) = best {
                outcome.merge(best);
            }
        }
        if !schema.one_of.is_empty() {
            conditions.exactly_one(value, &schema.one_of, path, outcome);
        }
        if !schema.all_of.is_empty() {
            let mut fitting = 0;
            for one in &schema.all_of {
                let result = against(one);
                fitting += usize::from(result.is_valid());
                outcome.merge(result);
            }
            if fitting != schema.all_of.len() {
                let more = if fitting == 0 { ". None validated" } else { "" };
                let text = format!("{} must validate all the schemas (allOf){more}", name());
                outcome.add(path, text, Sort::Combined);
            }
        }
        if let Some(not) = &schema.not
            && against(not).is_valid()
        {
            let text = format!("{} must not validate the schema (not)", name());
            outcome.add(path, text, Sort::Combined);
        }
        outcome.count();
    }

    fn exactly_one(
        &self,
        value: &Value,
        conditions: &[Schema],
        path: &Path<'_>,
        outcome: &mut Outcome,
    ) {
        let (mut first, mut best): (Option<Outcome>, Option<Outcome>) = (None, None);
        let mut fitting = 0;
        for one in conditions {
            let result = self.value(value, one, path, None);
            if result.is_valid() {
                fitting += 1;
                best = None;
                first.get_or_insert(result);
            } else if fitting == 0
                && best
                    .as_ref()
                    .is_none_or(|best| result.passed() > best.passed())
            {
                best = Some(result);
            }
        }
        if fitting != 1 {
            let found = if fitting == 0 {
                "Found none valid".to_owned()
            } else {
                format!("Found {fitting} valid alternatives")
            };
            let name = quoted(&written(path));
            let text = format!("{name} must validate one and only one schema (oneOf). {found}");
            outcome.add(path, text, Sort::Combined);
            first = best;
        }
        if let Some(told) = first {
            outcome.merge(told);
        }
    }

    fn items(
        &self,
        items: &[Value],
        schema: &Schema,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
        outcome: &mut Outcome,
    ) {
        if let Some(below) = schema.items.as_deref() {
            for (index, item) in items.iter().enumerate() {
                let correlation = correlation.and_then(|one| one.index(index));
                let path = path.index(index);
                outcome.merge(self.part(item, below, &path, correlation.as_ref()));
            }
        }
        let count = signed(items.len());
        let Limits {
            min_items,
            max_items,
            unique_items,
            ..
        } = schema.limits;
        if let Some(least) = min_items.filter(|least| count < *least) {
            let text = format!(
                "{} in body should have at least {least} items",
                written(path)
            );
            outcome.add(path, text, invalid(count));
        }
        if let Some(limit) = max_items.filter(|limit| count > *limit) {
            let text = format!(
                "{} in body should have at most {limit} items",
                written(path)
            );
            let actual = items.len();
            outcome.add(path, text, Sort::TooMany { actual, limit });
        }
        let mut numbered = items.iter().enumerate();
        if unique_items && numbered.any(|(index, item)| items[..index].contains(item)) {
            let text = format!("{} in body shouldn't contain duplicates", written(path));
            outcome.add(path, text, Sort::Invalid { value: "".into() });
        }
    }

    fn members(
        &self,
        members: &Map<String, Value>,
        schema: &Schema,
        path: &Path<'_>,
        correlation: Option<&Correlation<'_>>,
        outcome: &mut Outcome,
    ) {
        let count = signed(members.len());
        let Limits {
            min_properties,
            max_properties,
            ..
        } = schema.limits;
        if let Some(least) = min_properties.filter(|least| count < *least) {
            let path_text = written(path);
            let text = format!("{path_text} in body should have at least {least} properties");
            outcome.add(path, text, invalid(count));
        }
        if let Some(limit) = max_properties.filter(|limit| count > *limit) {
            let path_text = written(path);
            let text = format!("{path_text} in body should have at most {limit} properties");
            let actual = members.len();
            outcome.add(path, text, Sort::TooMany { actual, limit });
        }
        let part = |key: &str, value: &Value, below: &Schema| {
            // Type and version are what the request asks for, whatever the object was stored as.
            let is_type = path.is_root() && matches!(key, "apiVersion" | "kind");
            let correlation = correlation
                .filter(|_| !is_type)
                .and_then(|one| one.key(key));
            self.part(value, below, &path.child(key), correlation.as_ref())
        };
        let unknown = members
            .iter()
            .filter(|(key, _)| !schema.properties.contains_key(*key));
        match &schema.additional {
            _ if self.taken == Taken::InCondition => {}
            Additional::Allowed(false) => {
                for (key, _) in unknown {
                    let text = format!("{}.{key} in body is a forbidden property", written(path));
                    outcome.add(path, text, invalid(key.as_str()));
                }
            }
            Additional::Schema(below) => {
                // Of these, the text has a point before the name even where nothing is before it.
                let nothing = path.child("");
                let path = if path.is_root() { &nothing } else { path };
                for (key, value) in unknown {
                    let correlation = correlation.and_then(|one| one.key(key));
                    outcome.merge(self.part(value, below, &path.child(key), correlation.as_ref()));
                }
            }
            _ => {}
        }
        for (key, below) in &schema.properties {
            if let Some(value) = members.get(key) {
                outcome.merge(part(key, value, below));
            }
        }
        for key in &schema.required {
            if !members.contains_key(key) {
                let path = path.child(key);
                let text = format!("{} in body is required", written(&path));
                outcome.add(&path, text, Sort::Required);
            }
        }
    }
}

fn wrong_type(
    value: &Value,
    wanted: &str,
    text: Option<&str>,
    path: &Path<'_>,
    outcome: &mut Outcome,
) {
    let mut told = format!("{} in body must be of type {wanted}", written(path));
    if let Some(text) = text {
        told.push_str(": ");
        told.push_str(&quoted(text));
    }
    let value = value.clone();
    outcome.add(path, told, Sort::Type { value });
}

fn invalid(value: impl Into<Value>) -> Sort {
    Sort::Invalid {
        value: value.into(),
    }
}

/// A text's first fault: too long, too short or of another form.
fn text_within(text: &str, limits: &Limits, path: &Path<'_>, outcome: &mut Outcome) {
    let Limits {
        max_length,
        min_length,
        pattern,
        ..
    } = limits;
    if max_length.is_none() && min_length.is_none() && pattern.is_none() {
        return;
    }
    let length = signed(text.chars().count());
    if let Some(limit) = max_length.filter(|limit| length > *limit) {
        let told = format!(
            "{} in body should be at most {limit} chars long",
            written(path)
        );
        outcome.add(path, told, Sort::TooLong { limit });
    } else if let Some(least) = min_length.filter(|least| length < *least) {
        let told = format!(
            "{} in body should be at least {least} chars long",
            written(path)
        );
        outcome.add(path, told, invalid(text));
    } else if let Some(pattern) = pattern {
        let wanted = match &pattern.compiled {
            Ok(compiled) if compiled.is_match(text) => return,
            Ok(_) => pattern.text.clone(),
            Err(reason) => format!("{}, but pattern is invalid: {reason}", pattern.text),
        };
        let told = format!("{} in body should match '{wanted}'", written(path));
        outcome.add(path, told, invalid(text));
    }
}

/// One of the allowed values, if the schema lists them; null never is.
fn choice(value: &Value, schema: &Schema, path: &Path<'_>, outcome: &mut Outcome) {
    if schema.choices.is_empty() || schema.choices.iter().any(|choice| is_choice(value, choice)) {
        return;
    }
    let supported = schema.choices.iter().map(|choice| match choice {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    });
    let supported: Vec<String> = supported.collect();
    let choices = supported.join(" ");
    let told = format!("{} in body should be one of [{choices}]", written(path));
    let sort = Sort::NotSupported {
        value: value.clone(),
        supported,
    };
    outcome.add(path, told, sort);
}

fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        // A number becomes one of the choice's type before the two are compared.
        (Value::Number(value), Value::Number(choice)) => match (value.as_i64(), choice.as_i64()) {
            (Some(value), Some(choice)) => value == choice,
            (None, Some(choice)) => value.as_f64().map(truncated) == Some(choice),
            _ => value.as_f64() == choice.as_f64(),
        },
        // Go makes a character of a number.
        (Value::Number(value), Value::String(choice)) => value
            .as_i64()
            .is_some_and(|code| choice.chars().eq([character(code)])),
        (value, choice) => value == choice,
    }
}

fn character(code: i64) -> char {
    let code = u32::try_from(code).ok();
    code.and_then(char::from_u32)
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
