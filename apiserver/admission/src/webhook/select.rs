//! Whether a webhook is called for a request, and as what (A.5.1, A.6, A.7).

use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Resource;
use serde_json::Value;

use super::configuration::Hook;
use super::rules::Target;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

/// A webhook to call, with the resource and the kind that its review contains.
#[derive(Clone, Debug)]
pub(super) struct Invocation {
    pub(super) hook: Arc<Hook>,
    pub(super) resource: Arc<Resource>,
    pub(super) kind: GroupVersionKind,
}

/// Steps 1 to 6 of A.5.1; match conditions come after this, on the object in the form that the webhook gets.
pub(super) fn select(
    hook: &Arc<Hook>,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<Option<Invocation>> {
    // A selector that cannot be evaluated matters only if the rules match.
    let namespaces = in_namespaces(hook, cluster, attributes);
    if matches!(namespaces, Ok(false)) {
        return Ok(None);
    }
    let objects = has_labels(hook, attributes);
    if matches!(objects, Ok(false)) {
        return Ok(None);
    }
    let Some(invocation) = by_rules(hook, cluster, attributes)? else {
        return Ok(None);
    };
    namespaces?;
    objects?;
    Ok(Some(invocation))
}

fn in_namespaces(hook: &Hook, cluster: &dyn Cluster, attributes: &Attributes) -> Result<bool> {
    let about_namespaces = attributes.resource.plural == "namespaces";
    if attributes.namespace.is_empty() && !about_namespaces {
        return Ok(true);
    }
    let Some(selector) = hook.namespaces.read()? else {
        return Ok(false);
    };
    if selector.is_empty() {
        return Ok(true);
    }
    let writes = matches!(attributes.operation, Operation::Create | Operation::Update);
    if about_namespaces && attributes.subresource.is_empty() && writes {
        return Ok(selector.matches_object(&attributes.object));
    }
    match cluster.get("", "namespaces", "", &attributes.namespace) {
        Some(namespace) => Ok(selector.matches_object(&namespace)),
        None => Err(Status::not_found("", "namespaces", &attributes.namespace)),
    }
}

fn has_labels(hook: &Hook, attributes: &Attributes) -> Result<bool> {
    let Some(selector) = hook.objects.read()? else {
        return Ok(false);
    };
    let matches =
        |object: &Value| object["metadata"].is_object() && selector.matches_object(object);
    Ok(selector.is_empty() || matches(&attributes.object) || matches(&attributes.old_object))
}

fn by_rules(
    hook: &Arc<Hook>,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<Option<Invocation>> {
    let own = target(attributes, &attributes.resource);
    if hook.rules.iter().any(|rule| rule.matches(&own)) {
        return Ok(Some(Invocation {
            hook: Arc::clone(hook),
            resource: Arc::clone(&attributes.resource),
            kind: attributes.kind.clone(),
        }));
    }
    if !hook.equivalent {
        return Ok(None);
    }
    let equivalents = cluster.equivalents(&attributes.resource);
    for rule in &hook.rules {
        let matching = |resource: &&Arc<Resource>| rule.matches(&target(attributes, resource));
        if let Some(resource) = equivalents.iter().find(matching) {
            return Ok(Some(Invocation {
                hook: Arc::clone(hook),
                resource: Arc::clone(resource),
                kind: kind_of(resource, &attributes.subresource)?,
            }));
        }
    }
    Ok(None)
}

fn target<'a>(attributes: &'a Attributes, resource: &'a Resource) -> Target<'a> {
    Target {
        operation: attributes.operation,
        group: &resource.group,
        version: &resource.version,
        resource: &resource.plural,
        subresource: &attributes.subresource,
        namespace: &attributes.namespace,
    }
}

fn kind_of(resource: &Resource, subresource: &str) -> Result<GroupVersionKind> {
    if subresource.is_empty() {
        return Ok(GroupVersionKind {
            group: resource.group.clone(),
            version: resource.version.clone(),
            kind: resource.kind.clone(),
        });
    }
    let found = resource
        .subresource(subresource)
        .map(|subresource| subresource.kind.clone());
    found.ok_or_else(|| {
        Status::internal(&format!(
            "unable to convert to {}, Resource={}: unknown kind",
            resource.api_version(),
            resource.plural
        ))
    })
}
