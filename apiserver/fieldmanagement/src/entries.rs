//! `metadata.managedFields`: one entry for each manager, operation and sub-resource.

use std::collections::BTreeMap;

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View;
use serde_json::{Map, Value};

use super::fields_v1;
use super::set::Set;

/// The operation by which a manager owns its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Operation {
    Apply,
    Update,
}

/// Identity of an entry.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    pub(super) manager: String,
    pub(super) operation: Operation,
    /// Empty for applies: a manager that applies in another version is the same one.
    pub(super) api_version: String,
    pub(super) subresource: String,
}

/// The fields that a manager owns.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) set: Set,
    /// The apiVersion of the paths.
    pub(super) api_version: String,
    pub(super) time: Option<String>,
}

/// The parsed `metadata.managedFields`.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed(pub(super) BTreeMap<Identity, Entry>);

/// Checks that a list of entries is valid.
///
/// # Errors
/// An entry is invalid.
pub fn check(managed_fields: &Value) -> Result<(), String> {
    Managed::read(managed_fields).map(drop)
}

/// Whether two lists of entries are equal except for their times.
pub fn same_but_times(a: &Value, b: &Value) -> bool {
    let (Value::Array(a), Value::Array(b)) = (a, b) else {
        return false;
    };
    let same = |a: &Map<String, Value>, b: &Map<String, Value>| {
        let without_time = |entry: &'_ Map<String, Value>| {
            entry
                .iter()
                .filter(|(name, _)| *name != "time")
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect::<Vec<_>>()
        };
        without_time(a) == without_time(b)
    };
    a.len() == b.len()
        && a.iter().zip(b).all(|pair| match pair {
            (Value::Object(a), Value::Object(b)) => same(a, b),
            _ => false,
        })
}

impl Managed {
    /// Parses `metadata.managedFields`; a missing list is an empty one.
    ///
    /// # Errors
    /// An entry is invalid.
    pub(super) fn read(managed_fields: &Value) -> Result<Self, String> {
        let mut managed = Self::default();
        let entries = managed_fields.as_array().map_or(&[][..], Vec::as_slice);
        for (at, entry) in entries.iter().enumerate() {
            let operation = match entry.text("operation") {
                "Apply" => Operation::Apply,
                "Update" => Operation::Update,
                _ => return Err("operation must be `Apply` or `Update`".to_owned()),
            };
            let api_version = entry.text("apiVersion");
            if api_version.is_empty() {
                return Err("apiVersion must not be empty".to_owned());
            }
            match entry.text("fieldsType") {
                "FieldsV1" => {}
                "" => return Err(format!("missing fieldsType in managed fields entry {at}")),
                other => {
                    let other = quoted(other);
                    return Err(format!(
                        "invalid fieldsType {other} in managed fields entry {at}"
                    ));
                }
            }
            let set = fields_v1::read(entry.at("fieldsV1"))
                .map_err(|why| format!("error decoding set: {why}"))?;
            let identity = Identity {
                manager: entry.text("manager").to_owned(),
                operation,
                api_version: match operation {
                    Operation::Apply => String::new(),
                    Operation::Update => api_version.to_owned(),
                },
                subresource: entry.text("subresource").to_owned(),
            };
            let entry = Entry {
                set,
                api_version: api_version.to_owned(),
                time: entry.at("time").as_str().map(str::to_owned),
            };
            managed.0.insert(identity, entry);
        }
        Ok(managed)
    }

    /// Formats `metadata.managedFields`; none if no manager owns a field.
    pub(super) fn write(&self) -> Option<Value> {
        let mut entries: Vec<(&Identity, &Entry)> = self.0.iter().collect();
        entries.sort_by(|(a, x), (b, y)| {
            let version = |x: &Entry, y: &Entry| x.api_version.cmp(&y.api_version);
            a.operation
                .cmp(&b.operation)
                .then_with(|| x.time.cmp(&y.time))
                .then_with(|| a.manager.cmp(&b.manager))
                .then_with(|| version(x, y))
                .then_with(|| a.subresource.cmp(&b.subresource))
        });
        let entries: Vec<Value> = entries.into_iter().map(write_entry).collect();
        (!entries.is_empty()).then_some(Value::Array(entries))
    }

    /// Merges the entries of the oldest updates, to keep at most ten separate entries of updates.
    pub(super) fn cap(&mut self) {
        const MOST: usize = 10;
        const ANCIENT: &str = "ancient-changes";
        let updates = self
            .0
            .iter()
            .filter(|(identity, _)| identity.operation == Operation::Update);
        let mut updates: Vec<(Option<String>, Identity)> = updates
            .map(|(identity, entry)| (entry.time.clone(), identity.clone()))
            .collect();
        let mut left = updates.len();
        if left <= MOST {
            return;
        }
        updates.sort();
        let mut first_of: BTreeMap<String, Identity> = BTreeMap::new();
        for (time, identity) in updates {
            if left <= MOST {
                return;
            }
            let version = identity.api_version.clone();
            let bucket = Identity {
                manager: ANCIENT.to_owned(),
                operation: Operation::Update,
                api_version: version.clone(),
                subresource: String::new(),
            };
            let Some(first) = first_of.get(&version) else {
                first_of.insert(version, identity);
                continue;
            };
            if !self.0.contains_key(&bucket)
                && let Some(entry) = self.0.remove(first)
            {
                self.0.insert(bucket.clone(), entry);
            }
            let Some(entry) = self.0.remove(&identity) else {
                continue;
            };
            if let Some(kept) = self.0.get_mut(&bucket) {
                kept.set = entry.set.union(std::mem::take(&mut kept.set));
                kept.time = time;
            }
            left -= 1;
        }
    }
}

fn write_entry((identity, entry): (&Identity, &Entry)) -> Value {
    let operation = match identity.operation {
        Operation::Apply => "Apply",
        Operation::Update => "Update",
    };
    let members = [
        ("apiVersion", entry.api_version.as_str()),
        ("fieldsType", "FieldsV1"),
        ("manager", &identity.manager),
        ("operation", operation),
        ("subresource", &identity.subresource),
        ("time", entry.time.as_deref().unwrap_or_default()),
    ];
    let present = members.into_iter().filter(|(_, text)| !text.is_empty());
    let mut written: Map<String, Value> = present
        .map(|(name, text)| (name.to_owned(), text.into()))
        .collect();
    written.insert("fieldsV1".to_owned(), fields_v1::write(&entry.set));
    Value::Object(written)
}
