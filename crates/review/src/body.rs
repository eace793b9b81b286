//! The body of a webhook call: text, checked while it comes in.

use std::fmt;
use std::sync::Arc;

use crate::ReadError;

/// The body of a webhook call: text that is shared by everything that was read from it.
#[derive(Clone)]
pub struct Body(Arc<String>);

impl Body {
    /// Takes what was received.
    ///
    /// # Errors
    ///
    /// If it is not UTF-8, as JSON has to be.
    pub fn new(bytes: Vec<u8>) -> Result<Self, ReadError> {
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self(Arc::new(text))),
            Err(error) => Err(ReadError::NotUtf8(error.utf8_error().valid_up_to())),
        }
    }

    /// The text of the body.
    pub fn text(&self) -> &str {
        &self.0
    }

    /// Whether both are one and the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body of {} bytes", self.0.len())
    }
}

/// A body that comes in piece by piece.
///
/// Each piece is checked while it is at hand: once a large body is complete, its beginning has left the processor's caches.
///
/// ```
/// use kubewright_review::PartialBody;
///
/// let mut body = PartialBody::with_capacity(16);
/// body.push(b"{\"name\":\"\xc3");
/// body.push(b"\xa4\"}");
/// assert!(body.finish().is_ok());
/// # let mut body = PartialBody::with_capacity(0);
/// # body.push(b"a\xff");
/// # assert_eq!(body.finish().err(), Some(kubewright_review::ReadError::NotUtf8(1)));
/// ```
#[derive(Default)]
pub struct PartialBody {
    text: String,
    /// The beginning of a character that goes on in the next piece.
    open: Vec<u8>,
    /// Whether something came that is not UTF-8. What follows it is of no use.
    is_broken: bool,
}

impl PartialBody {
    /// Starts with room for so many bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        Self {
            text: String::with_capacity(bytes),
            ..Self::default()
        }
    }

    /// How many bytes there is room for.
    pub fn capacity(&self) -> usize {
        self.text.capacity()
    }

    /// Makes room for so many bytes in all, and no more.
    pub fn grow_to(&mut self, bytes: usize) {
        let more = bytes.saturating_sub(self.text.len());
        self.text.reserve_exact(more);
    }

    /// Takes the next piece.
    pub fn push(&mut self, piece: &[u8]) {
        if self.is_broken {
            return;
        }
        if self.open.is_empty() {
            return self.take(piece);
        }
        let mut joined = std::mem::take(&mut self.open);
        joined.extend_from_slice(piece);
        self.take(&joined);
    }

    fn take(&mut self, piece: &[u8]) {
        let mut chunks = match std::str::from_utf8(piece) {
            Ok(text) => return self.text.push_str(text),
            Err(error) => {
                self.is_broken = error.error_len().is_some();
                piece.utf8_chunks()
            }
        };
        if let Some(chunk) = chunks.next() {
            self.text.push_str(chunk.valid());
            self.open.extend_from_slice(chunk.invalid());
        }
    }

    /// The whole body.
    ///
    /// # Errors
    ///
    /// If it is not UTF-8, as JSON has to be.
    pub fn finish(self) -> Result<Body, ReadError> {
        if self.open.is_empty() {
            Ok(Body(Arc::new(self.text)))
        } else {
            Err(ReadError::NotUtf8(self.text.len()))
        }
    }
}

impl fmt::Debug for PartialBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartialBody of {} bytes", self.text.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn pieces_are_taken_as_the_whole_is(
            text in "[a-zä€😀]{0,40}",
            fault in prop::option::of((any::<prop::sample::Index>(), any::<u8>())),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        ) {
            let mut bytes = text.into_bytes();
            if let Some((place, byte)) = fault {
                let place = place.index(bytes.len() + 1);
                bytes.insert(place, byte);
            }
            let mut ends: Vec<_> = ends.iter().map(|end| end.index(bytes.len() + 1)).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let mut partial = PartialBody::default();
            let mut start = 0;
            for end in ends {
                partial.push(&bytes[start..end]);
                start = end;
            }
            let text = |body: Result<Body, _>| body.map(|body| body.text().to_owned());
            prop_assert_eq!(text(partial.finish()), text(Body::new(bytes)));
        }
    }
}
