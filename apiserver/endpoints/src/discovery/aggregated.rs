//! Aggregated discovery: every group, version and resource in one document.

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::{GroupVersion, Registry, Resource};
use serde_json::{Map, Value, json};

use super::merged::{MergedGroup, MergedVersion};
use super::plain::verbs;
use crate::aggregation::{Aggregator, Registration};
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
    let core = registry.group("").map(|group| {
        let versions: Vec<Value> = group.versions.iter().map(own).collect();
        json!({"metadata": {}, "versions": versions})
    });
    core.into_iter().collect()
}

/// Every other group, for `/apis`.
pub(super) fn groups(groups: &[MergedGroup<'_>], aggregator: &Aggregator) -> Vec<Value> {
    let described = |group: &MergedGroup<'_>| {
        let versions = group.versions.iter();
        let versions: Vec<Value> = versions
            .map(|version| match version {
                MergedVersion::Own(version) => own(version),
                MergedVersion::Aggregated(registration) => of_other(registration, aggregator),
            })
            .collect();
        json!({"metadata": {"name": group.name}, "versions": versions})
    };
    groups.iter().map(described).collect()
}

fn own(version: &GroupVersion) -> Value {
    let resources: Vec<Value> = version.resources.iter().map(|r| resource(r)).collect();
    json!({
        "version": version.version,
        "freshness": "Current",
        "resources": resources,
    })
}

/// A version of an aggregated API server, with the resources that it has named last: none, if it never answered.
fn of_other(registration: &Registration, aggregator: &Aggregator) -> Value {
    let documents = aggregator.documents(&registration.name);
    let is_current = documents.as_ref().is_some_and(|it| it.are_current);
    let freshness = if is_current && registration.is_available {
        "Current"
    } else {
        "Stale"
    };
    let mut version = json!({"version": registration.version, "freshness": freshness});
    if let Some(documents) = documents.filter(|it| !it.resources.is_empty()) {
        version["resources"] = documents.resources.clone().into();
    }
    version
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
