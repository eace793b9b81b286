//! The image of a typed object: its whole serialization, in one buffer that is compared by bytes.
//!
//! A value is a tag, then the content that the tag announces: nothing, the eight bytes of a number, or a length and that many
//! bytes. Two equal values have equal bytes unless their maps have another order, and a reader skips a value without decoding
//! it. Long strings are kept outside the buffer, and the images of one object share them, so that they are copied once.

mod node;
mod tape;
mod write;

use serde::Serialize;

pub(crate) use node::{Kind, Lookup, Node, key_text};
pub use tape::Image;
pub use write::ImageError;

use crate::json::{JsonError, Reader};

impl Image {
    /// Serializes an object into an image. The hint is the size of its JSON in bytes, or 0 if it is not known.
    ///
    /// ```
    #[doc = include_str!("../request.md")]
    /// use kubewright_review::Image;
    ///
    /// let text = r#"{"size":1}"#;
    /// let object: serde_json::Value = serde_json::from_str(text)?;
    /// let (before, after) = (Image::of(&object, text.len())?, Image::of(&object, text.len())?);
    /// let review = review("CREATE", r#""object":{"size":1}"#);
    /// assert!(review.graft(&before, &after)?.is_empty(), "equal objects have equal images");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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

    /// Serializes the same object later. Long strings that did not change are shared.
    ///
    /// ```
    #[doc = include_str!("../request.md")]
    /// use kubewright_review::Image;
    ///
    /// let before = Image::of(&serde_json::json!({"size": 1}), 0)?;
    /// let after = before.then(&serde_json::json!({"size": 2}))?;
    /// let patch = review("CREATE", r#""object":{"size":1}"#).graft(&before, &after)?;
    /// assert_eq!(patch.to_json(), br#"[{"op":"replace","path":"/size","value":2}]"#);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the object's type cannot be written as JSON.
    pub fn then<K: Serialize + ?Sized>(&self, object: &K) -> Result<Self, ImageError> {
        let mut image = Self {
            tape: Vec::with_capacity(self.tape.len() + 256),
            strings: self.strings.clone(),
            ..Self::default()
        };
        object.serialize(write::Value(&mut image))?;
        Ok(image)
    }

    /// Parses JSON into an image that can be compared with this one.
    pub(crate) fn then_json(&self, text: &str) -> Result<Self, JsonError> {
        let mut image = Self {
            strings: self.strings.clone(),
            ..Self::default()
        };
        let mut reader = Reader::new(text);
        write::transcribe(&mut reader, &mut image, write::DEEPEST)?;
        reader.end()?;
        Ok(image)
    }
}
