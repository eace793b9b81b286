//! One write: its method, its options and its body.

use serde_json::{Map, Value, json};

use super::kinds::Sort;
use crate::generate::random::Random;

/// A write of an object that may not be there.
pub(super) fn step(random: &mut Random, sort: Sort) -> Value {
    let name = random.pick(&["a", "a", "a", "b"]);
    let path = format!("{}/{name}", sort.path);
    match random.below(20) {
        0..4 => create(random, sort, name),
        4..6 => update(random, sort, name),
        6..14 => patch(random, sort, name),
        14 => scale(random, &path),
        15 => json!({"send": format!("GET {path}")}),
        16 => delete_all(random, sort),
        _ => delete(random, &path),
    }
}

/// Query parameters, each there now and then.
fn query(random: &mut Random, apply: bool) -> String {
    let mut parts = Vec::new();
    if random.one_in(8) {
        parts.push(
            random
                .pick(&["dryRun=All", "dryRun=All", "dryRun=", "dryRun=Some"])
                .to_owned(),
        );
    }
    if random.one_in(3) || apply && !random.one_in(20) {
        parts.push(format!(
            "fieldManager={}",
            random.pick(&["one", "two", "one", "two", "three"])
        ));
    }
    if random.one_in(6) {
        parts.push(
            random
                .pick(&[
                    "fieldValidation=Strict",
                    "fieldValidation=Warn",
                    "fieldValidation=Ignore",
                ])
                .to_owned(),
        );
    }
    if apply && random.one_in(3) || random.one_in(40) {
        parts.push(
            random
                .pick(&["force=true", "force=true", "force=false"])
                .to_owned(),
        );
    }
    if parts.is_empty() {
        String::new()
    } else {
        format!("?{}", parts.join("&"))
    }
}

/// The object, with one or two changes laid over it.
fn object(random: &mut Random, sort: Sort, name: &str) -> Value {
    let mut object = sort.object(name);
    for _ in 0..random.between(0, 2) {
        merge(&mut object, &sort.change(random));
    }
    object
}

fn merge(into: &mut Value, patch: &Value) {
    match (into, patch) {
        (Value::Object(into), Value::Object(patch)) => {
            for (name, value) in patch {
                if value.is_null() {
                    into.remove(name);
                } else {
                    merge(into.entry(name.clone()).or_insert_with(|| json!({})), value);
                }
            }
        }
        (into, patch) => *into = patch.clone(),
    }
}

fn create(random: &mut Random, sort: Sort, name: &str) -> Value {
    let mut object = object(random, sort, name);
    if random.one_in(12)
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("name");
        // Lists are sorted by name: two objects have names whose order is known.
        let base = format!("gen-{}-", random.below(10_000));
        metadata.insert("generateName".into(), base.into());
    }
    json!({"send": format!("POST {}{}", sort.path, query(random, false)), "body": object})
}

fn update(random: &mut Random, sort: Sort, name: &str) -> Value {
    let part = random.pick(&["", "", "", "/status"]);
    json!({
        "send": format!("PUT {}/{name}{part}{}", sort.path, query(random, false)),
        "body": object(random, sort, name),
    })
}

fn patch(random: &mut Random, sort: Sort, name: &str) -> Value {
    let part = random.pick(&["", "", "", "", "/status"]);
    let path = format!("{}/{name}{part}", sort.path);
    let kind = random.pick(&[
        "merge-patch+json",
        "strategic-merge-patch+json",
        "json-patch+json",
        "apply-patch+yaml",
        "apply-patch+yaml",
    ]);
    let body = match kind {
        "apply-patch+yaml" => applied(random, sort, name),
        "json-patch+json" => operations(random, sort),
        _ => sort.change(random),
    };
    json!({
        "send": format!("PATCH {path}{}", query(random, kind == "apply-patch+yaml")),
        "headers": {"Content-Type": format!("application/{kind}")},
        "body": body,
    })
}

/// What a manager applies: some fields, or the whole object.
fn applied(random: &mut Random, sort: Sort, name: &str) -> Value {
    if random.one_in(3) {
        return object(random, sort, name);
    }
    let mut object =
        json!({"apiVersion": sort.version, "kind": sort.kind, "metadata": {"name": name}});
    for _ in 0..random.between(1, 2) {
        merge(&mut object, &sort.change(random));
    }
    object
}

