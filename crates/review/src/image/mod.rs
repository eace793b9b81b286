//! The image of a typed object: everything that its serialization says, in one buffer that is compared by bytes.
//!
//! A value is a tag, then what the tag says: nothing, eight bytes of a number, or the length of what follows. Two equal
//! values have equal bytes unless their maps are in another order, and a value is stepped over without a look inside.

mod node;
mod write;

use serde::Serialize;

pub(crate) use node::{Kind, Lookup, Node, key_text};
pub use write::ImageError;

use crate::json::{JsonError, Reader};

/// What a typed object looks like as JSON, taken before or after a handler may change it.
pub struct Image(Vec<u8>);

impl Image {
    /// Takes the image of an object. The hint is the size of its JSON, if it is known.
    ///
    /// # Errors
    ///
    /// If the object's type cannot be written as JSON.
    pub fn of<K: Serialize>(object: &K, size_hint: usize) -> Result<Self, ImageError> {
        let mut image = Vec::with_capacity(size_hint);
        object.serialize(write::Value(&mut image))?;
        Ok(Self(image))
    }

    /// Takes the image of a JSON text.
    pub(crate) fn of_json(text: &str) -> Result<Self, JsonError> {
        let mut image = Vec::with_capacity(text.len());
        let mut reader = Reader::new(text);
        write::transcribe(&mut reader, &mut image, write::DEEPEST)?;
        reader.end()?;
        Ok(Self(image))
    }

    pub(crate) fn root(&self) -> Node<'_> {
        Node::new(&self.0)
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image of {} bytes", self.0.len())
    }
}
