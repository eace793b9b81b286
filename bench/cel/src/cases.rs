//! The expressions that are measured, and their times.

use serde::Deserialize;
use serde_json::Value;

/// The variables and expressions that all implementations read.
#[derive(Deserialize)]
pub(crate) struct Cases {
    pub(crate) variables: Variables,
    pub(crate) expressions: Vec<Expression>,
}

#[derive(Deserialize)]
pub(crate) struct Variables {
    pub(crate) object: Value,
    pub(crate) request: Value,
    /// How many numbers the list `numbers` has.
    pub(crate) numbers: usize,
}

#[derive(Deserialize)]
pub(crate) struct Expression {
    pub(crate) name: String,
    pub(crate) expression: String,
}

/// What an implementation does with an expression: nanoseconds, or why it has no value.
#[derive(Clone, Deserialize)]
pub(crate) struct Measured {
    pub(crate) name: String,
    pub(crate) engine: String,
    pub(crate) compile: f64,
    pub(crate) evaluate: f64,
    pub(crate) result: String,
    pub(crate) refused: String,
}
