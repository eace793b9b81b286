//! The parameters that a binding gives to its policy.

use std::sync::Arc;

use kubewright_apiextensions::custom::convert;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit as _, View as _};
use kubewright_cel::Variables;
use kubewright_registry::Resource;
use kubewright_webhook_client::Reach;
use serde_json::Value;

use super::binding::{ParamRef, Which};
use crate::attributes::Attributes;
use crate::cluster::Cluster;
use crate::kinds::is_built_in;

/// The parameters of one evaluation.
#[derive(Clone, Debug)]
pub(super) struct Params {
    /// Null where the policy or its binding asks for none.
    value: Arc<Value>,
    /// Whether they are of a built-in kind.
    is_built_in: bool,
    /// Whether the API server holds them in Go types.
    is_native: bool,
}

impl Params {
    /// Parameters of built-in kinds as mutations get them, from typed caches: without apiVersion and kind.
    pub(super) fn native(self) -> Self {
        if !self.is_built_in {
            return self;
        }
        let mut value = Arc::unwrap_or_clone(self.value);
        value.drop_field("apiVersion");
        value.drop_field("kind");
        Self {
            value: Arc::new(value),
            is_native: true,
            ..self
        }
    }

    pub(super) fn metadata(&self) -> &Value {
        self.value.at("metadata")
    }

    pub(super) fn add_to<'a>(&'a self, variables: Variables<'a>) -> Variables<'a> {
        if self.is_native {
            variables.with_native("params", &self.value)
        } else {
            variables.with_json("params", &self.value)
        }
    }
}

/// The resource of a policy's parameters.
///
/// # Errors
/// The server has no such kind.
pub(super) fn resource(
    cluster: &dyn Cluster,
    kind: Option<&GroupVersionKind>,
) -> Result<Option<Arc<Resource>>, String> {
    let Some(kind) = kind else { return Ok(None) };
    match cluster.resource(kind) {
        Some(resource) => Ok(Some(resource)),
        None => Err(format!(
            "failed to find resource referenced by paramKind: '{}, Kind={}'",
            shown(kind),
            kind.kind
        )),
    }
}

/// Group and version as Go prints them: a core group leaves its slash.
fn shown(kind: &GroupVersionKind) -> String {
    format!("{}/{}", kind.group, kind.version)
}

/// The parameters, each of which the policy is evaluated with.
///
/// # Errors
/// The reference fits neither the kind nor the request, or it finds nothing and says that this denies.
pub(super) async fn collect(
    reach: Reach<'_>,
    cluster: &dyn Cluster,
    attributes: &Attributes,
    resource: Option<&Arc<Resource>>,
    reference: Option<&ParamRef>,
) -> Result<Vec<Params>, String> {
    let (Some(resource), Some(reference)) = (resource, reference) else {
        return Ok(vec![Params {
            value: Arc::new(Value::Null),
            is_built_in: false,
            is_native: false,
        }]);
    };
    let namespace = if resource.namespaced {
        let namespaces = [&reference.namespace, &attributes.namespace];
        let mut given = namespaces.into_iter().filter(|name| !name.is_empty());
        given.next().ok_or(
            "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources",
        )?
    } else if reference.namespace.is_empty() {
        ""
    } else {
        return Err(
            "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
        );
    };
    let (group, plural) = (&resource.group, &resource.plural);
    let found: Vec<Arc<Value>> = match &reference.which {
        Which::Named(name) => cluster
            .get(group, plural, namespace, name)
            .into_iter()
            .collect(),
        Which::Selected(selector) => {
            let selector = selector.as_ref().map_err(Clone::clone)?;
            let mut all = cluster.list(group, plural, namespace);
            all.retain(|object| {
                selector
                    .as_ref()
                    .is_some_and(|labels| labels.matches_object(object))
            });
            all
        }
    };
    if found.is_empty() && reference.deny_if_not_found {
        return Err(
            "no params found for policy binding with `Deny` parameterNotFoundAction".to_owned(),
        );
    }
    let is_built_in = is_built_in(&resource.group_version_kind());
    let mut params = Vec::with_capacity(found.len());
    for object in found {
        let object = in_version(reach, cluster, resource, object).await?;
        let value = if is_built_in {
            without_managed_fields(object)
        } else {
            object
        };
        params.push(Params {
            value,
            is_built_in,
            is_native: false,
        });
    }
    Ok(params)
}

/// Caches of built-in kinds leave out what nothing but writes needs.
fn without_managed_fields(object: Arc<Value>) -> Arc<Value> {
    if !object.at("metadata").has("managedFields") {
        return object;
    }
    let mut object = Arc::unwrap_or_clone(object);
    if let Some(metadata) = object.existing("metadata") {
        metadata.drop_field("managedFields");
    }
    Arc::new(object)
}

/// The object in the version that `paramKind` names.
async fn in_version(
    reach: Reach<'_>,
    cluster: &dyn Cluster,
    resource: &Resource,
    object: Arc<Value>,
) -> Result<Arc<Value>, String> {
    if object.text("apiVersion") == resource.api_version() {
        return Ok(object);
    }
    let api_version = object.text("apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let stored = cluster.resource(&GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: object.text("kind").to_owned(),
    });
    let Some(stored) = stored else {
        return Ok(object);
    };
    let converted = convert::between(reach, &stored, resource, (*object).clone()).await;
    converted
        .map(Arc::new)
        .map_err(|status| status.message().to_owned())
}
