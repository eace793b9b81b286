//! PodSecurity: without labels every pod is privileged, and so allowed; where labels ask for more, this says that it
//! does not judge.

use kubewright_apimachinery::view::View as _;

use super::subject::creates;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;
use crate::notes::Notes;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes, notes: &Notes) {
    if !is_about_pods(attributes) {
        return;
    }
    let Some(namespace) = cluster.get("", "namespaces", "", &attributes.namespace) else {
        return;
    };
    let labels = namespace.at("metadata").at("labels");
    let level = |mode| labels.text(&format!("pod-security.kubernetes.io/{mode}"));
    let is_privileged = |mode| matches!(level(mode), "" | "privileged");
    if ["enforce", "audit", "warn"].into_iter().all(is_privileged) {
        notes.annotate(
            "pod-security.kubernetes.io/enforce-policy",
            "privileged:latest",
        );
    }
    if !creates(attributes, "", "pods") {
        return;
    }
    for mode in ["enforce", "warn"] {
        let level = level(mode);
        if !is_privileged(mode) {
            notes.warn(&format!(
                "this server does not evaluate PodSecurity: namespace {:?} asks to {mode} the {level} level, and the pod was not checked",
                attributes.namespace
            ));
        }
    }
}

/// Whether the request writes a pod, or a part of one that pods are judged by.
fn is_about_pods(attributes: &Attributes) -> bool {
    let resource = &attributes.resource;
    let judged = !matches!(
        attributes.subresource.as_str(),
        "binding" | "eviction" | "status"
    );
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    resource.group.is_empty() && resource.plural == "pods" && judged && writes
}
