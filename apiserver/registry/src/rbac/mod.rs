//! The group rbac.authorization.k8s.io.

mod role;
mod role_binding;

use std::sync::Arc;

use crate::strategy::Strategy;
use role::Role;
use role_binding::RoleBinding;

/// Returns the strategy of a kind of the group.
pub(crate) fn strategy(kind: &str) -> Option<Arc<dyn Strategy>> {
    Some(match kind {
        "Role" => Arc::new(Role { namespaced: true }),
        "ClusterRole" => Arc::new(Role { namespaced: false }),
        "RoleBinding" => Arc::new(RoleBinding { namespaced: true }),
        "ClusterRoleBinding" => Arc::new(RoleBinding { namespaced: false }),
        _ => return None,
    })
}
