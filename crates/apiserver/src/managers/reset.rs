//! Which fields a request cannot set: nobody owns them through it.

use super::set::Set;
use crate::kinds::Resource;

/// The fields that a write to the object (or to one of its sub-resources) does not change, whatever it says.
pub(super) fn reset(resource: &Resource, subresource: &str) -> Set {
    if resource.custom.is_some() && subresource == "status" {
        return Set::of_fields(&[&["metadata"], &["spec"]]);
    }
    let paths: &[&[&'static str]] = match (subresource, resource.kind.as_str()) {
        ("status", "Pod") => &[
            &["spec"],
            &["metadata", "deletionTimestamp"],
            &["metadata", "ownerReferences"],
        ],
        ("status", "Deployment") => &[&["spec"], &["metadata", "labels"]],
        ("status", "CertificateSigningRequest") => &[&["spec"], &["status", "conditions"]],
        ("approval", _) => &[&["spec"], &["status", "certificate"]],
        (
            "status",
            "ValidatingAdmissionPolicy"
            | "StorageVersion"
            | "FlowSchema"
            | "PriorityLevelConfiguration"
            | "ServiceCIDR"
            | "DeviceTaintRule"
            | "ResourceClaim"
            | "VolumeAttachment"
            | "StorageVersionMigration",
        ) => &[&["metadata"], &["spec"]],
        ("status", _) => &[&["spec"]],
        (_, "CertificateSigningRequest") => &[&["spec"], &["status"]],
        (_, "PodCertificateRequest") => &[],
        _ if resource.subresource("status").is_some() => &[&["status"]],
        _ => &[],
    };
    Set::of_fields(paths)
}
