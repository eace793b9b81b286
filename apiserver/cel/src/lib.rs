//! The expression language of Kubernetes (CEL), as version 1.36 configures it.
//!
//! An [`Environment`] compiles an expression to a [`Program`], which is evaluated with [`Variables`] within a [`Budget`]:
//!
//! ```
//! use kubewright_cel::{Budget, Environment, Type, Variables};
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
//!
//! JSON is borrowed: nothing of an object is copied until an expression makes something new of it.
//!
//! # What is asked of the caller
//!
//! The wrapping texts are the caller's: `compilation error: <CompileError>`, `must evaluate to bool but got <output_type>`
//! and `expression '<expression>' resulted in error: <EvaluationError>`. [`EvaluationError::OutOfBudget`] ends the evaluation
//! of all expressions that share the budget. A variable without a value (`oldObject` on creation) is set to `Value::Null`.
//! The variable `request` is the JSON of an admission request without `uid`, `object` and `oldObject`; members that the API
//! server leaves out when they are empty are left out, so that `has(request.name)` tells.
//!
//! # Libraries
//!
//! Those of Kubernetes 1.36: the standard functions with comparisons across numeric types, optional values, strings (version 2
//! of the extension), lists (Kubernetes' own and version 3 of the extension), sets, two-variable comprehensions, regular
//! expressions, URLs, quantities, IP addresses and CIDRs, named formats, semantic versions, the authorizer with selectors, and
//! `jsonpatch` through [`Environment::with_json_patch`]. `cel.bind`, `math`, `encoders` and `protos` are not there, because
//! Kubernetes does not turn them on.
//!
//! # How faithful it is
//!
//! Held against the conformance suite of the language (`cel-spec`, every case of the 20 files that concern what Kubernetes
//! turns on and that needs no protobuf message: 1,489): 1,257 agree in value or error. The others are refused by the checker
//! or by the rule on literals of several types, as by the API server (the suite runs many cases unchecked), differ only in
//! the words of an error, where the words here are those of cel-go, or concern newer versions of the libraries.
//!
//! What differs from the API server, as far as is known:
//!
//! | area | difference |
//! |---|---|
//! | syntax errors | one token may be left out or filled in; after a graver error nothing more is reported, where the generated parser of cel-go tries to go on and often reports a second error |
//! | recursion | the limit of 250 is counted for expressions, relations, sums and members as in the generated parser; the total height of the tree is limited at the same number |
//! | `optMap` | a chain that grows beyond 200,000 nodes once it is expanded is refused; cel-go doubles it at each step without limit |
//! | maps | keys come in their order, where Go's order is random; keys that are neither bool, int, uint nor string are refused; `1` and `1u` are the same key |
//! | quantities | numbers beyond 38 digits are refused |
//! | patterns | a pattern that does not compile has the reason of the `regex` crate in the frame of Go's text; compiled patterns are limited to 4 MiB |
//! | addresses | a text that is no IPv6 address always has the same reason |
//! | URLs | the rules of `net/url` for hosts and user information are simplified; `URL` values compare by their text |
//! | time zones | those of the IANA database that jiff bundles or the system has; years beyond its range use the rules at its end |
//! | results | texts beyond 32 MiB, ranges beyond 10,000,000 elements and comparisons of more than some million pairs end with the error of the cost limit at once, before they are made |
//! | cost | an error in the second turn of a comprehension is counted as in the first one, where cel-go may find an older value of the same place |
//! | declared values | JSON that does not have the form its schema declares is read as what it is, where the API server makes an error of it; sets of numbers compare by value |
//! | interrupts | an evaluation is bounded by its budget alone, not by the deadline of the request |

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
