//! Resources for the tests of the rules, made by name alone; random objects of those that are served.

use std::sync::Arc;

use kubewright_apimachinery::fuzzer;
use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::Value;

use super::{Registry, Resource, Subresource};

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

/// A random object of a random resource that is served in some version.
pub(crate) fn random_object(seed: u64) -> (Arc<Resource>, Value) {
    let resources: Vec<_> = Registry::with_all_versions().all().collect();
    let resource = resources[usize::try_from(seed % resources.len() as u64).unwrap()];
    let object = fuzzer::object(&resource.group_version_kind(), seed).unwrap();
    (resource.clone(), object)
}
