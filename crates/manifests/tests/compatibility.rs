//! What a new definition breaks of an old one.

use kubewright_manifests::breaks;
use serde_json::{Value, json};

/// A definition with one version that has these fields.
fn definition(fields: &Value) -> Value {
    with_schema(&json!({"type": "object", "properties": fields}))
}

fn with_schema(schema: &Value) -> Value {
    json!({
        "metadata": {"name": "gardens.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Garden", "plural": "gardens"},
            "versions": [version("v1", true, true, schema)],
        },
    })
}

fn version(name: &str, served: bool, storage: bool, schema: &Value) -> Value {
    json!({"name": name, "served": served, "storage": storage, "schema": {"openAPIV3Schema": schema}})
}

fn said(old: &Value, new: &Value) -> Vec<String> {
    let found = breaks(old, new).into_iter();
    found
        .map(|found| {
            let text = found.to_string();
            let start = "gardens.example.com: ";
            text.strip_prefix(start)
                .expect("it names the definition")
                .to_owned()
        })
        .collect()
}

/// What is said of a field `beds` that was like this, and is like that.
fn of_field(old: &Value, new: &Value) -> Vec<String> {
    said(
        &definition(&json!({"beds": old})),
        &definition(&json!({"beds": new})),
    )
}

#[test]
fn a_narrower_field_breaks_and_a_wider_one_does_not() {
    let text = |more: Value| {
        let mut schema = json!({"type": "string"});
        schema
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        schema
    };
    for (narrow, wide, problem) in [
        (
            text(json!({"maxLength": 3})),
            text(json!({"maxLength": 5})),
            "had maxLength 5 and has 3",
        ),
        (
            text(json!({"maxLength": 3})),
            text(json!({})),
            "now has maxLength 3",
        ),
        (
            text(json!({"minLength": 3})),
            text(json!({"minLength": 1})),
            "had minLength 1 and has 3",
        ),
        (
            text(json!({"pattern": "^a"})),
            text(json!({})),
            "now has pattern \"^a\"",
        ),
        (
            text(json!({"format": "date"})),
            text(json!({})),
            "now has format \"date\"",
        ),
        (
            text(json!({"enum": ["a"]})),
            text(json!({"enum": ["a", "b"]})),
            "no longer allows \"b\"",
        ),
        (
            text(json!({"enum": ["a"]})),
            text(json!({})),
            "now allows only some values",
        ),
        (
            text(json!({})),
            text(json!({"nullable": true})),
            "could be null and cannot any more",
        ),
        (
            text(json!({})),
            json!({"x-kubernetes-int-or-string": true}),
            "was of type integer or string and is of type string",
        ),
        (
            json!({"type": "integer"}),
            json!({"type": "number"}),
            "was of type number and is of type integer",
        ),
        (
            text(json!({"x-kubernetes-validations": [{"rule": "self != ''"}]})),
            text(json!({})),
            "has a new rule `self != ''`",
        ),
        (
            json!({"type": "object"}),
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
            "no longer keeps fields that it does not know",
        ),
        (
            json!({"type": "integer", "minimum": 1, "exclusiveMinimum": true}),
            json!({"type": "integer", "minimum": 1}),
            "now has exclusiveMinimum",
        ),
    ] {
        assert_eq!(of_field(&wide, &narrow), [format!("v1: beds {problem}")]);
        assert_eq!(of_field(&narrow, &wide), [""; 0], "{problem}");
    }
}

#[test]
fn what_is_new_and_optional_breaks_nothing() {
    let old = definition(&json!({"beds": {"type": "integer"}}));
    let more = definition(&json!({"beds": {"type": "integer"}, "soil": {"type": "string"}}));
    assert_eq!(said(&old, &more), [""; 0]);
    assert_eq!(
        said(&more, &old),
        ["v1: soil is gone: its value is dropped"]
    );
}

#[test]
fn what_is_newly_required_breaks_unless_it_has_a_default() {
    let soil = |soil: Value, required: &[&str]| {
        with_schema(&json!({"type": "object", "properties": {"soil": soil}, "required": required}))
    };
    let old = soil(json!({"type": "string"}), &[]);
    let strict = soil(json!({"type": "string"}), &["soil"]);
    let filled = soil(json!({"type": "string", "default": "clay"}), &["soil"]);
    assert_eq!(said(&old, &strict), ["v1: the object now requires `soil`"]);
    assert_eq!(said(&old, &filled), [""; 0]);
    assert_eq!(said(&strict, &old), [""; 0]);
}

