//! Fields that a request cannot set: its manager does not become their owner.

use kubewright_registry::Resource;

use super::set::Set;

/// The fields that the server resets in a write to the object or to one of its subresources.
pub(super) fn reset(resource: &Resource, subresource: &str) -> Set {
    Set::of_fields(resource.strategy.reset_fields(subresource))
}
