//! The buffer of an image.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::node::Node;

/// What a typed object looks like as JSON, taken before or after a handler may change it.
#[derive(Default)]
pub struct Image {
    pub(super) tape: Vec<u8>,
    /// Long texts, which the tape only names by number.
    pub(super) texts: Vec<Arc<str>>,
    /// Which of the texts is likely to be next, and where to find the others.
    pub(super) expected: usize,
    pub(super) numbers: HashMap<Arc<str>, usize>,
}

impl Image {
    pub(crate) fn root(&self) -> Node<'_> {
        Node::new(&self.tape, &self.texts)
    }
}

impl fmt::Debug for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Image of {} bytes", self.tape.len())
    }
}
