//! An embedded Kubernetes API server for tests and development.

pub mod admission;
pub mod field;
pub mod kinds;
pub mod patch;
pub mod schema;
pub mod selector;
pub mod status;
