//! What each resource is: names, scope, verbs, sub-resources, and the rules that belong to its kind.

pub mod columns;
pub mod conversion;
pub mod defaults;
pub mod fields;
mod formats;
pub(crate) mod internal;
pub mod names;
pub(crate) mod pod_secrets;
pub mod quantity;
mod registry;
mod resource;
mod served;
pub mod strategy;
#[cfg(test)]
pub(crate) mod testing;
pub mod validation;
pub(crate) mod view;

pub use registry::{Group, GroupVersion, Registry, by_stability};
pub use resource::{GroupVersionKind, GroupVersionResource, Resource, Subresource, Verb};
pub(crate) use served::Served;
