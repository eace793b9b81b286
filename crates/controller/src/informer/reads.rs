//! What the readers of a cache read of its objects, which is what it holds.

use std::any::TypeId;
use std::panic::{AssertUnwindSafe, catch_unwind};

use serde::de::DeserializeOwned;

use super::entry::Entry;
use super::fields::Fields;

/// What all readers of a cache read together.
pub(crate) struct Reads {
    /// `None`: a reader reads whole objects.
    types: Option<Vec<Reader>>,
    /// Whether the cache has begun to hold objects, so that no reader can come who reads more.
    is_settled: bool,
}

/// A type into which objects are decoded.
#[derive(Clone, Copy)]
pub(crate) struct Reader {
    id: TypeId,
    fields: fn(&str) -> Result<Fields, serde_json::Error>,
}

impl Reader {
    pub(crate) fn of<T: DeserializeOwned + 'static>() -> Self {
        Self {
            id: TypeId::of::<T>(),
            fields: Fields::read_by::<T>,
        }
    }
}

impl Reads {
    pub(crate) fn nothing() -> Self {
        Self {
            types: Some(Vec::new()),
            is_settled: false,
        }
    }

    /// Takes a reader of a type, or of whole objects. Returns whether it can read what it needs.
    pub(crate) fn admit(&mut self, reader: Option<Reader>) -> bool {
        let Some(types) = &mut self.types else {
            return true;
        };
        let is_known = reader.is_some_and(|reader| types.iter().any(|known| known.id == reader.id));
        if is_known || self.is_settled {
            return is_known;
        }
        match reader {
            Some(reader) => types.push(reader),
            None => self.types = None,
        }
        true
    }

    pub(crate) fn are_whole(&self) -> bool {
        self.types.is_none()
    }

    pub(crate) fn settle(&mut self) {
        self.is_settled = true;
    }

    /// The object as far as it is read.
    pub(crate) fn of(&self, entry: Entry) -> Entry {
        let Some(types) = &self.types else {
            return entry;
        };
        // The code is that of the types, which may panic.
        match catch_unwind(AssertUnwindSafe(|| left(types, &entry.json()))) {
            Ok(Ok(left)) => entry.with_json(left),
            // A reader of this type gets the error from the whole object, with its place there.
            Ok(Err(_)) | Err(_) => entry,
        }
    }
}

fn left(types: &[Reader], json: &str) -> Result<String, serde_json::Error> {
    let mut all = Fields::Presence;
    for reader in types {
        all = all.or((reader.fields)(json)?);
    }
    all.of(json)
}
