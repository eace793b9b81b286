//! The built-in resources, with the rules of CustomResourceDefinitions among those of the other kinds.

use std::sync::{Arc, LazyLock};

use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_registry::{Registry, Strategy, Versions, emulated};

use crate::definitions::CustomResourceDefinition;

/// Returns the resources that a server serves by default.
pub fn registry() -> &'static Registry {
    registry_when_asked(KubernetesVersion::default())
}

/// The resources that a server of a version serves by default, made when they are first looked into: a server that starts does not
/// wait for them.
pub fn registry_when_asked(version: KubernetesVersion) -> &'static LazyLock<Registry> {
    static NEWEST: LazyLock<Registry> =
        LazyLock::new(|| Registry::builtin(Versions::Default, strategy));
    static V1_36: LazyLock<Registry> =
        LazyLock::new(|| emulated(&NEWEST, KubernetesVersion::V1_36));
    static V1_35: LazyLock<Registry> =
        LazyLock::new(|| emulated(&NEWEST, KubernetesVersion::V1_35));
    match version {
        KubernetesVersion::V1_35 => &V1_35,
        KubernetesVersion::V1_36 => &V1_36,
        _ => &NEWEST,
    }
}

/// Returns the resources in every version, alpha and beta too (`--runtime-config=api/all=true`).
pub fn with_all_versions() -> &'static Registry {
    static ALL: LazyLock<Registry> = LazyLock::new(|| Registry::builtin(Versions::All, strategy));
    &ALL
}

fn strategy(group: &str, kind: &str) -> Option<Arc<dyn Strategy>> {
    let is_definition = (group, kind) == ("apiextensions.k8s.io", "CustomResourceDefinition");
    is_definition.then(|| Arc::new(CustomResourceDefinition) as _)
}
