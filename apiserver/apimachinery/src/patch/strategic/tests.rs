//! Strategic merge against a small hand-made schema of a pod template.

use serde_json::{Value, json};

use super::*;
use crate::meta::GroupVersionKind;
use crate::types;

#[derive(Clone, Copy)]
enum Shape {
    Spec,
    Container,
    Plain,
}

impl Schema for Shape {
    fn map(&self, name: &str) -> Result<Field<Self>> {
        self.list(name)
    }

    fn list(&self, name: &str) -> Result<Field<Self>> {
        let merged = |key: &str, below| Field {
            strategy: Strategy::Merge,
            merge_key: key.to_owned(),
            below,
        };
        Ok(match (self, name) {
            (Self::Spec, "containers") => merged("name", Self::Container),
            (Self::Spec, "finalizers") => merged("", Self::Plain),
            (Self::Container, "env") | (Self::Spec, "volumes") => merged("name", Self::Plain),
            (Self::Container, "ports") => merged("containerPort", Self::Plain),
            (Self::Spec, "selector") => Field {
                strategy: Strategy::Replace,
                merge_key: String::new(),
                below: Self::Plain,
            },
            _ => Field {
                strategy: Strategy::Default,
                merge_key: String::new(),
                below: Self::Plain,
            },
        })
    }
}

fn patched(document: Value, patch: Value) -> std::result::Result<Value, String> {
    let (Value::Object(mut document), Value::Object(patch)) = (document, patch) else {
        panic!("objects");
    };
    apply(&mut document, patch, &Shape::Spec).map_err(|error| error.to_string())?;
    Ok(Value::Object(document))
}

#[test]
fn patches_that_apply() {
    let table = [
        (
            "a container is merged by name",
            json!({"containers": [{"name": "a", "image": "x", "env": [{"name": "E", "value": "1"}]}]}),
            json!({"containers": [{"name": "a", "image": "y", "env": [{"name": "F", "value": "2"}]}]}),
            json!({"containers": [{"name": "a", "image": "y", "env": [{"name": "F", "value": "2"}, {"name": "E", "value": "1"}]}]}),
        ),
        (
            "an element is deleted by its key",
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": [{"name": "b"}]}),
        ),
        (
            "a list is replaced on request",
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"containers": [{"name": "c"}]}),
        ),
        (
            "the order of the patch is taken",
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}], "containers": [{"name": "b", "image": "n"}]}),
            json!({"containers": [{"name": "b", "image": "n"}, {"name": "a"}]}),
        ),
        (
            "what the server added keeps its place",
            json!({"containers": [{"name": "a"}, {"name": "sidecar"}, {"name": "b"}]}),
            json!({"$setElementOrder/containers": [{"name": "a"}, {"name": "b"}], "containers": [{"name": "b", "image": "n"}]}),
            json!({"containers": [{"name": "a"}, {"name": "sidecar"}, {"name": "b", "image": "n"}]}),
        ),
        (
            "scalars merge as a set",
            json!({"finalizers": ["a", "b"]}),
            json!({"finalizers": ["b", "c"]}),
            json!({"finalizers": ["a", "b", "c"]}),
        ),
        (
            "scalars are deleted from a set",
            json!({"finalizers": ["a", "b"]}),
            json!({"$deleteFromPrimitiveList/finalizers": ["a"]}),
            json!({"finalizers": ["b"]}),
        ),
        (
            "null deletes, absent keys are no error",
            json!({"x": 1, "y": 2}),
            json!({"x": null, "z": null}),
            json!({"y": 2}),
        ),
        (
            "only retained keys stay",
            json!({"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}),
            json!({"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}),
            json!({"strategy": {"type": "Recreate"}}),
        ),
        (
            "a map with strategy replace is replaced",
            json!({"selector": {"a": 1}}),
            json!({"selector": {"b": 2}}),
            json!({"selector": {"b": 2}}),
        ),
        (
            "a map is replaced on request",
            json!({"labels": {"a": 1}}),
            json!({"labels": {"$patch": "replace", "b": 2}}),
            json!({"labels": {"b": 2}}),
        ),
        (
            "lists without a strategy are replaced",
            json!({"tolerations": [{"key": "a"}]}),
            json!({"tolerations": [{"key": "b"}]}),
            json!({"tolerations": [{"key": "b"}]}),
        ),
        (
            "what asks for an action does not survive where nothing was",
            json!({}),
            json!({"containers": [{"name": "a", "x": null}, {"name": "b", "$patch": "delete"}], "labels": {"$patch": "replace", "a": "b"}}),
            json!({"containers": [{"name": "a"}]}),
        ),
    ];
    for (rule, document, patch, expected) in table {
        assert_eq!(patched(document, patch), Ok(expected), "{rule}");
    }
}

#[test]
fn patches_that_do_not_fit_are_refused() {
    let table = [
        (
            json!({"containers": [{"image": "x"}]}),
            "map: map[image:x] does not contain declared merge key: name",
        ),
        (
            json!({"containers": [{"name": "a", "$patch": "frob"}]}),
            "unknown patch type: frob in map: map[$patch:frob name:a]",
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}),
            "The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:b]]\n",
        ),
    ];
    for (patch, text) in table {
        let document = json!({"containers": [{"name": "a"}]});
        assert_eq!(patched(document, patch), Err(text.to_owned()));
    }
}

