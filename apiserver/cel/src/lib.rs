#![doc = include_str!("../README.md")]

mod admission;
mod ast;
mod bounds;
mod checked;
mod checker;
mod composition;
mod cost;
mod coverage;
mod declarations;
mod declared;
mod device;
mod environment;
mod escape;
mod estimate;
mod eval;
mod failure;
pub mod formats;
mod introduced;
mod library;
mod named_format;
mod node;
mod parser;
mod pattern;
mod place;
mod plan;
mod program;
mod quote;
mod schema;
mod serialize;
mod source;
mod types;
mod value;
mod variables;
mod version;

pub use composition::Composition;
pub use coverage::Condition;
pub use declared::{Declared, Form, Items, MAX_REQUEST_SIZE_BYTES};
pub use device::DeviceError;
pub use environment::Environment;
pub use escape::escape;
pub use failure::EvaluationError;
pub use parser::is_identifier;
pub use pattern::{Pattern, PatternError};
pub use place::Place;
pub use program::{Budget, CompileError, OutputError, Program};
pub use schema::SchemaError;
pub use serialize::SerializeError;
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
pub use version::{Version, VersionError};

#[cfg(test)]
mod tests;
