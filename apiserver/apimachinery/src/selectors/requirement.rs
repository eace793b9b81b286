//! One requirement of a label selector, checked when it is made.

use serde_json::Value;

use crate::field::{FieldError, Path};
use crate::names;

/// What one label must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    pub(super) key: String,
    operator: Operator,
    values: Vec<String>,
}

/// How a label is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the words are Kubernetes' own")]
#[non_exhaustive]
pub enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

impl Requirement {
    /// A checked requirement.
    ///
    /// # Errors
    /// The key or a value is not a label, or the number of values does not fit the operator, in the API server's words.
    pub fn new(key: &str, operator: Operator, values: Vec<String>) -> Result<Self, String> {
        check(key, operator, &values)?;
        Ok(Self {
            key: key.to_owned(),
            operator,
            values,
        })
    }

    pub(super) fn from_object(expression: &Value) -> Result<Self, String> {
        let text = |name: &str| expression[name].as_str().unwrap_or_default();
        let operator = match text("operator") {
            "In" => Operator::In,
            "NotIn" => Operator::NotIn,
            "Exists" => Operator::Exists,
            "DoesNotExist" => Operator::DoesNotExist,
            other => {
                return Err(format!(
                    "\"{other}\" is not a valid label selector operator"
                ));
            }
        };
        let values = expression["values"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|value| value.as_str().map(str::to_owned))
            .collect();
        Self::new(text("key"), operator, values)
    }

    pub(super) fn matches(&self, value: Option<&str>) -> bool {
        let listed = |value: &str| self.values.iter().any(|wanted| wanted == value);
        match self.operator {
            Operator::In => value.is_some_and(listed),
            Operator::NotIn => !value.is_some_and(listed),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self
                .compare(value)
                .is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self
                .compare(value)
                .is_some_and(|(label, bound)| label < bound),
        }
    }

    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

/// Checks key and values as the API server does when it makes a requirement.
fn check(key: &str, operator: Operator, values: &[String]) -> Result<(), String> {
    if let Some(problem) = names::label_key(key).into_iter().next() {
        return Err(FieldError::invalid(&Path::new("key"), key, &problem).to_string());
    }
    let values_path = Path::new("values");
    let refuse = |detail: &str| {
        let values = serde_json::Value::from(values.to_vec());
        Err(FieldError::invalid(&values_path, values, detail).to_string())
    };
    match operator {
        Operator::In | Operator::NotIn if values.is_empty() => {
            return refuse("for 'in', 'notin' operators, values set can't be empty");
        }
        Operator::Exists | Operator::DoesNotExist if !values.is_empty() => {
            return refuse("values set must be empty for exists and does not exist");
        }
        Operator::GreaterThan | Operator::LessThan => {
            if values.len() != 1 {
                return refuse("for 'Gt', 'Lt' operators, exactly one value is required");
            }
            if values[0].parse::<i64>().is_err() {
                let path = values_path.index(0);
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                return Err(FieldError::invalid(&path, values[0].as_str(), detail).to_string());
            }
        }
        _ => {}
    }
    for (index, value) in values.iter().enumerate() {
        if let Some(problem) = names::label_value(value).into_iter().next() {
            let index = values_path.index(index);
            let path = index.key(key);
            return Err(FieldError::invalid(&path, value.as_str(), &problem).to_string());
        }
    }
    Ok(())
}
