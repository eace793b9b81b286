//! What the expressions of a policy are evaluated on: a request, the namespace of its object, and parameters.

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_cel::{Authority, Variables};
use serde_json::{Map, Value, json};

use super::params::Params;
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::expressions::Request;

/// What a policy is evaluated on.
pub(super) struct Input<'a> {
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a Attributes,
    pub(super) request: &'a Request<'a>,
    pub(super) namespace: &'a Namespace,
    pub(super) params: &'a Params,
}

/// What expressions see of the namespace of a request: null for cluster-scoped objects and for namespaces themselves.
#[derive(Debug, Default)]
pub(super) struct Namespace {
    /// Without its owners.
    pub(super) shown: Value,
    /// What audit annotations see.
    pub(super) with_owners: Value,
}

impl<'a> Input<'a> {
    /// The variables of match conditions, before those that the policy composes.
    pub(super) fn variables_of_conditions(&self, authority: &Authority<'a>) -> Variables<'a> {
        let variables = self.request.variables_of_conditions(authority);
        self.params.add_to(variables)
    }

    /// The variables of other expressions, before those that the policy composes.
    pub(super) fn variables(
        &self,
        namespace: &'a Value,
        authority: Option<&Authority<'a>>,
    ) -> Variables<'a> {
        let variables = self.request.variables(namespace, authority);
        self.params.add_to(variables)
    }
}

/// Reads the namespace of a request.
///
/// # Errors
/// The namespace does not exist.
pub(super) fn namespace(cluster: &dyn Cluster, attributes: &Attributes) -> Result<Namespace> {
    let kind = &attributes.kind;
    let is_namespace = (&*kind.group, &*kind.version, &*kind.kind) == ("", "v1", "Namespace");
    if attributes.namespace.is_empty() || is_namespace {
        return Ok(Namespace::default());
    }
    let name = &attributes.namespace;
    let namespace = cluster.get("", "namespaces", "", name);
    let namespace = namespace.ok_or_else(|| Status::not_found("", "namespaces", name))?;
    let shown = shown(&namespace);
    let mut with_owners = shown.clone();
    let owners = namespace.at("metadata").at("ownerReferences");
    if !owners.is_null() {
        with_owners["metadata"]["ownerReferences"] = owners.clone();
    }
    Ok(Namespace { shown, with_owners })
}

/// The fields of a namespace that expressions see: neither its kind nor `managedFields` and owners.
fn shown(namespace: &Value) -> Value {
    const SHOWN: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    let all = namespace.at("metadata").as_object().into_iter().flatten();
    let metadata: Map<String, Value> = all
        .filter(|(name, _)| SHOWN.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    json!({
        "metadata": metadata,
        "spec": namespace.at("spec"),
        "status": namespace.at("status"),
    })
}
