//! What the expressions of a policy are evaluated on: a request, the namespace of its object, and parameters.

use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::view::View as _;
use kubewright_cel::{Authority, Variables};
use serde_json::{Map, Value, json};

use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::expressions::Request;

/// What a policy is evaluated on.
pub(super) struct Input<'a> {
    pub(super) cluster: &'a dyn Cluster,
    pub(super) attributes: &'a Attributes,
    pub(super) request: &'a Request<'a>,
    pub(super) namespace: &'a Value,
    pub(super) params: &'a Value,
}

impl<'a> Input<'a> {
    /// The variables of expressions, before those that the policy composes.
    pub(super) fn variables(
        &self,
        namespace: &'a Value,
        authority: Option<&Authority<'a>>,
    ) -> Variables<'a> {
        let variables = self.request.variables(namespace, authority);
        variables.with_json("params", self.params)
    }
}

/// What expressions see of the namespace of a request; null for cluster-scoped objects and for namespaces themselves.
///
/// # Errors
/// The namespace does not exist.
pub(super) fn namespace(cluster: &dyn Cluster, attributes: &Attributes) -> Result<Value> {
    let kind = &attributes.kind;
    let is_namespace = (&*kind.group, &*kind.version, &*kind.kind) == ("", "v1", "Namespace");
    if attributes.namespace.is_empty() || is_namespace {
        return Ok(Value::Null);
    }
    let name = &attributes.namespace;
    let namespace = cluster.get("", "namespaces", "", name);
    let namespace = namespace.ok_or_else(|| Status::not_found("", "namespaces", name))?;
    Ok(shown(&namespace))
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
