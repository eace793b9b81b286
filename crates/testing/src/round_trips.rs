//! Whether the versions of a custom resource can say the same: objects go to another version and back, and nothing is lost.

use std::fmt::Write as _;

use kubewright_webhook::Conversion;
use serde_json::{Value, json};

use crate::fail;
use crate::schemas::{Generator, smaller};

/// Checks that every version of a custom resource says what the hub says, and the hub what every version says: objects that
/// are made from the schemas of the types go from each version to the hub and back, and from the hub to each version and back,
/// and have to be what they were. See [`RoundTrips`] for what can be set.
///
/// # Panics
/// An object is not what it was, or cannot be converted. The message has the smallest such object that was found, and what
/// became of it.
///
/// # Example: two versions that say the same in other words
///
/// ```
/// # mod kube { pub use ::kube::core; }
#[doc = include_str!("widgets.md")]
#[doc = include_str!("renamed.md")]
///
/// # fn main() {
/// use kubewright_testing::round_trips;
/// use kubewright_webhook::converting;
///
/// round_trips(converting::<v1::Widget>().spoke::<v2::Widget>());
/// # }
/// ```
pub fn round_trips(conversion: impl Into<Conversion>) {
    RoundTrips::of(conversion).check();
}

/// A check that conversions between the versions of a custom resource lose nothing.
///
/// Absent, null and empty are equal. A string whose pattern matches no common word needs
/// [values](RoundTrips::values): a pattern restricts values and does not list them.
///
/// # Example: more objects than the default
///
/// ```
/// # mod kube { pub use ::kube::core; }
#[doc = include_str!("widgets.md")]
/// # renamed!(); fn main() {
/// use kubewright_testing::RoundTrips;
/// use kubewright_webhook::converting;
///
/// RoundTrips::of(converting::<v1::Widget>().spoke::<v2::Widget>()).objects(1000).check();
/// # }
/// ```
#[derive(Debug)]
#[must_use = "nothing is checked before `.check()`"]
pub struct RoundTrips {
    conversion: Conversion,
    generator: Generator,
    objects: usize,
    without: Vec<Without>,
}

#[derive(Debug)]
struct Without {
    version: String,
    path: String,
}

impl RoundTrips {
    /// A check of a conversion.
    pub fn of(conversion: impl Into<Conversion>) -> Self {
        Self {
            conversion: conversion.into(),
            generator: Generator::default(),
            objects: 256,
            without: Vec::new(),
        }
    }

    /// Says which values a field has, instead of what its schema says: `.values("spec.size", ["3x4"])`. The elements of a list
    /// are at `spec.sizes[]`.
    pub fn values<T: Into<Value>>(
        mut self,
        path: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.generator.values.push((path.to_owned(), values));
        self
    }

    /// Leaves a field of a version out of all objects: one that others cannot hold, which is lost or refused on purpose.
    pub fn without(mut self, version: &str, path: &str) -> Self {
        self.without.push(Without {
            version: version.to_owned(),
            path: path.to_owned(),
        });
        self
    }

    /// Sets how many objects go each way. The default is 256.
    pub fn objects(mut self, objects: usize) -> Self {
        self.objects = objects;
        self
    }

    /// Sets with what the objects are made: another number makes others. Without this they are the same in every run.
    pub fn seed(mut self, seed: u64) -> Self {
        self.generator.seed = seed;
        self
    }

    /// Checks.
    ///
    /// # Panics
    /// As [`round_trips`]; or a schema says of a field too little to make values of it.
    #[track_caller]
    pub fn check(self) {
        let definition = match self.conversion.definition() {
            Ok(definition) => definition,
            Err(error) => fail(format_args!("cannot convert: {error}")),
        };
        let versions = self.conversion.api_versions();
        let Some((hub, spokes)) = versions.split_first() else {
            return;
        };
        for spoke in spokes {
            self.way(definition, spoke, hub);
            self.way(definition, hub, spoke);
        }
    }

    #[track_caller]
    fn way(&self, definition: &Value, from: &str, over: &str) {
        let version = from.rsplit('/').next().unwrap_or_default();
        let schema = self.schema(definition, version);
        let mut generator = self.generator.clone();
        for number in 0..self.objects {
            let object = match generator.object(&schema) {
                Ok(object) => complete(definition, from, object, number),
                Err(why) => fail(format_args!("no object of {from} can be made: {why}")),
            };
            let Err(first) = self.trip(&object, from, over) else {
                continue;
            };
            let (object, why) = self.smallest(object, first, &schema, from, over);
            fail(format_args!("{why}\n  the object: {object}"));
        }
    }

