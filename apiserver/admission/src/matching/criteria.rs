//! The criteria of a webhook or a policy, and the resource and kind as which a request meets them (A.5.1, A.6, A.7).

use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Resource;
use serde_json::Value;

use super::rules::{Rule, Target};
use super::selector::Selector;
use crate::attributes::{Attributes, Operation};
use crate::cluster::Cluster;

/// What a webhook or a policy says of the requests that it is for.
#[derive(Debug)]
pub(crate) struct Criteria {
    /// One of them has to match; without any, all requests do.
    rules: Option<Vec<Rule>>,
    /// None of them may match.
    excluded: Vec<Rule>,
    /// Whether the rules are held against the same objects under other versions and groups, too.
    equivalent: bool,
    namespaces: Selector,
    objects: Selector,
}

/// The resource and the kind as which a request met the criteria: its own, or an equivalent one that the rules name.
#[derive(Clone, Debug)]
pub(crate) struct Matched {
    pub(crate) resource: Arc<Resource>,
    pub(crate) kind: GroupVersionKind,
}

impl Criteria {
    /// The criteria of a webhook.
    pub(crate) fn of_webhook(webhook: &Value) -> Self {
        Self::from_object(webhook, Some(rules(&webhook["rules"])))
    }

    /// The `matchConstraints` of a policy, or the `matchResources` of a binding.
    pub(crate) fn of_policy(resources: &Value) -> Self {
        let rules = rules(&resources["resourceRules"]);
        Self::from_object(resources, Some(rules).filter(|rules| !rules.is_empty()))
    }

    fn from_object(holder: &Value, rules: Option<Vec<Rule>>) -> Self {
        Self {
            rules,
            excluded: self::rules(&holder["excludeResourceRules"]),
            equivalent: holder["matchPolicy"] == "Equivalent",
            namespaces: Selector::from_object(&holder["namespaceSelector"]),
            objects: Selector::from_object(&holder["objectSelector"]),
        }
    }

    /// Steps 1 to 6 of A.5.1; match conditions come after this, on the object in the form that was matched.
    pub(crate) fn matches(
        &self,
        cluster: &dyn Cluster,
        attributes: &Attributes,
    ) -> Result<Option<Matched>> {
        // A selector that cannot be evaluated matters only if the rules match.
        let namespaces = in_namespaces(&self.namespaces, cluster, attributes);
        if matches!(namespaces, Ok(false)) {
            return Ok(None);
        }
        let objects = has_labels(&self.objects, attributes);
        if matches!(objects, Ok(false)) {
            return Ok(None);
        }
        if by_rules(&self.excluded, self.equivalent, cluster, attributes)?.is_some() {
            return Ok(None);
        }
        let matched = match &self.rules {
            Some(rules) => by_rules(rules, self.equivalent, cluster, attributes)?,
            None => Some(Matched::own(attributes)),
        };
        if matched.is_some() {
            namespaces?;
            objects?;
        }
        Ok(matched)
    }
}

impl Matched {
    /// The request as it is.
    fn own(attributes: &Attributes) -> Self {
        Self {
            resource: Arc::clone(&attributes.resource),
            kind: attributes.kind.clone(),
        }
    }
}

fn rules(list: &Value) -> Vec<Rule> {
    let rules = list.as_array().into_iter().flatten();
    rules.map(Rule::from_object).collect()
}

fn in_namespaces(
    selector: &Selector,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<bool> {
    let about_namespaces = attributes.resource.plural == "namespaces";
    if attributes.namespace.is_empty() && !about_namespaces {
        return Ok(true);
    }
    let Some(selector) = selector.read()? else {
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

fn has_labels(selector: &Selector, attributes: &Attributes) -> Result<bool> {
    let Some(selector) = selector.read()? else {
        return Ok(false);
    };
    let matches =
        |object: &Value| object["metadata"].is_object() && selector.matches_object(object);
    Ok(selector.is_empty() || matches(&attributes.object) || matches(&attributes.old_object))
}

fn by_rules(
    rules: &[Rule],
    equivalent: bool,
    cluster: &dyn Cluster,
    attributes: &Attributes,
) -> Result<Option<Matched>> {
    let own = target(attributes, &attributes.resource);
    if rules.iter().any(|rule| rule.matches(&own)) {
        return Ok(Some(Matched::own(attributes)));
    }
    if !equivalent || rules.is_empty() {
        return Ok(None);
    }
    let equivalents = cluster.equivalents(&attributes.resource);
    for rule in rules {
        let matching = |resource: &&Arc<Resource>| rule.matches(&target(attributes, resource));
        if let Some(resource) = equivalents.iter().find(matching) {
            return Ok(Some(Matched {
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
        name: &attributes.name,
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
