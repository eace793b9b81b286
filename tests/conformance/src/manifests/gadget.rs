//! Random objects of the kind that the context defines.

use serde_json::{Map, Value, json};

use crate::generate::random::Random;

/// A gadget: valid, or wrong in a field.
pub(super) fn gadget(random: &mut Random) -> Value {
    let mut spec = json!({"size": random.between(1, 9)});
    let (field, value) = random.one_of(&[
        ("size", json!(0)),
        ("size", json!(10)),
        ("size", json!("3")),
        ("size", json!(2.5)),
        ("size", Value::Null),
        ("colour", json!("green")),
        ("colour", json!("blue")),
        ("colour", json!(1)),
        ("color", json!("red")),
        ("weight", json!("5kg")),
        ("weight", json!(5)),
        ("weight", json!(true)),
        ("since", json!("2026-11-28T00:00:00Z")),
        ("since", json!("yesterday")),
        ("parts", json!([])),
        ("parts", json!([{"name": "a"}, {"name": "b", "count": 2}])),
        ("parts", json!([{"name": "a"}, {"name": "a"}])),
        ("parts", json!([{"name": "Wheel"}])),
        ("parts", json!([{"name": "averylongname"}])),
        ("parts", json!([{"count": 1}])),
        ("parts", json!([{"name": "a", "count": 3_000_000_000_u64}])),
        ("parts", json!([{"name": "a", "weight": 1}])),
        ("parts", json!({"name": "a"})),
    ]);
    if let Some(spec) = spec.as_object_mut() {
        spec.insert(field.to_owned(), value);
    }
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), json!("g"));
    if random.one_in(2) {
        metadata.insert("labels".to_owned(), json!({"app": "g"}));
    }
    let mut gadget =
        json!({"apiVersion": "manifests.example.com/v1", "kind": "Gadget", "metadata": metadata});
    if !random.one_in(20)
        && let Some(gadget) = gadget.as_object_mut()
    {
        gadget.insert("spec".to_owned(), spec);
    }
    gadget
}
