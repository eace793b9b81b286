//! One suite, two servers: the same cases are run on the embedded API server and on a real kube-apiserver, and the
//! answers are compared field by field.
//!
//! `cases/` holds the cases, `recordings/` what the real server answered to each, and
//! `apiserver/server/DIFFERENCES.md` the differences that are known, with a reason each.

pub mod case;
mod client;
pub mod compare;
mod converters;
pub mod differences;
pub mod embedded;
mod fill;
pub mod first_objects;
pub mod generate;
mod hooks;
pub mod manifests;
mod metrics;
pub mod mutants;
mod openapi;
pub mod real;
pub mod recording;
mod redact;
pub mod report;
pub mod run;
pub mod server;
mod vars;
