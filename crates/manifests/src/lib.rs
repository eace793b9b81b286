//! Kubernetes manifests from the declarations that run.

mod endpoint;
mod names;

pub use endpoint::{Endpoint, EndpointError};
