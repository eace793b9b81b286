//! What each resource is: names, scope, verbs, sub-resources, and the rules that belong to its kind.

pub mod columns;
pub mod conversion;
pub mod defaults;
pub mod fields;
pub mod names;
mod registry;
mod resource;
pub mod strategy;
pub mod validation;
pub(crate) mod view;

pub use registry::{Group, GroupVersion, Registry, by_stability};
pub use resource::{GroupVersionKind, GroupVersionResource, Resource, Subresource, Verb};
