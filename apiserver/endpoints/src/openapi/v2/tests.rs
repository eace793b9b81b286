//! The document against what old clients look for in it.

use kubewright_registry::Served;

use super::*;

fn builtin() -> Value {
    document(kubewright_apiextensions::builtin::registry())
}

#[test]
fn every_reference_leads_to_a_definition_or_a_parameter() {
    fn check(value: &Value, document: &Value) -> usize {
        match value {
            Value::Object(map) => {
                let mut found = 0;
                if let Some(Value::String(reference)) = map.get("$ref") {
                    let pointer = reference.strip_prefix('#').expect(reference);
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                    found = 1;
                }
                found
                    + map
                        .values()
                        .map(|value| check(value, document))
                        .sum::<usize>()
            }
            Value::Array(list) => list.iter().map(|value| check(value, document)).sum(),
            _ => 0,
        }
    }
    let document = builtin();
    assert!(check(&document, &document) > 1000);
}

#[test]
fn parameters_have_the_names_that_the_real_server_gives_them() {
    let document = builtin();
    let parameters = document["parameters"].as_object().unwrap();
    for name in [
        "namespace-vgWSWtn3",
        "pretty-tJGM1-ng",
        "body-2Y1dVQaQ",
        "body-78PwaGsr",
        "path-QCf0eosM",
    ] {
        assert!(parameters.contains_key(name), "{name}");
    }
}

#[test]
fn a_patch_says_what_old_kubectl_looks_for() {
    let document = builtin();
    let patch =
        &document["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    let named = |name: &str| {
        let mut list = patch["parameters"].as_array().unwrap().iter();
        list.any(|parameter| parameter["name"] == name)
    };
    assert!(named("dryRun") && named("fieldValidation"));
    assert_eq!(
        patch["consumes"],
        json!([
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml"
        ])
    );
    let containers =
        &document["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]["containers"];
    assert_eq!(
        containers["items"],
        json!({"$ref": "#/definitions/io.k8s.api.core.v1.Container"})
    );
}

#[test]
fn the_document_is_made_once_for_all_servers_that_serve_the_same() {
    static REGISTRY: LazyLock<Registry> =
        LazyLock::new(|| kubewright_apiextensions::builtin::registry().without(|_| false));
    let (one, other) = (Served::new(&REGISTRY), Served::new(&REGISTRY));
    let first = Swagger::default().document(&one.now());
    let second = Swagger::default().document(&other.now());
    assert!(Arc::ptr_eq(&first, &second));
    one.extend(|registry| registry.without(|resource| resource.plural == "nodes"));
    let swagger = Swagger::default();
    let changed = swagger.document(&one.now());
    assert_ne!(changed.hash, first.hash);
    assert!(Arc::ptr_eq(&changed, &swagger.document(&one.now())));
    one.extend(|registry| registry.without(|resource| resource.plural == "pods"));
    assert_ne!(swagger.document(&one.now()).hash, changed.hash);
}

#[test]
fn a_schema_that_v2_cannot_say_is_said_as_far_as_old_kubectl_reads_it() {
    let mut schema = json!({
        "type": "object",
        "required": ["a", "b"],
        "anyOf": [{"required": ["c"]}],
        "properties": {
            "a": {"type": "string", "nullable": true},
            "b": {"type": "array", "items": {"type": "string"}, "nullable": true},
            "c": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"d": {"type": "string"}}},
        },
    });
    without_what_v2_cannot_say(&mut schema);
    assert_eq!(
        schema,
        json!({
            "type": "object",
            "properties": {
                "a": {},
                "b": {},
                "c": {"x-kubernetes-preserve-unknown-fields": true},
            },
        })
    );
}
