//! Resources for the tests of the rules, made by name alone; random objects of those that are served.

use std::sync::{Arc, LazyLock};

use kubewright_apimachinery::fuzzer;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::user::User;
use serde_json::Value;

use crate::groups;
use crate::registry::{Registry, Versions};
use crate::resource::{Resource, Subresource};
use crate::strategy::Creation;

/// A namespaced (where the kind is) resource with the given names and nothing else.
pub(crate) fn resource(group: &str, version: &str, kind: &str) -> Resource {
    Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
        singular: kind.to_lowercase(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: !is_cluster_scoped(kind),
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
        list_kind: format!("{kind}List"),
        strategy: groups::strategy(group, version, kind)
            .unwrap_or_else(|| groups::unspecific(group, kind, !is_cluster_scoped(kind), true)),
    }
}

/// Prepares a new object that a user without a name creates. Returns the warnings.
pub(crate) fn prepare_for_create(resource: &Resource, object: &mut Value) -> Vec<String> {
    let mut creation = Creation {
        user: &User::default(),
        warnings: Vec::new(),
    };
    resource.strategy.prepare_for_create(object, &mut creation);
    creation.warnings
}

/// The built-in resources.
pub(crate) fn registry(versions: Versions) -> &'static Registry {
    static DEFAULT: LazyLock<Registry> =
        LazyLock::new(|| Registry::builtin(Versions::Default, |_, _| None));
    static ALL: LazyLock<Registry> =
        LazyLock::new(|| Registry::builtin(Versions::All, |_, _| None));
    match versions {
        Versions::Default => &DEFAULT,
        Versions::All => &ALL,
    }
}

/// A random object of a random resource that is served in some version.
pub(crate) fn random_object(seed: u64) -> (Arc<Resource>, Value) {
    let resources: Vec<_> = registry(Versions::All).all().collect();
    let resource = resources[usize::try_from(seed % resources.len() as u64).unwrap()];
    let object = fuzzer::object(&resource.group_version_kind(), seed).unwrap();
    (resource.clone(), object)
}

fn is_cluster_scoped(kind: &str) -> bool {
    matches!(
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
            | "MutatingAdmissionPolicy"
            | "MutatingAdmissionPolicyBinding"
            | "ValidatingWebhookConfiguration"
            | "ValidatingAdmissionPolicy"
            | "ValidatingAdmissionPolicyBinding"
    )
}
