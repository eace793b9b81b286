//! Which values the conditions of the policies' expressions had in the tests.

use std::collections::BTreeMap;

use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::view::View as _;
use kubewright_apiserver::admission::ExpressionCoverage;
use serde_json::Value;

/// One condition within an expression of a policy: the expression as a whole, a side of `&&` or `||`, or what `?:` decides by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Condition {
    /// The kind of the policy.
    pub kind: String,
    /// The name of the policy.
    pub policy: String,
    /// The field with the expression, such as `spec.validations[0].expression`.
    pub field: String,
    /// The expression.
    pub expression: String,
    /// The place of the condition in the expression, in characters: where its operator or its first name is.
    pub position: usize,
    /// Whether it was true in a test.
    pub was_true: bool,
    /// Whether it was false in a test.
    pub was_false: bool,
}

/// What the tests of a file have shown so far.
#[derive(Debug, Default)]
pub(super) struct Coverage(BTreeMap<(&'static str, String, String, usize), (bool, bool)>);

impl Coverage {
    pub(super) fn add(&mut self, expressions: Vec<ExpressionCoverage>) {
        for expression in expressions {
            for condition in &expression.conditions {
                let key = (
                    expression.kind,
                    expression.policy.clone(),
                    expression.field.clone(),
                    condition.position,
                );
                let seen = self.0.entry(key).or_default();
                seen.0 |= condition.was_true;
                seen.1 |= condition.was_false;
            }
        }
    }

    /// The conditions, with the expressions that these policies have.
    pub(super) fn conditions(self, policies: &[Value]) -> Vec<Condition> {
        let conditions = self.0.into_iter();
        let conditions = conditions.map(|((kind, policy, field, position), seen)| Condition {
            expression: expression(policies, kind, &policy, &field),
            kind: kind.to_owned(),
            policy,
            field,
            position,
            was_true: seen.0,
            was_false: seen.1,
        });
        conditions.collect()
    }
}

fn expression(policies: &[Value], kind: &str, name: &str, field: &str) -> String {
    let is_it = |policy: &&Value| policy.text("kind") == kind && meta_text(policy, "name") == name;
    let pointer = field.replace(['.', '['], "/").replace(']', "");
    let found = policies.iter().find(is_it);
    let found = found.and_then(|policy| policy.pointer(&format!("/{pointer}")));
    found.and_then(Value::as_str).unwrap_or_default().to_owned()
}
