#![expect(
    clippy::zero_sized_map_values,
    reason = "serde skips the values of a map, and there are none in a set"
)]

use std::collections::{BTreeMap, HashMap};
use std::fmt::Debug;

use kube::core::DynamicObject;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::*;

/// The JSON that is left for a type; an object that is not of the type stays whole.
fn left<T: DeserializeOwned>(json: &str) -> String {
    Fields::read_by::<T>(json).map_or_else(|_| json.to_owned(), |fields| fields.of(json).unwrap())
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
struct OnNode {
    metadata: Name,
    #[serde(default)]
    spec: Spec,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Name {
    name: String,
    #[serde(rename = "deletionTimestamp")]
    deleted: Option<IgnoredAny>,
}

#[derive(Debug, Default, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    #[serde(alias = "node")]
    node_name: Option<String>,
    containers: Vec<Image>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Image {
    image: Option<String>,
}

#[test]
fn what_no_field_reads_is_left_out_at_every_depth() {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "uid": "1", "labels": {"app": "web"}, "deletionTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {"nodeName": "n", "containers": [{"name": "x", "image": "i"}, {"name": "y"}], "priority": 7},
        "status": {"phase": "Running"},
    });
    assert_eq!(
        serde_json::from_str::<Value>(&left::<OnNode>(&pod.to_string())).unwrap(),
        json!({
            // That it is there is read, but not when it was.
            "metadata": {"name": "a", "deletionTimestamp": 0},
            "spec": {"nodeName": "n", "containers": [{"image": "i"}, {}]},
        })
    );
}

#[test]
fn types_that_read_everything_leave_everything() {
    let pod = json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n", "x": [1, {"y": null}]}})
        .to_string();
    assert_eq!(left::<Value>(&pod), pod);
    assert_eq!(left::<Box<RawValue>>(&pod), pod);
    assert_eq!(left::<BTreeMap<String, Value>>(&pod), pod);
    let dynamic = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {"x": [1, {"y": null}]}});
    assert_eq!(
        serde_json::from_str::<DynamicObject>(&left::<DynamicObject>(&dynamic.to_string()))
            .unwrap()
            .data,
        json!({"spec": {"x": [1, {"y": null}]}})
    );
}

#[test]
fn an_object_that_is_not_of_the_type_is_left_whole() {
    for pod in [
        r#"{"metadata":{"name":1},"status":{}}"#,
        r#"{"spec":{"nodeName":"n"},"status":{}}"#,
        "[]",
    ] {
        assert_eq!(left::<OnNode>(pod), pod);
    }
}

#[test]
fn two_types_leave_what_each_of_them_reads() {
    #[derive(serde::Deserialize)]
    struct Phase {
        #[expect(dead_code, reason = "it is read by serde")]
        status: BTreeMap<String, IgnoredAny>,
    }
    let pod = json!({
        "metadata": {"name": "a", "uid": "1"}, "spec": {"nodeName": "n"}, "status": {"phase": "Running", "x": {"y": 1}},
    })
    .to_string();
    let both = Fields::read_by::<OnNode>(&pod)
        .unwrap()
        .or(Fields::read_by::<Phase>(&pod).unwrap());
    let left: Value = serde_json::from_str(&both.of(&pod).unwrap()).unwrap();
    assert_eq!(
        left,
        json!({"metadata": {"name": "a"}, "spec": {"nodeName": "n"}, "status": {"phase": 0, "x": 0}})
    );
}

/// Types that look at their values in all the ways that serde has.
#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Ways {
    a: Option<Box<Self>>,
    b: Vec<Self>,
    c: HashMap<String, Self>,
    d: Option<IgnoredAny>,
    e: Option<Vec<IgnoredAny>>,
    f: Option<BTreeMap<String, IgnoredAny>>,
    g: Option<Either>,
    h: Option<Wrapped>,
    i: Option<(i64, IgnoredAny)>,
    j: Option<Value>,
    k: Option<Flat>,
    l: Option<bool>,
}

#[derive(Debug, PartialEq, serde::Deserialize)]
#[serde(untagged)]
enum Either {
    Number(f64),
    Ways(Box<Ways>),
}

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Wrapped(Option<Box<Ways>>);

#[derive(Debug, PartialEq, serde::Deserialize)]
struct Flat {
    a: Option<String>,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-l\"\\\\é]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 4, |inner| {
        prop_oneof![
            1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => prop::collection::btree_map("[a-n]", inner, 0..5).prop_map(|all| Value::Object(all.into_iter().collect())),
        ]
    })
}

fn is_read_as_before<T: DeserializeOwned + PartialEq + Debug>(json: &str) -> bool {
    let read = |json: &str| serde_json::from_str::<T>(json).map_err(|error| error.to_string());
    let (before, after) = (read(json), read(&left::<T>(json)));
    assert_eq!(before, after, "{json} -> {}", left::<T>(json));
    before.is_ok()
}

#[test]
fn whatever_a_type_reads_it_reads_from_what_is_left() {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(1000));
    let readable = std::cell::Cell::new(0);
    let result = runner.run(&value(), |value| {
        let json = value.to_string();
        readable.set(readable.get() + usize::from(is_read_as_before::<Ways>(&json)));
        is_read_as_before::<OnNode>(&json);
        is_read_as_before::<Flat>(&json);
        is_read_as_before::<Either>(&json);
        is_read_as_before::<BTreeMap<char, Ways>>(&json);
        is_read_as_before::<(IgnoredAny, Ways)>(&json);
        Ok(())
    });
    result.unwrap();
    assert!(
        readable.get() > 100,
        "most are of no such type: {readable:?}"
    );
}
