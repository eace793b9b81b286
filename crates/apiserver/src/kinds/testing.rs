//! Resources for the tests of the rules, made by name alone.

use super::{GroupVersionKind, Resource, Subresource};

/// A namespaced (where the kind is) resource with the given names and nothing else.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> Resource {
    let cluster_scoped = matches!(
        kind,
        "Namespace"
            | "Node"
            | "PersistentVolume"
            | "ClusterRole"
            | "ClusterRoleBinding"
            | "PriorityClass"
            | "StorageClass"
            | "IngressClass"
            | "MutatingWebhookConfiguration"
            | "ValidatingWebhookConfiguration"
    );
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: !cluster_scoped,
        verbs: Vec::new(),
        subresources: vec![Subresource {
            name: "status".to_owned(),
            kind: GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: kind.to_owned(),
            },
            verbs: Vec::new(),
        }],
        storage: (group.to_owned(), version.to_owned()),
        custom: None,
    }
}
