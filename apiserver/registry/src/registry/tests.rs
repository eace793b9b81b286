//! The table against what a real server of the emulated version shows in discovery.

use kubewright_apimachinery::types;

use super::*;
use crate::Verb;
use crate::testing::registry;

fn kind(group: &str, version: &str, kind: &str) -> GroupVersionKind {
    GroupVersionKind {
        group: group.into(),
        version: version.into(),
        kind: kind.into(),
    }
}

#[test]
fn a_resource_is_found_by_its_place_and_by_its_kind() {
    let registry = registry(Versions::Default);
    let deployments = registry.find("apps", "v1", "deployments").unwrap();
    assert_eq!(deployments.kind, "Deployment");
    assert_eq!(deployments.singular, "deployment");
    assert_eq!(deployments.short_names, ["deploy"]);
    assert_eq!(deployments.categories, ["all"]);
    assert!(deployments.namespaced);
    assert_eq!(deployments.verbs.len(), 8);
    let by_kind = registry.by_kind(&kind("apps", "v1", "Deployment")).unwrap();
    assert!(Arc::ptr_eq(&deployments, &by_kind));
    assert!(registry.find("apps", "v1", "deployment").is_none());
    assert!(registry.find("apps", "v1beta1", "deployments").is_none());
}

#[test]
fn every_resource_finds_itself() {
    for registry in [registry(Versions::Default), registry(Versions::All)] {
        for resource in registry.all() {
            let found = registry.find(&resource.group, &resource.version, &resource.plural);
            assert!(Arc::ptr_eq(resource, &found.unwrap()));
            let found = registry.by_kind(&kind(&resource.group, &resource.version, &resource.kind));
            assert!(Arc::ptr_eq(resource, &found.unwrap()));
        }
    }
}

#[test]
fn groups_stand_in_the_order_of_discovery() {
    let names: Vec<&str> = registry(Versions::Default)
        .groups()
        .iter()
        .map(|group| &*group.name)
        .collect();
    assert_eq!(
        names[..4],
        ["", "apiregistration.k8s.io", "apps", "events.k8s.io"]
    );
    assert_eq!(names.len(), 22);
    assert!(!names.contains(&"lifecycle.k8s.io"));
}

#[test]
fn only_stable_versions_are_served_by_default() {
    let alpha_or_beta = |registry: &Registry| {
        registry
            .all()
            .filter(|resource| {
                resource.version.contains("alpha") || resource.version.contains("beta")
            })
            .count()
    };
    assert_eq!(alpha_or_beta(registry(Versions::Default)), 0);
    assert_eq!(alpha_or_beta(registry(Versions::All)), 28);
}

#[test]
fn the_first_version_of_a_group_is_the_preferred_one() {
    let autoscaling = registry(Versions::Default).group("autoscaling").unwrap();
    let versions: Vec<&str> = autoscaling.versions.iter().map(|v| &*v.version).collect();
    assert_eq!(versions, ["v2", "v1"]);
}

#[test]
fn subresources_have_the_kind_and_the_verbs_of_discovery() {
    let registry = registry(Versions::Default);
    let pods = registry.find("", "v1", "pods").unwrap();
    let names: Vec<&str> = pods.subresources.iter().map(|sub| &*sub.name).collect();
    assert_eq!(
        names,
        [
            "attach",
            "binding",
            "ephemeralcontainers",
            "eviction",
            "exec",
            "log",
            "portforward",
            "proxy",
            "resize",
            "status"
        ]
    );
    let eviction = pods.subresource("eviction").unwrap();
    assert_eq!(eviction.kind, kind("policy", "v1", "Eviction"));
    assert_eq!(eviction.verbs, [Verb::Create]);
    let status = pods.subresource("status").unwrap();
    assert_eq!(status.kind, kind("", "v1", "Pod"));
    assert_eq!(status.verbs, [Verb::Get, Verb::Patch, Verb::Update]);
    let namespaces = registry.find("", "v1", "namespaces").unwrap();
    assert!(!namespaces.allows(Verb::DeleteCollection));
}

#[test]
fn events_and_autoscalers_are_seen_through_two_versions() {
    let registry = registry(Versions::Default);
    let core = registry.find("", "v1", "events").unwrap();
    let seen = registry.equivalents(&core);
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].group, "events.k8s.io");
    let v1 = registry
        .find("autoscaling", "v1", "horizontalpodautoscalers")
        .unwrap();
    assert_eq!(v1.storage, ("autoscaling".to_owned(), "v2".to_owned()));
    assert_eq!(registry.equivalents(&v1)[0].version, "v2");
    let pods = registry.find("", "v1", "pods").unwrap();
    assert!(registry.equivalents(&pods).is_empty());
}

#[test]
fn versions_are_ordered_as_kubernetes_orders_them() {
    let mut versions = [
        "foo10",
        "v1",
        "v11alpha2",
        "v10",
        "v12alpha1",
        "v3beta1",
        "v2",
        "foo1",
        "v10beta3",
        "v11beta2",
    ];
    versions.sort_by(|a, b| by_stability(a, b));
    // The example of the Kubernetes documentation, "Version priority".
    assert_eq!(
        versions,
        [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v10beta3",
            "v3beta1",
            "v12alpha1",
            "v11alpha2",
            "foo1",
            "foo10"
        ]
    );
}

#[test]
fn custom_resources_come_behind_the_built_in_groups_and_leave_no_trace() {
    let gadget = |group: &str, version: &str| {
        let mut resource =
            Resource::clone(&registry(Versions::Default).find("", "v1", "pods").unwrap());
        resource.group = group.into();
        resource.version = version.into();
        resource.kind = "Gadget".into();
        resource.plural = "gadgets".into();
        resource.storage = (group.into(), "v1".into());
        resource
    };
    let builtin = registry(Versions::Default);
    let registry = builtin.with([
        gadget("z.example.com", "v1"),
        gadget("a.example.com", "v1beta1"),
        gadget("a.example.com", "v1"),
    ]);
    let names: Vec<&str> = registry.groups().iter().map(|group| &*group.name).collect();
    assert_eq!(names[22..], ["a.example.com", "z.example.com"]);
    let versions: Vec<&str> = registry
        .group("a.example.com")
        .unwrap()
        .versions
        .iter()
        .map(|v| &*v.version)
        .collect();
    assert_eq!(versions, ["v1", "v1beta1"]);
    let found = registry.find("a.example.com", "v1", "gadgets").unwrap();
    assert_eq!(registry.equivalents(&found).len(), 1);
    let again = registry.with([gadget("a.example.com", "v1")]);
    assert_eq!(again.all().count(), registry.all().count());
    let gone = registry.without(|resource| resource.kind == "Gadget");
    assert_eq!(gone.groups().len(), builtin.groups().len());
    assert!(gone.find("a.example.com", "v1", "gadgets").is_none());
}

#[test]
fn every_served_resource_has_a_type() {
    for resource in registry(Versions::All).all() {
        let kind = kind(&resource.group, &resource.version, &resource.kind);
        assert!(types::root(&kind).is_some(), "{kind:?}");
        for subresource in &resource.subresources {
            let options = subresource.kind.kind.ends_with("Options");
            assert!(
                options || types::root(&subresource.kind).is_some(),
                "{subresource:?}"
            );
        }
    }
}
