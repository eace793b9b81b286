//! A change whose objects are decoded for the user's closures.

use std::cell::OnceCell;

use serde::de::DeserializeOwned;

use crate::informer::{Delta, Entry};

/// A change, whose objects are decoded when they are first looked at.
pub(crate) struct Decoded<'a, K> {
    delta: &'a Delta,
    old: OnceCell<K>,
    new: OnceCell<K>,
}

impl<'a, K: DeserializeOwned> Decoded<'a, K> {
    pub(crate) fn new(delta: &'a Delta) -> Self {
        Self {
            delta,
            old: OnceCell::new(),
            new: OnceCell::new(),
        }
    }

    pub(crate) fn delta(&self) -> &'a Delta {
        self.delta
    }

    pub(crate) fn old(&self) -> Result<Option<&K>, serde_json::Error> {
        decode(&self.old, self.delta.old.as_deref())
    }

    pub(crate) fn new_one(&self) -> Result<Option<&K>, serde_json::Error> {
        decode(&self.new, self.delta.new.as_deref())
    }
}

fn decode<'a, K: DeserializeOwned>(
    cell: &'a OnceCell<K>,
    entry: Option<&Entry>,
) -> Result<Option<&'a K>, serde_json::Error> {
    let Some(entry) = entry else { return Ok(None) };
    if let Some(object) = cell.get() {
        return Ok(Some(object));
    }
    let object = entry.decode()?;
    Ok(Some(cell.get_or_init(|| object)))
}
