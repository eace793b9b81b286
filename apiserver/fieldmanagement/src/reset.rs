//! Which fields a request cannot set: nobody owns them through it.

use kubewright_registry::Resource;

use super::set::Set;

/// The fields that a write to the object (or to one of its sub-resources) does not change, whatever it says.
pub(super) fn reset(resource: &Resource, subresource: &str) -> Set {
    Set::of_fields(resource.strategy.reset_fields(subresource))
}
