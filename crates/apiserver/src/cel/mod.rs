//! The expression language of Kubernetes (CEL), as version 1.36 configures it.
//!
//! An [`Environment`] compiles an expression to a [`Program`], which is evaluated with [`Variables`] within a [`Budget`]:
//!
//! ```
//! use kubewright_apiserver::cel::{Budget, Environment, Type, Variables};
//! use serde_json::json;
//!
//! let program = Environment::admission().compile("object.spec.replicas > 3 && has(request.name)")?;
//! assert_eq!(*program.output_type(), Type::Bool);
//!
//! let (object, request) = (json!({"spec": {"replicas": 5}}), json!({"name": "web"}));
//! let variables = Variables::new().with_json("object", &object).with_json("request", &request);
//! let mut budget = Budget::match_conditions();
//! assert_eq!(program.evaluate(&variables, &mut budget)?.as_bool(), Some(true));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod admission;
mod ast;
mod checker;
mod cost;
mod environment;
mod eval;
mod library;
mod parser;
mod plan;
mod program;
mod source;
mod types;
mod value;

pub use environment::Environment;
pub use library::authorizer::{
    Authority, Authorizer, Decision, GroupCheck, PathCheck, Question, ResourceCheck, Subject,
};
pub use library::formats::NamedFormat;
pub use library::network::{Address, Network};
pub use library::quantity::Quantity;
pub use library::semver::Semver;
pub use library::urls::Url;
pub use program::{Budget, CompileError, EvaluationError, Program, Variables};
pub use source::Issues;
pub use types::Type;
pub use value::{Key, List, Map, Object, Record, Text, Timestamp, Value};

#[cfg(test)]
mod tests;
