//! Deleting what a program was deployed with and is deployed with no more.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::current::{Cluster, DEFINITION, called, is_same};
use crate::failure::Outcome;
use crate::ownership::Installation;
use crate::ui::Ui;

/// The objects that can go, those that have the program called first and definitions last.
///
/// They have the program's label, belong to this installation, and are not among the objects that were applied now. In the
/// namespaces of others nothing is looked for, and a namespace itself never goes: more may be in it.
pub(super) async fn superfluous(
    ui: &Ui,
    cluster: &Cluster,
    installation: &Installation,
    applied: &[Value],
) -> Outcome<Vec<Value>> {
    let labels: BTreeSet<&str> = applied.iter().filter_map(label).collect();
    let namespaces: BTreeSet<&str> = applied
        .iter()
        .filter_map(|object| object["metadata"]["namespace"].as_str())
        .collect();
    let mut superfluous = Vec::new();
    for label in labels {
        let selector = format!("{LABEL}={label}");
        for (api_version, kind) in CLUSTER {
            superfluous.extend(cluster.labelled(api_version, kind, None, &selector).await?);
        }
        for namespace in &namespaces {
            for (api_version, kind) in NAMESPACED {
                let found = cluster.labelled(api_version, kind, Some(namespace), &selector);
                superfluous.extend(found.await?);
            }
        }
    }
    superfluous.retain(|object| {
        installation.owns(object) && !applied.iter().any(|one| is_same(one, object))
    });
    let (definitions, mut superfluous): (Vec<Value>, Vec<Value>) = superfluous
        .into_iter()
        .partition(|object| object["kind"] == DEFINITION);
    for definition in definitions {
        let count = cluster.count(&definition).await?;
        if count == 0 {
            superfluous.push(definition);
        } else {
            ui.note(format!(
                "the {} stays: there are {count} objects of it, which would go with it",
                called(&definition)
            ));
        }
    }
    Ok(superfluous)
}

fn label(object: &Value) -> Option<&str> {
    object["metadata"]["labels"][LABEL].as_str()
}

const LABEL: &str = "app.kubernetes.io/name";

/// What manifests have, in the order in which it goes.
const CLUSTER: [(&str, &str); 9] = [
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicyBinding",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingAdmissionPolicy",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicyBinding",
    ),
    ("admissionregistration.k8s.io/v1", "MutatingAdmissionPolicy"),
    (
        "admissionregistration.k8s.io/v1",
        "ValidatingWebhookConfiguration",
    ),
    (
        "admissionregistration.k8s.io/v1",
        "MutatingWebhookConfiguration",
    ),
    ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
    ("rbac.authorization.k8s.io/v1", "ClusterRole"),
    ("apiextensions.k8s.io/v1", DEFINITION),
];

const NAMESPACED: [(&str, &str); 11] = [
    ("apps/v1", "Deployment"),
    ("policy/v1", "PodDisruptionBudget"),
    ("v1", "Service"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("cert-manager.io/v1", "Certificate"),
    ("cert-manager.io/v1", "Issuer"),
    ("v1", "ConfigMap"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("v1", "ServiceAccount"),
];
