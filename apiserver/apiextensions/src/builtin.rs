//! The built-in resources, with the rules of CustomResourceDefinitions among those of the other kinds.

use std::sync::{Arc, LazyLock};

use kubewright_registry::{Registry, Strategy, Versions};

use crate::definitions::CustomResourceDefinition;

/// Returns the resources that a server of the emulated version serves by default.
pub fn registry() -> &'static Registry {
    registry_when_asked()
}

/// The resources that a server of the emulated version serves by default, made when it is first looked into: a server that starts does not wait for it.
pub fn registry_when_asked() -> &'static LazyLock<Registry> {
    static DEFAULT: LazyLock<Registry> =
        LazyLock::new(|| Registry::builtin(Versions::Default, strategy));
    &DEFAULT
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
