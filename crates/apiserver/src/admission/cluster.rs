//! What admission reads of the cluster.

use std::sync::Arc;

use serde_json::Value;

use crate::cel::{Authorizer, Decision, Question};
use crate::kinds::Resource;

/// The cluster as admission sees it: stored objects, each in its `v1` form with apiVersion and kind.
///
/// Implemented over the store. Every answer reflects all writes acknowledged before the call: unlike the real server's
/// informers there is no lag, so a changed webhook configuration takes effect at once.
pub trait Cluster: Send + Sync {
    /// The named object; `namespace` is empty for cluster-scoped resources.
    fn get(&self, group: &str, resource: &str, namespace: &str, name: &str) -> Option<Arc<Value>>;

    /// All objects of a resource in one namespace, or in all of them for an empty one, ordered by name.
    fn list(&self, group: &str, resource: &str, namespace: &str) -> Vec<Arc<Value>>;

    /// A number that differs from the last one whenever an object of the resource was written or removed since.
    fn change_number(&self, group: &str, resource: &str) -> u64;

    /// The same objects under other versions and groups, without `resource` itself (`kinds::Registry::equivalents`).
    fn equivalents(&self, resource: &Resource) -> Vec<Arc<Resource>>;

    /// Whom match conditions ask as `authorizer`. Allows everything unless the server says otherwise.
    fn authorizer(&self) -> &dyn Authorizer {
        &AllowAll
    }
}

/// The authorizer of a server that lets everybody in do everything.
#[derive(Debug)]
struct AllowAll;

impl Authorizer for AllowAll {
    fn authorize(&self, _: &Question<'_>) -> Decision {
        Decision {
            allowed: true,
            ..Decision::default()
        }
    }
}
