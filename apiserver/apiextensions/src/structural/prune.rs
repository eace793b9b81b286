//! Takes the fields out of an object that its schema does not have.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::schema::{Additional, Schema};

const META: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Takes unknown fields out of a value; their paths, sorted. At the root of a resource type and metadata stay.
pub(super) fn prune(value: &mut Value, schema: &Schema, resource_root: bool) -> Vec<String> {
    let mut pruner = Pruner::default();
    if schema.preserve_unknown {
        pruner.keep(value, schema, resource_root || schema.embedded);
    } else {
        pruner.prune(value, Some(schema), resource_root);
    }
    pruner.unknown.sort();
    pruner.unknown
}

#[derive(Default)]
struct Pruner {
    path: String,
    unknown: Vec<String>,
}

impl Pruner {
    /// Without a schema nothing is known, so that no field stays.
    fn prune(&mut self, value: &mut Value, schema: Option<&Schema>, resource_root: bool) {
        let embedded = resource_root || schema.is_some_and(|schema| schema.embedded);
        if let Some(schema) = schema.filter(|schema| schema.preserve_unknown) {
            self.keep(value, schema, embedded);
            return;
        }
        match value {
            Value::Object(members) => {
                let Some(schema) = schema else {
                    for key in std::mem::take(members).keys() {
                        self.at_key(key, |this| this.unknown.push(this.path.clone()));
                    }
                    return;
                };
                let mut gone = Vec::new();
                for (key, value) in &mut *members {
                    if embedded && META.contains(&key.as_str()) {
                        continue;
                    }
                    let known = match (schema.properties.get(key), &schema.additional) {
                        (Some(property), _) => Some(Some(property)),
                        (None, Additional::Schema(additional)) => Some(Some(&**additional)),
                        (None, Additional::Allowed(_)) => Some(None),
                        (None, Additional::Unsaid) => None,
                    };
                    match known {
                        Some(below) => self.at_key(key, |this| this.prune(value, below, false)),
                        None => gone.push(key.clone()),
                    }
                }
                for key in gone {
                    members.remove(&key);
                    if !self.path.is_empty() || !META.contains(&key.as_str()) {
                        self.at_key(&key, |this| this.unknown.push(this.path.clone()));
                    }
                }
            }
            Value::Array(items) => {
                let below = schema.and_then(|schema| schema.items.as_deref());
                self.each(items, |this, item| this.prune(item, below, false));
            }
            _ => {}
        }
    }

    /// Keeps what is unknown, and prunes below what is known.
    fn keep(&mut self, value: &mut Value, schema: &Schema, embedded: bool) {
        match value {
            Value::Object(members) => self.keep_fields(members, schema, embedded),
            Value::Array(items) => {
                if let Some(below) = schema.items.as_deref() {
                    self.each(items, |this, item| this.keep(item, below, below.embedded));
                }
            }
            _ => {}
        }
    }

    fn keep_fields(&mut self, members: &mut Map<String, Value>, schema: &Schema, embedded: bool) {
        for (key, value) in members {
            if embedded && META.contains(&key.as_str()) {
                continue;
            }
            let below = match (schema.properties.get(key), &schema.additional) {
                (Some(property), _) => Some(property),
                (None, Additional::Schema(additional)) => Some(&**additional),
                (None, Additional::Allowed(_)) => None,
                (None, Additional::Unsaid) => continue,
            };
            self.at_key(key, |this| this.prune(value, below, false));
        }
    }

    fn each(&mut self, items: &mut [Value], mut visit: impl FnMut(&mut Self, &mut Value)) {
        let length = self.path.len();
        for (index, item) in items.iter_mut().enumerate() {
            let _ = write!(self.path, "[{index}]");
            visit(self, item);
            self.path.truncate(length);
        }
    }

    fn at_key(&mut self, key: &str, visit: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        visit(self);
        self.path.truncate(length);
    }
}
