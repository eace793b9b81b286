//! Older versions of Kubernetes: what a newer version brought is neither served nor kept.
//!
//! The rules of each kind are those of the newest version. An older one is the newest without what came later, as a
//! kube-apiserver with `--emulated-version` is: resources that are not served, and feature gates that are closed.

mod gates;
mod older;
mod older_rules;
mod paths;
mod rules;

use std::sync::Arc;

use kubewright_apimachinery::version::KubernetesVersion;
use kubewright_apimachinery::version::KubernetesVersion::{V1_36, V1_37};

use crate::core::pod::Pod;
use crate::core::service::Service;
use crate::networking::ingress::Ingress;
use crate::registry::Registry;
use crate::resource::Resource;
use crate::strategy::Strategy;
use older::Older;

/// The resources that were not yet served by default: the version that brought them, group, version and plural.
const INTRODUCED: [(KubernetesVersion, &str, &str, &str); 6] = {
    let admission = "admissionregistration.k8s.io";
    [
        (V1_36, admission, "v1", "mutatingadmissionpolicies"),
        (V1_36, admission, "v1", "mutatingadmissionpolicybindings"),
        (V1_37, "certificates.k8s.io", "v1", "clustertrustbundles"),
        (V1_37, "certificates.k8s.io", "v1", "podcertificaterequests"),
        (V1_37, "resource.k8s.io", "v1", "devicetaintrules"),
        (
            V1_37,
            "storagemigration.k8s.io",
            "v1",
            "storageversionmigrations",
        ),
    ]
};

/// Returns the resources of an older version of Kubernetes, with the rules that they had: what came later is neither served nor
/// kept. `newest` are those of the newest version.
pub fn emulated(newest: &Registry, version: KubernetesVersion) -> Registry {
    newest
        .without(|resource| is_newer(resource, version))
        .of_version(version, |resource| strategy(resource, version))
}

/// The strategy of an older version; none where it is the newest one.
fn strategy(resource: &Resource, version: KubernetesVersion) -> Option<Arc<dyn Strategy>> {
    let (group, kind) = (&resource.group, &resource.kind);
    let closed = gates::closed(group, kind, version);
    let rules = rules::of(group, kind, version);
    if closed.is_empty() && rules.is_empty() {
        return None;
    }
    let newest: Arc<dyn Strategy> = match (group.as_str(), kind.as_str()) {
        ("", "Pod") if version < V1_36 => Arc::new(Pod::RESIZED_BY_CONTAINER),
        ("", "Pod") if version < V1_37 => Arc::new(Pod::COMPLETED_BY_DEFAULT),
        ("", "Service") if version < V1_36 => Arc::new(Service::STRICT),
        ("networking.k8s.io", "Ingress") if version < V1_36 => Arc::new(Ingress::STRICT),
        _ => Arc::clone(&resource.strategy),
    };
    Some(Arc::new(Older::new(newest, closed, rules)))
}

fn is_newer(resource: &Resource, version: KubernetesVersion) -> bool {
    INTRODUCED.iter().any(|(since, group, of, plural)| {
        *since > version
            && resource.group == *group
            && resource.version == *of
            && resource.plural == *plural
    })
}

#[cfg(test)]
mod tests;
