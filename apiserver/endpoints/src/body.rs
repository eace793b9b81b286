//! The body of an answer: bytes, a list, or a stream of watch events.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures::{Stream, StreamExt as _};
use http_body::{Body as _, Frame, SizeHint};

use crate::list::List;

/// The body of an answer of the API server.
pub struct Body(Inner);

enum Inner {
    Whole(Bytes),
    List(List),
    Stream(Events),
}

/// Lines of a watch, as they come.
pub(crate) type Events = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

impl Body {
    /// The bytes, if they are in one piece.
    pub(crate) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Some(bytes),
            Inner::List(_) | Inner::Stream(_) => None,
        }
    }

    /// The bytes; of a list they are put together. None of a stream.
    pub fn text(&self) -> Option<Bytes> {
        match &self.0 {
            Inner::Whole(bytes) => Some(bytes.clone()),
            Inner::List(list) => Some(list.text()),
            Inner::Stream(_) => None,
        }
    }

    /// Writes the bytes, if it is no stream.
    ///
    /// # Errors
    /// They cannot be written, or it is a stream.
    pub(crate) fn write_to(&self, to: &mut impl io::Write) -> io::Result<()> {
        match &self.0 {
            Inner::Whole(bytes) => to.write_all(bytes),
            Inner::List(list) => list.write_to(to),
            Inner::Stream(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// How many bytes there are; none if it is a stream.
    pub(crate) fn length(&self) -> Option<u64> {
        self.size_hint().exact()
    }

    pub(crate) fn list(list: List) -> Self {
        Self(Inner::List(list))
    }

    pub(crate) fn stream(events: Events) -> Self {
        Self(Inner::Stream(events))
    }

    /// Shows every line of a stream to `seen`, which is kept for as long as the stream goes on.
    pub(crate) fn inspected(self, mut seen: impl FnMut(&Bytes) + Send + 'static) -> Self {
        match self.0 {
            inner @ (Inner::Whole(_) | Inner::List(_)) => Self(inner),
            Inner::Stream(events) => {
                Self::stream(Box::pin(events.inspect(move |event| seen(event))))
            }
        }
    }

    /// Keeps something for as long as a stream goes on; any other body drops it at once.
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
            Inner::List(list) => Poll::Ready(list.piece().map(|piece| Ok(Frame::data(piece)))),
            Inner::Stream(events) => events
                .as_mut()
                .poll_next(cx)
                .map(|event| event.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.length() == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::List(list) => SizeHint::with_exact(list.left()),
            Inner::Stream(_) => SizeHint::default(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole(bytes) => write!(f, "Body({} bytes)", bytes.len()),
            Inner::List(list) => write!(f, "Body(a list of {} bytes)", list.left()),
            Inner::Stream(_) => f.write_str("Body(a watch)"),
        }
    }
}
