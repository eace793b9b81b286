//! What each resource is: names, scope, verbs, sub-resources, and the rules that belong to its kind.

mod resource;

pub use resource::{GroupVersionKind, GroupVersionResource, Resource, Subresource, Verb};
