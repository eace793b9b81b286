//! The body of an answer: bytes, or a stream of watch events.

use std::convert::Infallible;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http_body::{Frame, SizeHint};

/// The body of an answer of the API server.
pub struct Body(Inner);

enum Inner {
    Whole(Bytes),
    Stream(Events),
}

/// Lines of a watch, as they come.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

impl Body {
    /// The bytes, if it is no stream.
    pub fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Some(bytes),
            Inner::Stream(_) => None,
        }
    }

    pub(crate) fn stream(events: Events) -> Self {
        Self(Inner::Stream(events))
    }

    /// Shows every line of a stream to `seen`, which is kept for as long as the stream goes on.
    pub(crate) fn inspected(self, mut seen: impl FnMut(&Bytes) + Send + 'static) -> Self {
        match self.0 {
            Inner::Whole(bytes) => Self(Inner::Whole(bytes)),
            Inner::Stream(events) => {
                Self::stream(Box::pin(events.inspect(move |event| seen(event))))
            }
        }
    }

    /// Keeps something for as long as a stream goes on; a body that is whole drops it at once.
    pub(crate) fn with(self, kept: impl Send + 'static) -> Self {
        self.inspected(move |_| {
            let _ = &kept;
        })
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self(Inner::Whole(bytes.into()))
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.0 {
            Inner::Whole(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Whole(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Stream(events) => events
                .as_mut()
                .poll_next(cx)
                .map(|event| event.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(&self.0, Inner::Whole(bytes) if bytes.is_empty())
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Stream(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::Stream(_) => f.write_str("Body(a watch)"),
        }
    }
}
