//! Changes an object in one field, by the type that the field has.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use kubewright_apimachinery::types::{FieldRef, Shape, Slot, TypeRef};
use serde_json::{Map, Value, json};

use super::valid::VALID;
use crate::generate::random::Random;

/// How deep new values are.
const DEPTH: usize = 3;

/// The strings that valid objects have in fields of a name: among them the words that a field may have.
static WORDS: LazyLock<BTreeMap<String, Vec<String>>> = LazyLock::new(|| {
    let mut words: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for valid in VALID.values().flatten() {
        collect("", &valid.object, &mut words);
    }
    words
        .into_iter()
        .map(|(name, words)| (name, words.into_iter().collect()))
        .collect()
});

fn collect(name: &str, value: &Value, words: &mut BTreeMap<String, BTreeSet<String>>) {
    match value {
        Value::String(text) => drop(
            words
                .entry(name.to_owned())
                .or_default()
                .insert(text.clone()),
        ),
        Value::Array(items) => items.iter().for_each(|item| collect(name, item, words)),
        Value::Object(fields) => fields
            .iter()
            .for_each(|(name, value)| collect(name, value, words)),
        _ => {}
    }
}

/// Changes one field, here or further down.
pub(super) fn change(random: &mut Random, of: TypeRef, object: &mut Map<String, Value>) {
    let field = choose(random, of, object);
    let Some(field) = field else { return };
    let name = field.name();
    if !object.contains_key(name) {
        let value = if random.one_in(3) {
            odd(random, field.slot(), name)
        } else {
            value(random, field.slot(), name, DEPTH)
        };
        object.insert(name.to_owned(), value);
        return;
    }
    match random.below(20) {
        0 => drop(object.remove(name)),
        1 => drop(object.insert(name.to_owned(), Value::Null)),
        2 => drop(object.insert("nosuch".to_owned(), json!({"a": 1}))),
        3 => drop(object.insert(name.to_owned(), odd(random, field.slot(), name))),
        4 => drop(object.insert(name.to_owned(), value(random, field.slot(), name, DEPTH))),
        _ => {
            if let Some(inner) = object.get_mut(name) {
                inside(random, field.slot(), name, inner);
            }
        }
    }
}

/// A field of the type, more often one that the object has.
fn choose(random: &mut Random, of: TypeRef, object: &Map<String, Value>) -> Option<FieldRef> {
    let fields: Vec<FieldRef> = of.fields().collect();
    let there: Vec<FieldRef> = fields
        .iter()
        .copied()
        .filter(|field| object.contains_key(field.name()))
        .collect();
    for _ in 0..20 {
        let from = if there.is_empty() || random.one_in(3) {
            &fields
        } else {
            &there
        };
        if from.is_empty() {
            return None;
        }
        let field = random.one_of(from);
        let rare = matches!(
            field.name(),
            "apiVersion" | "kind" | "metadata" | "status" | "managedFields"
        );
        if !rare || random.one_in(8) {
            return Some(field);
        }
    }
    None
}

fn inside(random: &mut Random, slot: &Slot, name: &str, here: &mut Value) {
    match (&slot.shape, &mut *here) {
        (Shape::Object(of), Value::Object(fields)) => change(random, of.get(), fields),
        (Shape::List(item), Value::Array(items)) if !items.is_empty() => {
            let at = random.below(items.len());
            match random.below(9) {
                0 => items.push(items[at].clone()),
                1 => drop(items.remove(at)),
                2 => items.push(value(random, item, name, 1)),
                3 => items[at] = odd(random, item, name),
                _ => inside(random, item, name, &mut items[at]),
            }
        }
        (Shape::Map(_, item), Value::Object(fields)) if !fields.is_empty() => {
            let keys: Vec<String> = fields.keys().cloned().collect();
            let key = random.one_of(&keys);
            match random.below(5) {
                0 => {
                    let new = value(random, item, name, 1);
                    fields.insert(random.pick(KEYS).to_owned(), new);
                }
                1 => drop(fields.remove(&key)),
                2 => drop(fields.insert(key, odd(random, item, name))),
                _ => {
                    if let Some(here) = fields.get_mut(&key) {
                        inside(random, item, &key, here);
                    }
                }
            }
        }
        _ => {
            *here = if random.one_in(3) {
                odd(random, slot, name)
            } else {
                value(random, slot, name, 1)
            };
        }
    }
}

/// A value that may well be valid.
pub(super) fn value(random: &mut Random, slot: &Slot, name: &str, depth: usize) -> Value {
    match &slot.shape {
        Shape::String => string(random, name).into(),
        Shape::Bool => random.one_in(2).into(),
        Shape::Int32 | Shape::Int64 => random.one_of(&[
            json!(0),
            json!(1),
            json!(2),
            json!(80),
            json!(-1),
            json!(600),
            json!(65_535),
            json!(100),
        ]),
        Shape::Float64 => random.one_of(&[json!(0.5), json!(1)]),
        Shape::Bytes => random.one_of(&[json!("aGk="), json!("")]),
        Shape::Time => json!("2020-01-01T00:00:00Z"),
        Shape::MicroTime => json!("2020-01-01T00:00:00.000000Z"),
        Shape::Quantity => random.one_of(&[
            json!("1"),
            json!("100m"),
            json!("1Gi"),
            json!(2),
            json!("0"),
        ]),
        Shape::IntOrString => random.one_of(&[json!(1), json!("50%"), json!("http"), json!(0)]),
        Shape::Object(_) | Shape::List(_) | Shape::Map(..) if depth == 0 => empty(&slot.shape),
        Shape::Object(of) => {
            let of = of.get();
            let mut object = Map::new();
            for field in of.fields() {
                if field.is_required() && !random.one_in(12) || random.one_in(5) {
                    let inner = value(random, field.slot(), field.name(), depth - 1);
                    object.insert(field.name().to_owned(), inner);
                }
            }
            object.into()
        }
        Shape::List(item) => (0..random.between(0, 2))
            .map(|_| value(random, item, name, depth - 1))
            .collect(),
        Shape::Map(_, item) => {
            let mut map = Map::new();
            for _ in 0..random.between(0, 2) {
                map.insert(
                    random.pick(KEYS).to_owned(),
                    value(random, item, name, depth - 1),
                );
            }
            map.into()
        }
        _ => json!({"a": 1}),
    }
}

