//! The version of Kubernetes whose behaviour these crates have.

/// The version of Kubernetes that the server emulates, such as `v1.37.2`.
pub const GIT_VERSION: &str = "v1.37.2";
