//! NamespaceLifecycle: nothing is created in a namespace that is missing or going away, and three namespaces stay.

use kubewright_apimachinery::status::{Result, Status};
use serde_json::json;

use super::subject::forbidden;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

const IMMORTAL: [&str; 3] = ["default", "kube-public", "kube-system"];

pub(super) fn admit(cluster: &dyn Cluster, attributes: &Attributes) -> Result<()> {
    if attributes.kind.group.is_empty() && attributes.kind.kind == "Namespace" {
        let deleted = attributes.operation == Operation::Delete;
        return if deleted && IMMORTAL.contains(&attributes.name.as_str()) {
            Err(forbidden(attributes, "this namespace may not be deleted"))
        } else {
            Ok(())
        };
    }
    let creates = attributes.operation == Operation::Create;
    if !creates || attributes.namespace.is_empty() || is_access_review(attributes) {
        return Ok(());
    }
    let name = attributes.namespace.as_str();
    let Some(namespace) = cluster.get("", "namespaces", "", name) else {
        return Err(Status::not_found("", "namespaces", name));
    };
    if namespace["status"]["phase"] == "Terminating" {
        return Err(terminating(attributes, name));
    }
    Ok(())
}

fn terminating(attributes: &Attributes, namespace: &str) -> Status {
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let mut status = forbidden(attributes, &why);
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    status
        .details_mut()
        .insert("causes".to_owned(), json!([cause]));
    status
}

/// An answer about the namespace would tell who may ask that it exists.
fn is_access_review(attributes: &Attributes) -> bool {
    attributes.resource.group == "authorization.k8s.io"
        && attributes.resource.plural == "localsubjectaccessreviews"
}
