//! PodSecurity: without labels every pod is privileged, and so allowed; where labels ask for more, this says that it
//! does not judge.

use super::creates;
use crate::admission::attributes::Attributes;
use crate::admission::cluster::Cluster;
use crate::admission::notes::Notes;
use crate::kinds::view::View as _;

pub(super) fn validate(cluster: &dyn Cluster, attributes: &Attributes, notes: &Notes) {
    if !creates(attributes, "", "pods") {
        return;
    }
    let Some(namespace) = cluster.get("", "namespaces", "", &attributes.namespace) else {
        return;
    };
    let labels = namespace.at("metadata").at("labels");
    for mode in ["enforce", "warn"] {
        let level = labels.text(&format!("pod-security.kubernetes.io/{mode}"));
        if !matches!(level, "" | "privileged") {
            notes.warn(&format!(
                "this server does not evaluate PodSecurity: namespace {:?} asks to {mode} the {level} level, and the pod was not checked",
                attributes.namespace
            ));
        }
    }
}
