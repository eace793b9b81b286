//! Validation of the kinds of the core group, but for pods.

pub(super) mod claims;
pub(super) mod config;
pub(crate) mod persistent_volumes;
pub(super) mod quotas;
pub(crate) mod services;
