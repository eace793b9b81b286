//! What CEL expressions of webhooks and policies see, and the match conditions that both have (A.8).

mod conditions;
mod expression;
mod request;

pub(crate) use conditions::{Conditions, Outcome};
pub(crate) use expression::Expression;
pub(crate) use request::Request;
