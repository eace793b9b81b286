//! The group resource.k8s.io: dynamic resource allocation.

mod conversion;
mod device_class;
mod device_taint_rule;
mod resource_claim;
mod resource_claim_template;
mod resource_slice;
pub(crate) mod validation;

use std::sync::Arc;

use crate::strategy::Strategy;
use device_class::DeviceClass;
use device_taint_rule::DeviceTaintRule;
use resource_slice::ResourceSlice;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    let version = version.to_owned();
    Some(match kind {
        "DeviceClass" => Arc::new(DeviceClass { version }),
        "DeviceTaintRule" => Arc::new(DeviceTaintRule { version }),
        "ResourceClaim" => Arc::new(resource_claim::ResourceClaim),
        "ResourceClaimTemplate" => Arc::new(resource_claim_template::ResourceClaimTemplate),
        "ResourceSlice" => Arc::new(ResourceSlice { version }),
        _ => return None,
    })
}
