//! Definitions with random schemas, and objects on, at and beyond the bounds of each.

mod invalid;
mod patterns;
mod rules;
mod structure;
mod values;

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/{ns}.example.com/v1/widgets";

/// A definition is dear on a real server: most cases have one with many properties and many objects, or try one out.
pub(crate) fn entry(random: &mut Random) -> Map<String, Value> {
    let entry = if random.one_in(2) {
        refused(random)
    } else {
        served(random)
    };
    match entry {
        Value::Object(entry) => entry,
        _ => Map::new(),
    }
}

/// Dry runs of definitions whose schemas may be wrong.
fn refused(random: &mut Random) -> Value {
    let steps: Vec<Value> = (0..3)
        .map(|_| {
            let mut schema = structure::property(random, 2);
            for _ in 0..random.below(3) {
                invalid::broken(random, &mut schema);
            }
            let definition = definition(&json!({"x": schema}), random.one_in(2));
            json!({"send": format!("POST {DEFINITIONS}?dryRun=All"), "body": definition})
        })
        .collect();
    json!({"name": "definitions that are tried out", "steps": steps})
}

/// A definition, objects of it, and changes of them.
fn served(random: &mut Random) -> Value {
    let properties: Map<String, Value> = (0..random.between(3, 7))
        .map(|index| (format!("p{index}"), structure::property(random, 2)))
        .collect();
    let names: Vec<String> = properties.keys().cloned().collect();
    let body = definition(&Value::Object(properties.clone()), random.one_in(3));
    let mut steps = vec![json!({"send": format!("POST {DEFINITIONS}"), "body": body})];
    let objects = random.between(10, 20);
    for number in 0..objects {
        let spec = spec(random, &names, &properties);
        steps.push(json!({
            "send": format!("POST {WIDGETS}{}", query(random)),
            "body": widget(&format!("o{number}"), "spec", &spec),
        }));
    }
    for _ in 0..random.between(6, 14) {
        let name = format!("o{}", random.between(0, objects - 1));
        let spec = spec(random, &names, &properties);
        steps.push(change(random, &name, &spec));
    }
    if random.one_in(3) {
        // What was stored before must not become invalid where it stays as it is.
        let name = random.one_of(&names);
        let mut schema = properties[&name].clone();
        structure::tighten(random, &mut schema);
        let pointer =
            format!("/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/{name}");
        steps.push(json!({
            "send": format!("PATCH {DEFINITIONS}/widgets.{{ns}}.example.com"),
            "headers": {"Content-Type": "application/json-patch+json"},
            "body": [{"op": "replace", "path": pointer, "value": schema}],
            "shows": "length",
        }));
        for number in 0..objects.min(8) {
            let spec = spec(random, &names, &properties);
            steps.push(change(random, &format!("o{number}"), &spec));
        }
    }
    steps.push(json!({"send": format!("GET {WIDGETS}")}));
    json!({"name": "a definition and its objects", "steps": steps})
}

fn definition(properties: &Value, status: bool) -> Value {
    let mut version = json!({
        "name": "v1", "served": true, "storage": true,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": properties},
            "status": {"type": "object", "properties": properties},
        }}},
    });
    if status {
        version["subresources"] = json!({"status": {}});
    }
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.{ns}.example.com"},
        "spec": {
            "group": "{ns}.example.com",
            "scope": "Cluster",
            "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [version],
        },
    })
}

fn widget(name: &str, field: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "{ns}.example.com/v1", "kind": "Widget",
        "metadata": {"name": name}, field: spec,
    })
}

/// Values of one or two properties.
fn spec(random: &mut Random, names: &[String], properties: &Map<String, Value>) -> Value {
    let mut spec = Map::new();
    for _ in 0..random.between(1, 2) {
        let name = random.one_of(names);
        let value = if random.one_in(4) {
            values::fit(random, &properties[&name])
        } else {
            values::edge(random, &properties[&name])
        };
        spec.insert(name, value);
    }
    spec.into()
}

fn query(random: &mut Random) -> &'static str {
    random.pick(&[
        "",
        "",
        "?fieldValidation=Strict",
        "?fieldValidation=Warn",
        "?fieldValidation=Ignore",
        "?dryRun=All",
    ])
}

fn change(random: &mut Random, name: &str, spec: &Value) -> Value {
    let path = format!("{WIDGETS}/{name}");
    let patch = |kind: &str, path: &str, body: Value| {
        json!({
            "send": format!("PATCH {path}"),
            "headers": {"Content-Type": format!("application/{kind}")},
            "body": body,
        })
    };
    match random.below(8) {
        0 => {
            let force = random.pick(&["", "&force=true"]);
            let manager = random.pick(&["one", "two"]);
            let path = format!("{path}?fieldManager={manager}{force}");
            patch("apply-patch+yaml", &path, widget(name, "spec", spec))
        }
        1 => patch(
            "merge-patch+json",
            &format!("{path}/status"),
            json!({"status": spec}),
        ),
        2 => patch(
            "json-patch+json",
            &path,
            json!([{"op": "add", "path": "/spec", "value": spec}]),
        ),
        3 => {
            let path = format!("{path}-new?fieldManager=one");
            patch(
                "apply-patch+yaml",
                &path,
                widget(&format!("{name}-new"), "spec", spec),
            )
        }
        4 => {
            let unknown = json!({"spec": spec, "nosuch": {"a": 1}});
            patch(
                "merge-patch+json",
                &format!("{path}{}", query(random)),
                unknown,
            )
        }
        _ => patch("merge-patch+json", &path, json!({"spec": spec})),
    }
}
