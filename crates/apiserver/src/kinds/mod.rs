//! What each resource is: names, scope, verbs, sub-resources, and the rules that belong to its kind.

pub mod columns;
pub mod conversion;
pub mod defaults;
pub mod fields;
mod formats;
pub(crate) mod internal;
pub(crate) mod pod_secrets;
mod registry;
mod resource;
mod served;
pub mod strategy;
#[cfg(test)]
pub(crate) mod testing;
pub mod validation;

pub use registry::{Group, GroupVersion, Registry, by_stability};
pub use resource::{Resource, Subresource, Verb};
pub(crate) use served::Served;