/// A JSON patch that does what a merge patch does, now and then with a test or a move.
fn operations(random: &mut Random, sort: Sort) -> Value {
    let mut operations = Vec::new();
    if random.one_in(6) {
        operations.push(random.one_of(&[
            json!({"op": "test", "path": "/kind", "value": sort.kind}),
            json!({"op": "test", "path": "/metadata/name", "value": "b"}),
            json!({"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"}),
            json!({"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/b"}),
            json!({"op": "add", "path": "/metadata/finalizers/-", "value": "example.com/h"}),
            json!({"op": "remove", "path": "/metadata/finalizers/0"}),
            json!({"op": "replace", "path": "/spec/nosuch", "value": 1}),
            json!({"op": "nosuch", "path": "/spec"}),
        ]));
    }
    let change = sort.change(random);
    let mut at = (String::new(), &change);
    // An object that is not there cannot be added to.
    while let Value::Object(fields) = at.1
        && fields.len() == 1
        && let Some((name, value)) = fields.iter().next()
        && !(at.0.matches('/').count() >= 2 || at.0.matches('/').count() == 1 && random.one_in(3))
    {
        at = (format!("{}/{}", at.0, name.replace('/', "~1")), value);
    }
    if !at.0.is_empty() {
        operations.push(if at.1.is_null() {
            json!({"op": "remove", "path": at.0})
        } else {
            json!({"op": random.pick(&["add", "add", "replace"]), "path": at.0, "value": at.1})
        });
    }
    operations.into()
}

fn scale(random: &mut Random, path: &str) -> Value {
    match random.below(3) {
        0 => json!({"send": format!("GET {path}/scale")}),
        1 => json!({
            "send": format!("PUT {path}/scale"),
            "body": {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "a"}, "spec": {"replicas": random.between(-1, 4)}},
        }),
        _ => json!({
            "send": format!("PATCH {path}/scale"),
            "headers": {"Content-Type": "application/merge-patch+json"},
            "body": {"spec": {"replicas": random.one_of(&[json!(2), json!(0), json!(null), json!(-1), json!("1")])}},
        }),
    }
}

fn options(random: &mut Random) -> Option<Value> {
    let mut options = Map::new();
    if random.one_in(3) {
        let policy = random.pick(&["Foreground", "Background", "Orphan", "Nosuch"]);
        options.insert("propagationPolicy".into(), policy.into());
    }
    if random.one_in(5) {
        let preconditions = random.one_of(&[
            json!({"uid": "x"}),
            json!({"resourceVersion": "1"}),
            json!({}),
        ]);
        options.insert("preconditions".into(), preconditions);
    }
    if random.one_in(5) {
        options.insert(
            "gracePeriodSeconds".into(),
            random.one_of(&[json!(0), json!(5), json!(-1)]),
        );
    }
    if random.one_in(8) {
        options.insert(
            "dryRun".into(),
            random.one_of(&[json!(["All"]), json!([]), json!(["x"])]),
        );
    }
    if random.one_in(12) {
        options.insert("orphanDependents".into(), random.one_in(2).into());
    }
    if options.is_empty() {
        return None;
    }
    if random.one_in(2) {
        options.insert("kind".into(), "DeleteOptions".into());
        options.insert("apiVersion".into(), "v1".into());
    }
    Some(options.into())
}

fn delete(random: &mut Random, path: &str) -> Value {
    let query = random.pick(&[
        "",
        "",
        "",
        "",
        "?dryRun=All",
        "?propagationPolicy=Foreground",
        "?propagationPolicy=Orphan",
        "?gracePeriodSeconds=0",
        "?gracePeriodSeconds=3",
    ]);
    let mut step = json!({"send": format!("DELETE {path}{query}")});
    if let Some(options) = options(random) {
        step["body"] = options;
    }
    step
}

fn delete_all(random: &mut Random, sort: Sort) -> Value {
    let query = random.pick(&[
        "",
        "?labelSelector=a%3Db",
        "?fieldSelector=metadata.name%3Da",
        "?dryRun=All",
        "?labelSelector=!a",
        "?limit=1",
    ]);
    json!({"send": format!("DELETE {}{query}", sort.path)})
}
