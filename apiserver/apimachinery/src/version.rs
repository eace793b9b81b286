//! The version of Kubernetes whose behaviour these crates have.

/// The version of Kubernetes that the server emulates, such as `v1.36.3`.
pub const GIT_VERSION: &str = "v1.36.3";
