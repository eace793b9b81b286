//! The order in which objects are applied: first those that others depend on.

use crate::cluster::Write;
use crate::manifest::Manifest;
use crate::source::Role;

/// The kinds that others depend on, in their order. An object of these is kept; of all others, only the answer is.
const KEPT: [(&str, &str); 14] = [
    ("", "Namespace"),
    ("apiextensions.k8s.io", "CustomResourceDefinition"),
    (POLICIES, "ValidatingAdmissionPolicy"),
    (POLICIES, "MutatingAdmissionPolicy"),
    (POLICIES, "ValidatingAdmissionPolicyBinding"),
    (POLICIES, "MutatingAdmissionPolicyBinding"),
    ("scheduling.k8s.io", "PriorityClass"),
    ("storage.k8s.io", "StorageClass"),
    ("node.k8s.io", "RuntimeClass"),
    ("networking.k8s.io", "IngressClass"),
    ("", "ServiceAccount"),
    ("", "LimitRange"),
    ("", "ResourceQuota"),
    ("", "ConfigMap"),
];

const POLICIES: &str = "admissionregistration.k8s.io";

/// The rank of params: before the policies, to which they are objects like any other.
const PARAMS: usize = 2;

/// The place of a manifest in the order, and whether it is kept. What the cluster has comes before all that is checked.
pub(crate) fn rank(manifest: &Manifest, role: Role) -> ((Role, usize), Write) {
    let group = manifest
        .api_version()
        .rsplit_once('/')
        .map_or("", |(group, _)| group);
    let kept = KEPT
        .iter()
        .position(|(of, kind)| *of == group && *kind == manifest.kind());
    match (role, kept) {
        (Role::Cluster, Some(rank)) if rank < PARAMS => ((role, rank), Write::Kept),
        (Role::Cluster, Some(rank)) if group == POLICIES => ((role, rank + 1), Write::Kept),
        (Role::Cluster, _) => ((role, PARAMS), Write::Kept),
        (Role::Manifests, Some(rank)) => ((role, rank), Write::Kept),
        (Role::Manifests, None) => ((role, KEPT.len()), Write::DryRun),
    }
}
