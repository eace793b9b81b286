//! What a policy does, as a type: rules belong to validating policies, and mutations to mutating ones.

/// A validating policy.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Validates;

/// A mutating policy.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Mutates;
