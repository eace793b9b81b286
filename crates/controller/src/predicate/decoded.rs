//! A change whose objects are decoded for the user's closures.

use std::cell::OnceCell;

use crate::informer::{Delta, Entry};

/// How an object is decoded.
pub(crate) type Decode<K> = fn(&Entry) -> Result<K, serde_json::Error>;

/// A change, whose objects are decoded when they are first looked at.
pub(crate) struct Decoded<'a, K> {
    delta: &'a Delta,
    old: OnceCell<K>,
    new: OnceCell<K>,
}

impl<'a, K> Decoded<'a, K> {
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

    pub(crate) fn old(&self, decode: Decode<K>) -> Result<Option<&K>, serde_json::Error> {
        decoded(&self.old, self.delta.old.as_deref(), decode)
    }

    pub(crate) fn new_one(&self, decode: Decode<K>) -> Result<Option<&K>, serde_json::Error> {
        decoded(&self.new, self.delta.new.as_deref(), decode)
    }
}

fn decoded<'a, K>(
    cell: &'a OnceCell<K>,
    entry: Option<&Entry>,
    decode: Decode<K>,
) -> Result<Option<&'a K>, serde_json::Error> {
    let Some(entry) = entry else { return Ok(None) };
    if let Some(object) = cell.get() {
        return Ok(Some(object));
    }
    let object = decode(entry)?;
    Ok(Some(cell.get_or_init(|| object)))
}
