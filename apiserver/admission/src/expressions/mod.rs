//! What CEL expressions of webhooks and policies see, and the match conditions that both have (A.8).

mod conditions;
mod request;

pub(crate) use conditions::{Conditions, Outcome};
pub(crate) use request::Request;
