//! Aggregated discovery: every group, version and resource in one document.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::{Group, Registry, Resource};
use serde_json::{Map, Value, json};

use super::plain::verbs;
use crate::rest::negotiate::{MediaRange, accepted};
use crate::rest::request::Request;

/// The version of the aggregated document that the client asks for: the first entry of the Accept list that can be served
/// counts, and may be plain discovery (none).
pub(super) fn wanted(request: &Request) -> Option<&'static str> {
    for range in accepted(&request.parts.headers) {
        if let Some(version) = version(&range) {
            return Some(version);
        }
        let plain = matches!(range.kind, "application/json" | "*/*" | "application/*");
        if plain && range.parameter("as").is_none() {
            return None;
        }
    }
    None
}

/// The words of an Accept entry that asks for aggregated discovery.
pub(super) fn version(range: &MediaRange<'_>) -> Option<&'static str> {
    let asked = matches!(range.kind, "application/json" | "*/*" | "application/*")
        && range.parameter("g") == Some("apidiscovery.k8s.io")
        && range.parameter("as") == Some("APIGroupDiscoveryList");
    match range.parameter("v") {
        Some("v2") if asked => Some("v2"),
        _ => None,
    }
}

/// The core group, for `/api`.
pub(super) fn core(registry: &Registry) -> Vec<Value> {
    registry.group("").map(described).into_iter().collect()
}

/// Every other group, for `/apis`.
pub(super) fn groups(registry: &Registry) -> Vec<Value> {
    let groups = registry.groups().iter();
    groups
        .filter(|group| !group.name.is_empty())
        .map(described)
        .collect()
}

fn described(group: &Group) -> Value {
    let versions: Vec<Value> = group
        .versions
        .iter()
        .map(|version| {
            let resources: Vec<Value> = version.resources.iter().map(|r| resource(r)).collect();
            json!({
                "version": version.version,
                "freshness": "Current",
                "resources": resources,
            })
        })
        .collect();
    let mut metadata = Map::new();
    if !group.name.is_empty() {
        metadata.insert("name".to_owned(), group.name.as_str().into());
    }
    json!({"metadata": metadata, "versions": versions})
}

fn resource(resource: &Resource) -> Value {
    let own = GroupVersionKind {
        group: resource.group.clone(),
        version: resource.version.clone(),
        kind: resource.kind.clone(),
    };
    let mut entry = Map::new();
    entry.insert("resource".to_owned(), resource.plural.as_str().into());
    entry.insert("responseKind".to_owned(), kind(resource, &own));
    let scope = if resource.namespaced {
        "Namespaced"
    } else {
        "Cluster"
    };
    entry.insert("scope".to_owned(), scope.into());
    entry.insert(
        "singularResource".to_owned(),
        resource.singular.as_str().into(),
    );
    entry.insert("verbs".to_owned(), verbs(&resource.verbs));
    if !resource.short_names.is_empty() {
        entry.insert("shortNames".to_owned(), resource.short_names.clone().into());
    }
    if !resource.categories.is_empty() {
        entry.insert("categories".to_owned(), resource.categories.clone().into());
    }
    let parts: Vec<Value> = resource
        .subresources
        .iter()
        .map(|part| {
            json!({
                "subresource": part.name,
                "responseKind": kind(resource, &part.kind),
                "verbs": verbs(&part.verbs),
            })
        })
        .collect();
    if !parts.is_empty() {
        entry.insert("subresources".to_owned(), parts.into());
    }
    Value::Object(entry)
}

/// Group and version are empty where they are those of the list (measured on v1.36).
fn kind(resource: &Resource, kind: &GroupVersionKind) -> Value {
    // For custom resources, the apiextensions server always fills in both.
    let same = resource.strategy.installs_routes()
        && (&kind.group, &kind.version) == (&resource.group, &resource.version);
    let (group, version) = if same {
        ("", "")
    } else {
        (&*kind.group, &*kind.version)
    };
    json!({"group": group, "version": version, "kind": kind.kind})
}
