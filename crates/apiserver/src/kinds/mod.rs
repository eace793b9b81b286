//! What each resource is: names, scope, verbs, sub-resources, and the rules that belong to its kind.

pub mod columns;
pub mod conversion;
pub mod defaults;
pub mod fields;
mod resource;
pub mod strategy;
pub mod validation;
pub(crate) mod view;

pub use resource::{GroupVersionKind, GroupVersionResource, Resource, Subresource, Verb};
