//! The buffer of an image.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::node::Node;

/// The JSON of a typed object, before or after a handler may change it. Two images give the changes between them:
/// [`AdmissionReview::graft`](crate::AdmissionReview::graft).
///
/// ```
#[doc = include_str!("../request.md")]
/// use kubewright_review::Image;
///
/// let mut object = serde_json::json!({"size": 1});
/// let before = Image::of(&object, 0)?;
/// object["size"] = 2.into();
/// let after = before.then(&object)?;
/// let patch = review("CREATE", r#""object":{"size":1}"#).graft(&before, &after)?;
/// assert_eq!(patch.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Image {
    pub(super) tape: Vec<u8>,
    /// Long strings, which the tape refers to by number.
    pub(super) strings: Vec<Arc<str>>,
    /// The number of the long string that is likely to be next.
    pub(super) expected: usize,
    /// The numbers of the long strings.
    pub(super) numbers: HashMap<Arc<str>, usize>,
}

impl Image {
    pub(crate) fn root(&self) -> Node<'_> {
        Node::new(&self.tape, &self.strings)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image of {} bytes", self.tape.len())
    }
}
