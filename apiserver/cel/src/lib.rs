#![doc = include_str!("../README.md")]

mod admission;
mod ast;
mod checked;
mod checker;
mod composition;
mod cost;
mod coverage;
mod declarations;
mod declared;
mod environment;
mod escape;
mod estimate;
mod eval;
mod failure;
pub mod formats;
mod library;
mod named_format;
mod node;
mod parser;
mod pattern;
mod plan;
mod program;
mod quote;
mod source;
mod types;
mod value;
mod variables;

pub use composition::Composition;
pub use coverage::Condition;
pub use declared::{Declared, Form, Items, MAX_REQUEST_SIZE_BYTES};
pub use environment::Environment;
pub use escape::escape;
pub use failure::EvaluationError;
pub use parser::is_identifier;
pub use pattern::{Pattern, PatternError};
pub use program::{Budget, CompileError, OutputError, Program};
pub use source::Issues;
pub use types::Type;
pub use value::authorization::{
    AccessCheck, Authority, Authorizer, Decision, GroupCheck, PathCheck, ResourceAttributes,
    ResourceCheck, Target, User,
};
pub use value::{
    Address, Key, List, Map, Network, Object, Quantity, Record, Semver, Text, Timestamp, Url, Value,
};
pub use variables::Variables;

#[cfg(test)]
mod tests;
