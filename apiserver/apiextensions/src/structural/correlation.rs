//! Which part of the old object a part of the new one comes from, and whether the two are the same.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Number, Value};

use super::schema::{ListType, Schema};

/// A part of the new object with the part of the old one that it comes from.
#[derive(Debug)]
pub(super) struct Correlation<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Schema,
    same: OnceCell<bool>,
    keyed: OnceCell<Keyed<'a>>,
}

impl<'a> Correlation<'a> {
    pub(super) fn new(new: &'a Value, old: &'a Value, schema: &'a Schema) -> Self {
        Self {
            new,
            old,
            schema,
            same: OnceCell::new(),
            keyed: OnceCell::new(),
        }
    }

    /// The field or entry `name`, where both objects have it and the schema knows it.
    pub(super) fn key(&self, name: &str) -> Option<Self> {
        let new = self.new.as_object()?.get(name)?;
        let old = self.old.as_object()?.get(name)?;
        Some(Self::new(new, old, self.schema.child(name)?))
    }

    /// The item at an index of the new list; only items of maps have an old one.
    pub(super) fn index(&self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        let old = self
            .keyed
            .get_or_init(|| Keyed::of(self.schema, self.old))
            .find(new)?;
        Some(Self::new(new, old, self.schema.items.as_deref()?))
    }

    /// Whether nothing has changed. The order of items in a list that is a map does not count.
    pub(super) fn is_unchanged(&self) -> bool {
        *self.same.get_or_init(|| self.compare())
    }

    fn compare(&self) -> bool {
        match (self.new, self.old) {
            (Value::Array(new), Value::Array(old)) => {
                if new.len() != old.len() {
                    return false;
                }
                if !matches!(self.schema.list, ListType::Map(_)) {
                    return new.iter().zip(old).all(|(new, old)| is_same(new, old));
                }
                (0..new.len()).all(|index| self.index(index).is_some_and(|one| one.is_unchanged()))
            }
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|key| self.key(key).is_some_and(|one| one.is_unchanged()))
            }
            (new, old) => is_same(new, old),
        }
    }
}

/// Whether two values are the same. A number that is no 64-bit integer is read as one where it is written like one.
pub(crate) fn is_same(new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Number(new), Value::Number(old)) => {
            let inexact = |number: &Number| number.as_f64().filter(|_| !number.is_i64());
            new == old || inexact(new).is_some_and(|new| Some(new) == inexact(old))
        }
        (Value::Array(new), Value::Array(old)) => {
            new.len() == old.len() && new.iter().zip(old).all(|(new, old)| is_same(new, old))
        }
        (Value::Object(new), Value::Object(old)) => {
            let is_kept = |(name, value)| old.get(name).is_some_and(|old| is_same(value, old));
            new.len() == old.len() && new.iter().all(is_kept)
        }
        (new, old) => new == old,
    }
}

/// The items of an old list that is a map, by their keys.
#[derive(Debug, Default)]
pub(super) struct Keyed<'a> {
    keys: &'a [String],
    items: HashMap<String, &'a Value>,
}

impl<'a> Keyed<'a> {
    /// Empty for everything that is no list of the type `map`.
    pub(super) fn of(schema: &'a Schema, old: &'a Value) -> Self {
        let (ListType::Map(keys), Value::Array(items)) = (&schema.list, old) else {
            return Self::default();
        };
        let mut keyed = Self {
            keys,
            items: HashMap::with_capacity(items.len()),
        };
        for item in items {
            if let Some(key) = keyed.key(item) {
                keyed.items.entry(key).or_insert(item);
            }
        }
        keyed
    }

    /// The old item with the keys of this one.
    pub(super) fn find(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&self.key(item)?).copied()
    }

    /// The values of all keys; none where one is missing or no scalar.
    fn key(&self, item: &Value) -> Option<String> {
        let item = item.as_object()?;
        let mut written = String::new();
        for key in self.keys {
            match item.get(key)? {
                Value::Null | Value::Array(_) | Value::Object(_) => return None,
                scalar => {
                    // Writing into a text cannot fail.
                    let _ = write!(written, "\0{scalar}");
                }
            }
        }
        Some(written)
    }
}
