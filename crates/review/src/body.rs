//! The body of a webhook call: text, checked while it comes in.

use std::fmt;
use std::sync::Arc;

use crate::ReadError;

/// The body of a webhook call, which everything that was read from it shares.
///
/// ```
/// use kubewright_review::{AdmissionReview, Body};
///
/// let body = Body::new(br#"{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1",
///     "request":{"uid":"7","operation":"CREATE","object":{"size":1}}}"#.to_vec())?;
/// let review = AdmissionReview::read(&body)?;
/// drop(body);
/// assert_eq!(review.object(), Some(r#"{"size":1}"#));
/// # Ok::<(), kubewright_review::ReadError>(())
/// ```
#[derive(Clone)]
pub struct Body(Arc<String>);

impl Body {
    /// Checks that the bytes are UTF-8.
    ///
    /// ```
    /// use kubewright_review::{Body, ReadError};
    ///
    /// assert_eq!(Body::new(b"{}".to_vec())?.text(), "{}");
    /// assert_eq!(Body::new(b"{\"a\":\"\xff\"}".to_vec()).unwrap_err(), ReadError::NotUtf8(6));
    /// # Ok::<(), ReadError>(())
    /// ```
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

    /// Returns the text of the body.
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

/// A body that is received in pieces.
///
/// Each piece is checked when it arrives: once a large body is complete, its beginning has left the processor's caches.
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

    /// Reserves room for so many bytes in all, and no more.
    ///
    /// ```
    /// use kubewright_review::PartialBody;
    ///
    /// // A `Content-Length` is a promise: room for all of it is made once a part of it has arrived.
    /// let mut body = PartialBody::with_capacity(2);
    /// body.push(b"{\"");
    /// body.grow_to(100);
    /// assert!(body.capacity() >= 100);
    /// ```
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

    /// Returns the whole body.
    ///
    /// ```
    /// use kubewright_review::{PartialBody, ReadError};
    ///
    /// let mut body = PartialBody::default();
    /// body.push(b"{}");
    /// assert_eq!(body.finish()?.text(), "{}");
    ///
    /// let mut cut = PartialBody::default();
    /// cut.push(b"\xc3"); // The first byte of two.
    /// assert_eq!(cut.finish().unwrap_err(), ReadError::NotUtf8(0));
    /// # Ok::<(), ReadError>(())
    /// ```
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
