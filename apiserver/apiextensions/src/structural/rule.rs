//! The rules of one node of a schema, and what became of their expressions.

use std::sync::Arc;

use kubewright_apimachinery::view::View;
use kubewright_cel::{Declared, Program};
use serde_json::Value;

use super::paths;

/// The variable that holds the value before the change.
pub(super) const OLD_SELF: &str = "oldSelf";

/// The rules of one node.
#[derive(Debug, Default)]
pub(super) struct Rules {
    pub(super) all: Vec<Rule>,
    /// Whether there are rules here or below.
    pub(super) any: bool,
    /// What the expressions see; known once the whole schema is.
    pub(super) declared: Option<Arc<Declared>>,
    /// Whether expressions see values of this node, be they rules around it; known then, too.
    pub(super) is_seen: bool,
}

/// One rule.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) expression: String,
    pub(super) message: String,
    pub(super) message_expression: String,
    pub(super) reason: String,
    /// Where its errors are told, from the node on.
    pub(super) field: String,
    pub(super) optional_old: bool,
    pub(super) compiled: Compiled,
}

/// What became of the expressions of a rule.
#[derive(Debug, Default)]
pub(super) struct Compiled {
    pub(super) rule: Expression,
    pub(super) message: Expression,
}

/// An expression.
#[derive(Debug, Default)]
pub(super) enum Expression {
    #[default]
    None,
    /// With the most that it can cost.
    Ready(Program, u64),
    Broken(String),
}

impl Expression {
    pub(super) fn most(&self) -> u64 {
        match self {
            Self::Ready(_, most) => *most,
            _ => 0,
        }
    }

    pub(super) fn uses_old(&self) -> bool {
        matches!(self, Self::Ready(program, _) if program.uses(OLD_SELF))
    }
}

impl Rules {
    pub(super) fn read(schema: &Value) -> Self {
        let all: Vec<Rule> = schema
            .list("x-kubernetes-validations")
            .iter()
            .map(|rule| Rule::read(rule, schema))
            .collect();
        Self {
            any: !all.is_empty(),
            all,
            declared: None,
            is_seen: false,
        }
    }

    /// Keeps what the schema of this node declares, for its expressions.
    pub(super) fn declared(&mut self, declared: &Arc<Declared>) {
        self.is_seen = declared.value_type.is_some();
        if !self.all.is_empty() {
            self.declared = Some(Arc::clone(declared));
        }
    }

    /// What the expressions see; none for values that they cannot look at.
    pub(super) fn seen(&self) -> Option<&Declared> {
        self.declared
            .as_deref()
            .filter(|declared| declared.value_type.is_some())
    }
}

impl Rule {
    fn read(rule: &Value, schema: &Value) -> Self {
        let text = |field: &str| rule.text(field).to_owned();
        let path = rule.text("fieldPath");
        let field = (!path.is_empty())
            .then(|| paths::read(path, schema).ok())
            .flatten();
        Self {
            expression: text("rule"),
            message: text("message"),
            message_expression: text("messageExpression"),
            reason: text("reason"),
            field: field.map(|field| field.text).unwrap_or_default(),
            optional_old: rule.flag("optionalOldSelf"),
            compiled: Compiled::default(),
        }
    }
}
