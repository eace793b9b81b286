//! The API groups: where the strategy of each kind is found.

use std::sync::Arc;

use crate::strategy::Strategy;
use crate::unspecific::Unspecific;
use crate::{
    admissionregistration, apiregistration, apps, autoscaling, batch, certificates, coordination,
    core, discovery, dra, events, flowcontrol, networking, node, policy, rbac, scheduling, storage,
};

/// Returns the strategy of a built-in kind.
pub(crate) fn strategy(group: &str, version: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    match group {
        "" => core::strategy(kind).or_else(|| events::strategy(group, kind)),
        "events.k8s.io" => events::strategy(group, kind),
        "admissionregistration.k8s.io" => admissionregistration::strategy(version, kind),
        "apiregistration.k8s.io" => apiregistration::strategy(kind),
        "apps" => apps::strategy(kind),
        "batch" => batch::strategy(kind),
        "resource.k8s.io" => dra::strategy(version, kind),
        "autoscaling" => autoscaling::strategy(version, kind),
        "certificates.k8s.io" => certificates::strategy(kind),
        "coordination.k8s.io" => coordination::strategy(kind),
        "discovery.k8s.io" => discovery::strategy(kind),
        "flowcontrol.apiserver.k8s.io" => flowcontrol::strategy(kind),
        "networking.k8s.io" => networking::strategy(kind),
        "node.k8s.io" => node::strategy(kind),
        "policy" => policy::strategy(kind),
        "rbac.authorization.k8s.io" => rbac::strategy(kind),
        "scheduling.k8s.io" => scheduling::strategy(kind),
        "storage.k8s.io" => storage::strategy(kind),
        _ => None,
    }
}

/// Returns the strategy of a built-in kind without rules of its own.
pub(crate) fn unspecific(
    group: &str,
    kind: &str,
    namespaced: bool,
    has_status: bool,
) -> Arc<dyn Strategy> {
    Arc::new(Unspecific {
        namespaced,
        has_status,
        resets_metadata: matches!(kind, "StorageVersion" | "StorageVersionMigration"),
        returns_deleted: group == "resource.k8s.io",
    })
}