#[test]
fn breaks_are_found_in_lists_and_maps() {
    let nested = |leaf: &str| {
        let leaf = json!({"type": "object", "properties": {"depth": {"type": leaf}}});
        definition(&json!({
            "beds": {"type": "array", "items": leaf},
            "named": {"type": "object", "additionalProperties": leaf},
        }))
    };
    assert_eq!(
        said(&nested("integer"), &nested("string")),
        [
            "v1: beds[].depth was of type integer and is of type string",
            "v1: named{}.depth was of type integer and is of type string",
        ]
    );
}

#[test]
fn fields_may_become_a_map_and_a_map_may_not_become_fields() {
    let map = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let fields = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    assert_eq!(of_field(&fields, &map), [""; 0]);
    assert_eq!(
        of_field(&map, &fields),
        ["v1: beds{} is gone: its value is dropped"]
    );
}

#[test]
fn lists_are_merged_as_before() {
    let list = |kind: Option<&str>| {
        let mut list = json!({"type": "array", "items": {"type": "string"}});
        if let Some(kind) = kind {
            list["x-kubernetes-list-type"] = json!(kind);
        }
        list
    };
    assert_eq!(of_field(&list(None), &list(Some("atomic"))), [""; 0]);
    assert_eq!(of_field(&list(Some("atomic")), &list(None)), [""; 0]);
    assert_eq!(
        of_field(&list(None), &list(Some("set"))),
        ["v1: beds has another x-kubernetes-list-type: appliers merge it in another way"]
    );
}

#[test]
fn served_and_stored_versions_must_not_be_removed() {
    let schema = json!({"type": "object"});
    let with = |versions: &[Value], stored: &[&str]| {
        let mut definition = with_schema(&schema);
        definition["spec"]["versions"] = json!(versions);
        definition["status"]["storedVersions"] = json!(stored);
        definition
    };
    let new = with(&[version("v2", true, true, &schema)], &[]);
    let gone = |served: bool, stored: &[&str]| {
        let old = [
            version("v1", served, false, &schema),
            version("v2", true, true, &schema),
        ];
        said(&with(&old, stored), &new)
    };
    assert_eq!(gone(true, &["v2"]), ["v1 is gone"]);
    assert_eq!(gone(false, &["v2"]), [""; 0]);
    assert_eq!(
        gone(false, &["v1", "v2"]),
        ["v1 is gone, and objects are stored in it"]
    );

    let both = [
        version("v1", true, true, &schema),
        version("v2", true, false, &schema),
    ];
    let unserved = [
        version("v1", false, true, &schema),
        version("v2", true, false, &schema),
    ];
    assert_eq!(
        said(&with(&both, &[]), &with(&unserved, &[])),
        ["v1 is no longer served"]
    );
    let switched = [
        version("v1", true, false, &schema),
        version("v2", true, true, &schema),
    ];
    assert_eq!(said(&with(&both, &[]), &with(&switched, &[])), [""; 0]);
}

#[test]
fn what_names_the_objects_stays() {
    let old = definition(&json!({}));
    let changed = |at: &str, value: &str| {
        let mut new = old.clone();
        *new.pointer_mut(at).unwrap() = json!(value);
        said(&old, &new)
    };
    assert_eq!(
        changed("/spec/scope", "Cluster"),
        ["the scope was `Namespaced` and is `Cluster`"]
    );
    assert_eq!(
        changed("/spec/names/kind", "Plot"),
        ["the kind was `Garden` and is `Plot`"]
    );
    assert_eq!(
        changed("/spec/group", "example.org"),
        ["the group was `example.com` and is `example.org`"]
    );
}

#[test]
fn sub_resources_stay() {
    let mut old = definition(&json!({}));
    old["spec"]["versions"][0]["subresources"] =
        json!({"status": {}, "scale": {"specReplicasPath": ".a"}});
    assert_eq!(
        said(&old, &definition(&json!({}))),
        [
            "v1 no longer has the sub-resource status",
            "v1 no longer has the sub-resource scale"
        ]
    );
}
