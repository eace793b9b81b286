//! A change of one field that knows nothing of the object's kind.

use serde_json::{Value, json};

use crate::generate::random::Random;

/// Fields that say which object it is.
const IDENTITY: [&str; 3] = ["/apiVersion", "/kind", "/metadata/name"];

/// Takes a field away, misspells it, repeats an item or puts another value into its place.
pub(super) fn in_one_field(random: &mut Random, object: &mut Value) {
    let mut pointers = Vec::new();
    collect(object, String::new(), &mut pointers);
    pointers.retain(|pointer| !IDENTITY.contains(&pointer.as_str()));
    if pointers.is_empty() {
        return;
    }
    let pointer = random.one_of(&pointers);
    let Some((parent, last)) = pointer.rsplit_once('/') else {
        return;
    };
    let last = last.replace("~1", "/").replace("~0", "~");
    match object.pointer_mut(parent) {
        Some(Value::Object(fields)) => match random.below(6) {
            0 => drop(fields.remove(&last)),
            1 => {
                if let Some(value) = fields.remove(&last) {
                    fields.insert(format!("{last}s"), value);
                }
            }
            _ => drop(fields.insert(last, other(random))),
        },
        Some(Value::Array(items)) => {
            let Some(index) = last.parse().ok().filter(|index| *index < items.len()) else {
                return;
            };
            match random.below(4) {
                0 => drop(items.remove(index)),
                1 => items.push(items[index].clone()),
                _ => items[index] = other(random),
            }
        }
        _ => {}
    }
}

fn other(random: &mut Random) -> Value {
    random.one_of(&[
        Value::Null,
        json!(true),
        json!(-1),
        json!(0),
        json!(1.5),
        json!(70_000),
        json!(5_000_000_000_i64),
        json!(1e20),
        json!(""),
        json!("x y!"),
        json!("Upper"),
        json!("a".repeat(300)),
        json!("10"),
        json!([]),
        json!(["a", "a"]),
        json!({}),
        json!({"a": "b"}),
    ])
}

fn collect(value: &Value, pointer: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                collect(value, format!("{pointer}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
    if !pointer.is_empty() {
        found.push(pointer);
    }
}
