//! The documents against what kubectl looks for in them.

use std::collections::BTreeSet;

use super::names::place;
use super::*;

fn of_version(registry: &Registry, group: &str, version: &str) -> Option<Arc<Document>> {
    let place = place(group, version);
    v3_document(registry, &place.split('/').collect::<Vec<_>>())
}

fn read(group: &str, version: &str) -> Value {
    let document = of_version(
        kubewright_apiextensions::builtin::registry(),
        group,
        version,
    )
    .unwrap();
    serde_json::from_slice(&document.body).unwrap()
}

#[test]
fn the_index_names_every_group_and_version_with_a_hash() {
    let registry = kubewright_apiextensions::builtin::registry();
    let index: Value = serde_json::from_slice(&v3_index(registry, [])).unwrap();
    let paths = index["paths"].as_object().unwrap();
    let served: usize = registry
        .groups()
        .iter()
        .map(|group| group.versions.len())
        .sum();
    let groups = registry.groups().len() - 1;
    assert_eq!(
        paths.len(),
        served + groups + ["api", "apis", "version", "openid", ".well-known"].len()
    );
    let address = paths["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap();
    let hash = address
        .strip_prefix("/openapi/v3/apis/apps/v1?hash=")
        .unwrap();
    assert_eq!(hash.len(), 128);
    assert_eq!(of_version(registry, "apps", "v1").unwrap().hash, hash);
    assert!(paths.contains_key("api/v1"));
}

#[test]
fn a_document_is_made_once_and_anew_when_the_version_changes() {
    let registry = kubewright_apiextensions::builtin::registry();
    let first = of_version(registry, "storage.k8s.io", "v1").unwrap();
    let again = of_version(registry, "storage.k8s.io", "v1").unwrap();
    assert!(Arc::ptr_eq(&first, &again));
    let fewer = registry.without(|resource| resource.plural == "csinodes");
    let changed = of_version(&fewer, "storage.k8s.io", "v1").unwrap();
    assert_ne!(changed.hash, first.hash);
    assert!(of_version(registry, "storage.k8s.io", "v1beta1").is_none());
    assert!(of_version(registry, "example.com", "v1").is_none());
}

#[test]
fn a_patch_operation_says_what_kubectl_apply_asks() {
    let document = read("apps", "v1");
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-action"], "patch");
    assert_eq!(
        patch["x-kubernetes-group-version-kind"],
        json!({"group": "apps", "version": "v1", "kind": "Deployment"})
    );
    let names: BTreeSet<&str> = patch["parameters"]
        .as_array()
        .unwrap()
        .iter()
        .map(|parameter| parameter["name"].as_str().unwrap())
        .collect();
    assert!(names.is_superset(&BTreeSet::from([
        "dryRun",
        "fieldManager",
        "fieldValidation"
    ])));
    let content = patch["requestBody"]["content"].as_object().unwrap();
    assert!(content.contains_key("application/strategic-merge-patch+json"));
    assert!(content.contains_key("application/apply-patch+yaml"));
}

#[test]
fn a_schema_says_how_lists_are_merged_and_what_fields_are_for() {
    let document = read("", "v1");
    let schemas = &document["components"]["schemas"];
    let containers = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(containers["x-kubernetes-patch-strategy"], "merge");
    assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    assert_eq!(containers["x-kubernetes-list-map-keys"], json!(["name"]));
    assert_eq!(
        containers["items"]["$ref"],
        "#/components/schemas/io.k8s.api.core.v1.Container"
    );
    let volumes = &schemas["io.k8s.api.core.v1.PodSpec"]["properties"]["volumes"];
    assert_eq!(volumes["x-kubernetes-patch-strategy"], "merge,retainKeys");
    let text = containers["description"].as_str().unwrap();
    assert!(text.starts_with("List of containers belonging to the pod."));
    assert_eq!(
        schemas["io.k8s.api.core.v1.Pod"]["x-kubernetes-group-version-kind"],
        json!([{"group": "", "version": "v1", "kind": "Pod"}])
    );
    assert_eq!(
        schemas["io.k8s.api.core.v1.PodSpec"]["required"],
        json!(["containers"])
    );
}

#[test]
fn every_reference_leads_to_a_schema() {
    fn references(value: &Value, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::String(reference)) = map.get("$ref") {
                    out.insert(reference.clone());
                }
                map.values().for_each(|value| references(value, out));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, out)),
            _ => {}
        }
    }
    for (group, version) in [
        ("", "v1"),
        ("apiextensions.k8s.io", "v1"),
        ("autoscaling", "v2"),
    ] {
        let document = read(group, version);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        assert!(!found.is_empty());
        for reference in found {
            let name = reference.strip_prefix("#/components/schemas/").unwrap();
            assert!(
                document["components"]["schemas"][name].is_object(),
                "{name}"
            );
        }
    }
}

#[test]
fn a_kind_without_a_type_is_an_object_of_which_nothing_is_known() {
    let mut gadget = kubewright_registry::Resource::clone(
        &kubewright_apiextensions::builtin::registry()
            .find("apps", "v1", "deployments")
            .unwrap(),
    );
    gadget.group = "example.com".into();
    gadget.kind = "Gadget".into();
    gadget.plural = "gadgets".into();
    let registry = kubewright_apiextensions::builtin::registry().with([gadget]);
    let document = of_version(&registry, "example.com", "v1").unwrap();
    let document: Value = serde_json::from_slice(&document.body).unwrap();
    assert_eq!(
        document["components"]["schemas"]["com.example.v1.Gadget"]["x-kubernetes-preserve-unknown-fields"],
        true
    );
    let path = "/apis/example.com/v1/namespaces/{namespace}/gadgets/{name}";
    let content = document["paths"][path]["patch"]["requestBody"]["content"]
        .as_object()
        .unwrap();
    assert!(!content.contains_key("application/strategic-merge-patch+json"));
    assert!(content.contains_key("application/merge-patch+json"));
}
