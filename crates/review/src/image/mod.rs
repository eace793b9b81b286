//! The image of a typed object: everything that its serialization says, in one buffer that is compared by bytes.
//!
//! A value is a tag, then what the tag says: nothing, eight bytes of a number, or the length of what follows. Two equal
//! values have equal bytes unless their maps are in another order, and a value is stepped over without a look inside. Long
//! texts stand beside the buffer and are shared by the images of one object, so that they are copied once.

mod node;
mod tape;
mod write;

use serde::Serialize;

pub(crate) use node::{Kind, Lookup, Node, key_text};
pub use tape::Image;
pub use write::ImageError;

use crate::json::{JsonError, Reader};

impl Image {
    /// Takes the image of an object. The hint is the size of its JSON, if it is known.
    ///
    /// # Errors
    ///
    /// If the object's type cannot be written as JSON.
    pub fn of<K: Serialize + ?Sized>(object: &K, size_hint: usize) -> Result<Self, ImageError> {
        let mut image = Self {
            tape: Vec::with_capacity(size_hint.min(16 * 1024)),
            ..Self::default()
        };
        object.serialize(write::Value(&mut image))?;
        Ok(image)
    }

    /// Takes the image of the same object later. Long texts that did not change are shared.
    ///
    /// # Errors
    ///
    /// If the object's type cannot be written as JSON.
    pub fn then<K: Serialize + ?Sized>(&self, object: &K) -> Result<Self, ImageError> {
        let mut image = Self {
            tape: Vec::with_capacity(self.tape.len() + 256),
            texts: self.texts.clone(),
            ..Self::default()
        };
        object.serialize(write::Value(&mut image))?;
        Ok(image)
    }

    /// Takes the image of a JSON text, to be compared with this one.
    pub(crate) fn then_json(&self, text: &str) -> Result<Self, JsonError> {
        let mut image = Self {
            texts: self.texts.clone(),
            ..Self::default()
        };
        let mut reader = Reader::new(text);
        write::transcribe(&mut reader, &mut image, write::DEEPEST)?;
        reader.end()?;
        Ok(image)
    }
}