    /// The schema of a version, without the fields that are left out.
    fn schema(&self, definition: &Value, version: &str) -> Value {
        let versions = definition["spec"]["versions"].as_array();
        let mut versions = versions.into_iter().flatten();
        let found = versions.find(|known| known["name"] == version);
        let mut schema = found.map_or(Value::Null, |found| {
            found["schema"]["openAPIV3Schema"].clone()
        });
        for field in ["apiVersion", "kind", "metadata"] {
            remove(&mut schema, field);
        }
        for without in &self.without {
            if without.version == version {
                remove(&mut schema, &without.path);
            }
        }
        schema
    }

    fn trip(&self, object: &Value, from: &str, over: &str) -> Result<(), String> {
        let there = self.conversion.convert(object, over);
        let there = there.map_err(|error| error.to_string())?;
        let back = self.conversion.convert(&there, from);
        let back = back.map_err(|error| format!("{error}\n  the object on its way: {there}"))?;
        let Some(difference) = difference(object, &back) else {
            return Ok(());
        };
        Err(format!(
            "{from} -> {over} -> {from} changes {difference}\n  as {over}: {there}\n  and back: {back}"
        ))
    }

    /// Takes away from an object that does not come back what it does not need for that.
    fn smallest(
        &self,
        mut object: Value,
        mut why: String,
        schema: &Value,
        from: &str,
        over: &str,
    ) -> (Value, String) {
        loop {
            let failing = smaller(&object, schema).into_iter().find_map(|smaller| {
                let why = self.trip(&smaller, from, over).err()?;
                Some((smaller, why))
            });
            match failing {
                Some((smaller, still)) => (object, why) = (smaller, still),
                None => return (object, why),
            }
        }
    }
}

/// Gives an object of a version its kind, and metadata that are to stay.
fn complete(definition: &Value, version: &str, mut object: Value, at: usize) -> Value {
    object["apiVersion"] = version.into();
    object["kind"] = definition["spec"]["names"]["kind"].clone();
    object["metadata"] = json!({
        "name": format!("object-{at}"),
        "uid": format!("00000000-0000-4000-8000-{at:012}"),
        "labels": {"a": "b"},
        "annotations": {"c": "d"},
        "finalizers": ["example.com/e"],
    });
    if definition["spec"]["scope"] == "Namespaced" {
        object["metadata"]["namespace"] = "blue".into();
    }
    object
}

/// Takes a field out of a schema.
fn remove(schema: &mut Value, path: &str) {
    let (parent, last) = path.rsplit_once('.').unwrap_or(("", path));
    let mut at = schema;
    for step in parent.split('.').filter(|step| !step.is_empty()) {
        let (name, in_list) = match step.strip_suffix("[]") {
            Some(name) => (name, true),
            None => (step, false),
        };
        at = &mut at["properties"][name];
        if in_list {
            at = &mut at["items"];
        }
    }
    if let Some(properties) = at["properties"].as_object_mut() {
        properties.remove(last);
    }
    if let Some(required) = at["required"].as_array_mut() {
        required.retain(|name| name != last);
    }
}

/// Where two values first differ, and how.
fn difference(before: &Value, after: &Value) -> Option<String> {
    let mut path = String::new();
    let (before, after) = differ(before, after, &mut path)?;
    let shown = |value: &Value| match value {
        Value::Null => "absent".to_owned(),
        value => value.to_string(),
    };
    let path = path.strip_prefix('.').unwrap_or(&path);
    Some(format!(
        "{path}: it was {} and is {}",
        shown(before),
        shown(after)
    ))
}

fn differ<'v>(
    before: &'v Value,
    after: &'v Value,
    path: &mut String,
) -> Option<(&'v Value, &'v Value)> {
    let length = path.len();
    match (before, after) {
        (Value::Object(some), Value::Object(others)) => {
            let names = some
                .keys()
                .chain(others.keys().filter(|name| !some.contains_key(*name)));
            for name in names {
                let _ = write!(path, ".{name}");
                let member = |members: &'v serde_json::Map<String, Value>| {
                    members.get(name.as_str()).unwrap_or(&Value::Null)
                };
                if let Some(found) = differ(member(some), member(others), path) {
                    return Some(found);
                }
                path.truncate(length);
            }
            None
        }
        (Value::Array(some), Value::Array(others)) if some.len() == others.len() => {
            for (index, (before, after)) in some.iter().zip(others).enumerate() {
                let _ = write!(path, "[{index}]");
                if let Some(found) = differ(before, after, path) {
                    return Some(found);
                }
                path.truncate(length);
            }
            None
        }
        (before, after) if is_empty(before) && is_empty(after) => None,
        (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64() => None,
        (before, after) if before == after => None,
        different => Some(different),
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        _ => false,
    }
}
