//! Two outcomes, field by field.

use std::fmt::{self, Display};

use serde_json::Value;

/// One place where two outcomes differ.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Difference {
    /// A JSON pointer into the outcome.
    pub at: String,
    /// The value on the real server.
    pub real: Option<Value>,
    /// The value on the embedded server.
    pub embedded: Option<Value>,
}

/// The place, and a line for each side.
impl Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, real, embedded } = self;
        let [real, embedded] = [real, embedded].map(|side| shown(side.as_ref()));
        write!(f, "{at}\n  real      {real}\n  embedded  {embedded}")
    }
}

/// A side of a difference, as JSON.
pub(crate) fn shown(side: Option<&Value>) -> String {
    side.map_or_else(|| "(nothing)".to_owned(), Value::to_string)
}

/// Every difference between what the real server did and what the embedded one did.
pub fn compare(real: &Value, embedded: &Value) -> Vec<Difference> {
    let mut differences = Vec::new();
    walk(String::new(), Some(real), Some(embedded), &mut differences);
    differences
}

fn walk(at: String, real: Option<&Value>, embedded: Option<&Value>, into: &mut Vec<Difference>) {
    let below = |token: &str| format!("{at}/{}", token.replace('~', "~0").replace('/', "~1"));
    match (real, embedded) {
        (Some(real), Some(embedded)) if real == embedded => {}
        (Some(Value::Object(real)), Some(Value::Object(embedded))) => {
            for (name, value) in real {
                walk(below(name), Some(value), embedded.get(name), into);
            }
            for (name, value) in embedded
                .iter()
                .filter(|(name, _)| !real.contains_key(*name))
            {
                walk(below(name), None, Some(value), into);
            }
        }
        (Some(Value::Array(real)), Some(Value::Array(embedded))) => {
            for index in 0..real.len().max(embedded.len()) {
                let at = below(&index.to_string());
                walk(at, real.get(index), embedded.get(index), into);
            }
        }
        (real, embedded) => into.push(Difference {
            at,
            real: real.cloned(),
            embedded: embedded.cloned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_told_where_they_are() {
        let differences = compare(
            &json!({"a": [1, 2], "b/c": "x", "same": {}}),
            &json!({"a": [1], "b/c": "y", "same": {}, "more": null}),
        );
        let at: Vec<_> = differences.iter().map(|found| found.at.as_str()).collect();
        assert_eq!(at, ["/a/1", "/b~1c", "/more"]);
        assert_eq!(differences[2].real, None);
        assert_eq!(differences[2].embedded, Some(Value::Null));
    }

    #[test]
    fn equal_outcomes_have_none() {
        assert_eq!(compare(&json!({"a": [{}]}), &json!({"a": [{}]})), []);
    }
}
