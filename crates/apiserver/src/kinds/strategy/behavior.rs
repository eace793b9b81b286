//! How the API server treats each kind as a whole: creation by PUT, blind updates, deletion.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::kinds::Resource;

/// What a kind allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    clippy::struct_excessive_bools,
    reason = "independent facts of one table"
)]
pub struct Behavior {
    /// A PUT or a patch of a missing object creates it.
    pub create_on_update: bool,
    /// A PUT without a resource version overwrites whatever is stored.
    pub unconditional_update: bool,
    /// An immediate deletion answers the object and not a Status.
    pub returns_deleted: bool,
    /// A deletion waits for somebody else to end it (pods).
    pub graceful: bool,
    /// What happens to the dependents when the client does not say.
    pub propagation: Propagation,
}

/// What happens to the dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the two defaults that there are")]
pub enum Propagation {
    /// They are deleted later.
    Background,
    /// They stay.
    Orphan,
}

/// How the API server treats objects of this kind.
pub fn behavior(resource: &Resource) -> Behavior {
    if resource.custom.is_some() {
        return CUSTOM;
    }
    let (group, kind) = (resource.group.as_str(), resource.kind.as_str());
    let create_on_update = matches!(
        (group, kind),
        (
            "",
            "Service" | "Endpoints" | "Event" | "LimitRange" | "PodTemplate"
        ) | ("events.k8s.io", "Event")
            | ("coordination.k8s.io", "Lease" | "LeaseCandidate")
            | ("rbac.authorization.k8s.io", _)
    );
    let conditional = matches!(
        (group, kind),
        ("coordination.k8s.io", "Lease" | "LeaseCandidate")
            | (
                "admissionregistration.k8s.io"
                    | "node.k8s.io"
                    | "apiextensions.k8s.io"
                    | "apiregistration.k8s.io",
                _
            )
            | ("policy", "PodDisruptionBudget")
            | (
                "storage.k8s.io",
                "CSINode" | "CSIDriver" | "VolumeAttachment" | "CSIStorageCapacity"
            )
    );
    let returns_deleted = matches!(
        (group, kind),
        (
            "",
            "Pod"
                | "Namespace"
                | "Service"
                | "PersistentVolume"
                | "PersistentVolumeClaim"
                | "ServiceAccount"
                | "ResourceQuota"
                | "PodTemplate"
        ) | (
            "storage.k8s.io",
            "CSIDriver" | "CSINode" | "StorageClass" | "VolumeAttachment" | "VolumeAttributesClass"
        ) | ("resource.k8s.io", _)
    );
    // For clients from before garbage collection, the first versions of these kinds leave their pods alone.
    let orphans = matches!(
        (group, resource.version.as_str(), kind),
        ("batch", "v1", "Job") | ("", "v1", "ReplicationController")
    );
    Behavior {
        create_on_update,
        unconditional_update: !conditional,
        returns_deleted,
        graceful: (group, kind) == ("", "Pod"),
        propagation: if orphans {
            Propagation::Orphan
        } else {
            Propagation::Background
        },
    }
}

/// What custom resources allow.
const CUSTOM: Behavior = Behavior {
    create_on_update: false,
    unconditional_update: false,
    returns_deleted: false,
    graceful: false,
    propagation: Propagation::Background,
};

/// How many seconds a deletion waits: `None` for kinds that do not wait, 0 for at once.
///
/// `requested` is what the client's options say.
pub fn grace_period(resource: &Resource, object: &Value, requested: Option<i64>) -> Option<i64> {
    if !behavior(resource).graceful {
        return None;
    }
    let spec = object.at("spec");
    let ended = matches!(object.at("status").text("phase"), "Failed" | "Succeeded");
    if spec.text("nodeName").is_empty() || ended {
        return Some(0);
    }
    let period = requested.or_else(|| spec.int("terminationGracePeriodSeconds"));
    match period.unwrap_or(0) {
        period if period < 0 => Some(1),
        period => Some(period),
    }
}
