#![doc = include_str!("../README.md")]

mod admission;
mod ast;
mod checker;
mod cost;
mod declared;
mod environment;
mod escape;
mod estimate;
mod eval;
pub mod formats;
mod library;
mod parser;
mod pattern;
mod plan;
mod program;
mod source;
mod types;
mod value;

pub use declared::{Declared, Form, Items, MAX_REQUEST_SIZE_BYTES};
pub use environment::Environment;
pub use library::authorizer::{
    AccessCheck, Authority, Authorizer, Decision, GroupCheck, PathCheck, ResourceAttributes,
    ResourceCheck, Target, User,
};
pub use library::network::{Address, Network};
pub use library::quantity::Quantity;
pub use library::semver::Semver;
pub use library::urls::Url;
pub use pattern::{Pattern, PatternError};
pub use program::{Budget, CompileError, EvaluationError, Program, Variables};
pub use source::Issues;
pub use types::Type;
pub use value::{Key, List, Map, Object, Record, Text, Timestamp, Value};

#[cfg(test)]
mod tests;