fn empty(shape: &Shape) -> Value {
    match shape {
        Shape::List(_) => json!([]),
        _ => json!({}),
    }
}

/// A value at or beyond a bound, of another type, or none.
pub(super) fn odd(random: &mut Random, slot: &Slot, name: &str) -> Value {
    if random.one_in(5) {
        return random.one_of(&[
            Value::Null,
            json!(""),
            json!("a"),
            json!(1),
            json!(1.5),
            json!(true),
            json!([]),
            json!({}),
            json!([null]),
            json!({"a": null}),
        ]);
    }
    match &slot.shape {
        Shape::String => random.one_of(&STRINGS).into(),
        Shape::Int32 => random.one_of(&[
            json!(-1),
            json!(0),
            json!(1),
            json!(65_536),
            json!(2_147_483_647),
            json!(2_147_483_648_i64),
            json!(-2_147_483_648_i64),
            json!(1.0),
            json!(1.5),
            json!("1"),
            json!(1e3),
            json!(101),
            json!(30_000),
        ]),
        Shape::Int64 => random.one_of(&[
            json!(-1),
            json!(0),
            json!(2_147_483_648_i64),
            json!(9_223_372_036_854_775_807_i64),
            json!(9_223_372_036_854_775_808_u64),
            json!(1.5),
            json!(1e20),
        ]),
        Shape::Bool => random.one_of(&[json!("true"), json!(0), json!(false), json!(true)]),
        Shape::Float64 => random.one_of(&[json!(-0.5), json!(0), json!(1e300), json!("1")]),
        Shape::Bytes => random.one_of(&[json!("?"), json!("aGk"), json!("a-_="), json!([1])]),
        Shape::Time | Shape::MicroTime => random.one_of(&[
            json!("soon"),
            json!("2020-01-01"),
            json!("2020-01-01T00:00:00.5Z"),
            json!("2020-01-01T00:00:00+01:00"),
            json!(""),
            json!(0),
            json!("0001-01-01T00:00:00Z"),
        ]),
        Shape::Quantity => random.one_of(&[
            json!("-1"),
            json!("1x"),
            json!(""),
            json!("1e3"),
            json!("0.5"),
            json!(1.5),
            json!("1.0"),
            json!("100E"),
            json!("1Ki5"),
            json!("+1"),
            json!(" 1"),
            json!("0.0001"),
            json!("9223372036854775808"),
            json!("1n"),
        ]),
        Shape::IntOrString => random.one_of(&[
            json!(-1),
            json!("101%"),
            json!("-1%"),
            json!(""),
            json!("a b"),
            json!(65_536),
            json!(1.5),
            json!("A"),
            json!("1"),
            json!("0%"),
            json!(1.0),
        ]),
        Shape::List(item) => match random.below(3) {
            0 => json!([]),
            1 => {
                let one = value(random, item, name, 2);
                json!([one.clone(), one])
            }
            _ => json!([odd(random, item, name)]),
        },
        Shape::Map(_, item) => {
            let inner = if random.one_in(2) {
                odd(random, item, name)
            } else {
                value(random, item, name, 1)
            };
            json!({random.pick(KEYS): inner})
        }
        Shape::Object(of) => {
            let mut object = match value(random, slot, name, 2) {
                Value::Object(object) => object,
                _ => Map::new(),
            };
            change(random, of.get(), &mut object);
            object.into()
        }
        _ => json!({}),
    }
}

fn string(random: &mut Random, name: &str) -> String {
    let known = WORDS.get(name);
    match known {
        Some(known) if !random.one_in(4) => random.one_of(known),
        _ => random.one_of(&STRINGS).to_owned(),
    }
}

pub(super) const KEYS: &[&str] = &[
    "a",
    "a.b/c",
    "cpu",
    "memory",
    "A b",
    "",
    "storage",
    "example.com/x",
    "-a",
    "kubernetes.io/x",
    "pods",
    "requests.cpu",
];

const STRINGS: [&str; 56] = [
    "",
    "a",
    "b",
    "a.b",
    "A",
    "a b",
    "-a",
    "a_b",
    "a/b",
    "/a",
    "../a",
    "a.b/c",
    "1",
    "10.0.0.1",
    "::1",
    "10.0.0.0/8",
    "01.2.3.4",
    "fe80::/64",
    "http://a",
    "https://a/b",
    "*",
    "*.a.b",
    "a..b",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ä",
    "a\nb",
    "Always",
    "Never",
    "IfNotPresent",
    "None",
    "Exists",
    "In",
    "Equal",
    "NoSchedule",
    "TCP",
    "UDP",
    "SCTP",
    "HTTP",
    "IPv4",
    "IPv6",
    "ClusterIP",
    "NodePort",
    "ExternalName",
    "Retain",
    "Delete",
    "Local",
    "Cluster",
    "Exact",
    "Prefix",
    "RollingUpdate",
    "OnDelete",
    "Recreate",
    "File",
    "$(X)",
    "Nosuch",
    "always",
];
