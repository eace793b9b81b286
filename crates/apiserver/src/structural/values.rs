//! Holds a value to a schema: types, bounds, formats, required fields, combinations. The texts are the real server's.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::correlation::Correlation;
use super::formats;
use super::outcome::{Outcome, Sort, written};
use super::schema::{Additional, Bound, Limits, Schema};
use crate::field::{Path, quoted};

/// How strictly a schema is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// For objects: formats that the server does not know are ignored, and `x-kubernetes-int-or-string` is a type.
    AsServed,
    /// For defaults in a definition: the schema as it is written.
    AsWritten,
}

/// Checks a value. What is wrong with a part that has not changed is forgiven.
pub(super) fn check(
    value: &Value,
    schema: &Schema,
    taken: Taken,
    correlation: Option<&Correlation<'_>>,
) -> Outcome {
    Check { taken }.part(value, schema, &Path::root(), correlation)
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
                let format = if types.len() == 1 { format } else { "" };
                let kind = if types.len() == 1 { types[0] } else { "" };
                number_within(number, &schema.limits, kind, format, path, &mut outcome);
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
            _ => &[],
        }
    }

    fn format<'s>(&self, schema: &'s Schema, types: &[&str]) -> &'s str {
        let format = schema.format.as_str();
        let known = self.taken == Taken::AsWritten
            || match types {
                // Of two types neither is the one that the format is for.
                [] | ["string"] | ["integer", "string"] => formats::is_known(format),
                ["integer"] => matches!(format, "int32" | "int64"),
                ["number"] => matches!(format, "float" | "double"),
                _ => false,
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
                if !types.is_empty() && !schema.nullable {
                    let shown = Value::from("null");
                    wrong_type(&shown, &wanted, Some("null"), path, outcome);
                } else {
                    outcome.count();
                }
                return;
            }
            Value::Bool(_) => ("boolean", ""),
            Value::Number(number) if whole(number).is_some() => ("integer", "int64"),
            Value::Number(_) => ("number", "float64"),
            Value::String(_) => ("string", ""),
            Value::Array(_) => ("array", ""),
            Value::Object(_) => ("object", ""),
        };
        let listed = matches!(value, Value::String(_) | Value::Array(_));
        let whole_float = matches!(value, Value::Number(number) if is_whole_float(number));
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
        let against = |schema: &Schema| self.value(value, schema, path, None);
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
            self.exactly_one(value, schema, path, outcome);
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

    fn exactly_one(&self, value: &Value, schema: &Schema, path: &Path<'_>, outcome: &mut Outcome) {
        let (mut first, mut best): (Option<Outcome>, Option<Outcome>) = (None, None);
        let mut fitting = 0;
        for one in &schema.one_of {
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
            Additional::Allowed(false) => {
                for (key, _) in unknown {
                    let text = format!("{}.{key} in body is a forbidden property", written(path));
                    outcome.add(path, text, invalid(key.as_str()));
                }
            }
            Additional::Schema(below) => {
                for (key, value) in unknown {
                    outcome.merge(part(key, value, below));
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

fn number_within(
    number: &Number,
    limits: &Limits,
    kind: &str,
    format: &str,
    path: &Path<'_>,
    outcome: &mut Outcome,
) {
    let range = |what: &str, fits: bool, outcome: &mut Outcome| {
        if !fits {
            let form = match format {
                "" => "(default format)".to_owned(),
                format => format!("with format {format}"),
            };
            let told = format!(
                "{what} value must be of type {kind} {form} in {}",
                written(path)
            );
            outcome.add(path, told, Sort::Combined);
        }
        fits
    };
    let breaks = |rule: &str, bound: String, outcome: &mut Outcome| {
        let told = format!("{} in body should be {rule} {bound}", written(path));
        outcome.add(path, told, invalid(Value::Number(number.clone())));
    };
    range("Checked", in_range(number, kind, format), outcome);
    let native = |what: &str, bound: f64, outcome: &mut Outcome| {
        let fits = Number::from_f64(bound).is_none_or(|bound| in_range(&bound, kind, format));
        range(what, fits, outcome).then(|| whole(number)).flatten()
    };
    if let Some(factor) = limits.multiple_of {
        let whole = native("MultipleOf", factor, outcome);
        if !is_multiple(number, whole, factor) {
            breaks("a multiple of", shown(whole, factor), outcome);
        }
    }
    if let Some(Bound { at, exclusive }) = limits.minimum {
        let whole = native("Minimum boundary", at, outcome);
        let order = order(number, whole, at);
        if order == Some(Ordering::Less) || exclusive && order == Some(Ordering::Equal) {
            let rule = if exclusive {
                "greater than"
            } else {
                "greater than or equal to"
            };
            breaks(rule, shown(whole, at), outcome);
        }
    }
    if let Some(Bound { at, exclusive }) = limits.maximum {
        let whole = native("Maximum boundary", at, outcome);
        let order = order(number, whole, at);
        if order == Some(Ordering::Greater) || exclusive && order == Some(Ordering::Equal) {
            let rule = if exclusive {
                "less than"
            } else {
                "less than or equal to"
            };
            breaks(rule, shown(whole, at), outcome);
        }
    }
    outcome.count();
}

/// How a number stands to a bound; a whole number is compared with the whole part of it.
fn order(number: &Number, whole: Option<i64>, bound: f64) -> Option<Ordering> {
    match whole {
        Some(found) => Some(found.cmp(&truncated(bound))),
        None => number.as_f64()?.partial_cmp(&bound),
    }
}

fn is_multiple(number: &Number, whole: Option<i64>, factor: f64) -> bool {
    if let Some(found) = whole {
        let factor = truncated(factor);
        return factor > 0 && found % factor == 0;
    }
    let found = number.as_f64().unwrap_or(f64::NAN);
    let times = if factor < 1.0 {
        1.0 / factor * found
    } else {
        found / factor
    };
    factor > 0.0 && (times - times.round()).abs() < 1e-9
}

fn in_range(number: &Number, kind: &str, format: &str) -> bool {
    match (kind, format) {
        ("integer", "int32") => whole(number).is_some_and(|found| i32::try_from(found).is_ok()),
        ("integer", _) => whole(number).is_some() || is_whole_float(number),
        (_, "float") => number
            .as_f64()
            .is_some_and(|found| found.abs() <= f64::from(f32::MAX)),
        _ => true,
    }
}

/// A bound as the text shows it: as a whole number beside one.
fn shown(whole: Option<i64>, bound: f64) -> String {
    match whole {
        Some(_) => truncated(bound).to_string(),
        None => crate::cel::format_double(bound),
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
    let told = format!("{} in body should be one of", written(path));
    let sort = Sort::NotSupported {
        value: value.clone(),
        supported: supported.collect(),
    };
    outcome.add(path, told, sort);
}

fn is_choice(value: &Value, choice: &Value) -> bool {
    match (value, choice) {
        (Value::Null, _) => false,
        // A number becomes one of the choice's type before the two are compared.
        (Value::Number(value), Value::Number(choice)) => match (whole(value), whole(choice)) {
            (Some(value), Some(choice)) => value == choice,
            (None, Some(choice)) => value.as_f64().map(truncated) == Some(choice),
            _ => value.as_f64() == choice.as_f64(),
        },
        (value, choice) => value == choice,
    }
}

/// The number, if it was written as a whole one.
fn whole(number: &Number) -> Option<i64> {
    number.as_i64()
}

fn is_whole_float(number: &Number) -> bool {
    number
        .as_f64()
        .is_some_and(|found| found.fract() == 0.0 && found.abs() <= 9_007_199_254_740_991.0)
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "as Go converts, except beyond the range"
)]
fn truncated(number: f64) -> i64 {
    number as i64
}