#[test]
fn merging_twice_is_merging_once() {
    let document =
        json!({"containers": [{"name": "a", "env": [{"name": "E", "value": "1"}]}, {"name": "z"}]});
    let patch =
        json!({"containers": [{"name": "z", "image": "i"}, {"name": "q"}], "finalizers": ["f"]});
    let once = patched(document, patch.clone()).unwrap();
    assert_eq!(patched(once.clone(), patch), Ok(once));
}

/// Recorded: kinds/odd-rules, "a strategic patch of".
#[test]
fn what_a_type_does_not_have_is_not_merged() {
    let kind = GroupVersionKind::from_api_version_and_kind;
    let deployment = kind("apps/v1", "Deployment");
    let containers =
        |a: Value, b: Value| json!({"spec": {"template": {"spec": {"containers": [a, b]}}}});
    for (kind, object, patch, message) in [
        (
            kind("apps/v1", "ControllerRevision"),
            json!({"data": {"a": {"b": "c"}}}),
            json!({"data": {"a": {"b": "d"}}}),
            r#"unable to find api field in struct RawExtension for the json field "a""#,
        ),
        (deployment.clone(), json!({}), json!({"nosuch": {}}), ""),
        (
            deployment.clone(),
            json!({"nosuch": {}}),
            json!({"nosuch": {}}),
            r#"unable to find api field in struct Deployment for the json field "nosuch""#,
        ),
        (
            deployment.clone(),
            containers(
                json!({"name": "c", "resources": {"limits": {"cpu": {}}}}),
                json!({"name": "d"}),
            ),
            containers(
                json!({"name": "c", "resources": {"limits": {"cpu": {}}}}),
                json!({"name": "d"}),
            ),
            "merging an object in json but data type is not struct, instead is: map",
        ),
        (
            deployment,
            containers(json!({"name": "c", "resources": []}), json!({"name": "d"})),
            containers(json!({"name": "c", "resources": []}), json!({"name": "d"})),
            "expected slice or array type, but got: struct",
        ),
    ] {
        let schema = Place::Object(types::root(&kind).unwrap());
        let (Value::Object(mut object), Value::Object(patch)) = (object, patch) else {
            panic!("objects");
        };
        let applied = apply(&mut object, patch, &schema);
        let found = applied.map_or_else(|error| error.to_string(), |()| String::new());
        assert_eq!(found, message, "{kind:?}");
    }
}
