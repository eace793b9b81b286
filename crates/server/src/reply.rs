//! The body of an answer, which tells the connection's watchdog whose turn it is.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::watchdog::Progress;

pin_project! {
    /// The body of an answer: the service's, or a sentence of the server's own.
    pub(crate) struct Reply<B> {
        #[pin]
        content: Content<B>,
        turn: Turn,
    }
}

pin_project! {
    #[project = ContentProjection]
    enum Content<B> {
        Sentence { text: Option<Bytes> },
        Service { #[pin] body: B },
    }
}

/// Whose turn it is: while it is the client's, it has to take bytes in time.
struct Turn {
    progress: Arc<Progress>,
    is_clients: bool,
}

impl<B: Body<Data = Bytes>> Reply<B> {
    pub(crate) fn of_service(response: Response<B>, progress: Arc<Progress>) -> Response<Self> {
        response.map(|body| Self {
            content: Content::Service { body },
            turn: Turn::clients(progress),
        })
    }

    pub(crate) fn sentence(
        status: StatusCode,
        text: impl Into<Bytes>,
        progress: Arc<Progress>,
    ) -> Response<Self> {
        let content = Content::Sentence {
            text: Some(text.into()),
        };
        let mut response = Response::new(Self {
            content,
            turn: Turn::clients(progress),
        });
        *response.status_mut() = status;
        let plain = HeaderValue::from_static("text/plain; charset=utf-8");
        response.headers_mut().insert(header::CONTENT_TYPE, plain);
        response
    }
}

impl<B: Body<Data = Bytes>> Body for Reply<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let this = self.project();
        let frame = match this.content.project() {
            ContentProjection::Sentence { text } => {
                Poll::Ready(text.take().map(|text| Ok(Frame::data(text))))
            }
            ContentProjection::Service { body } => body.poll_frame(cx),
        };
        this.turn.pass(frame.is_ready());
        frame
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Sentence { text } => text.is_none(),
            Content::Service { body } => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Sentence { text } => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            Content::Service { body } => body.size_hint(),
        }
    }
}

impl Turn {
    fn clients(progress: Arc<Progress>) -> Self {
        progress.answers_open(1);
        progress.answers_waiting(1);
        Self {
            progress,
            is_clients: true,
        }
    }

    fn pass(&mut self, to_client: bool) {
        self.progress.answer_moved();
        if to_client != self.is_clients {
            self.is_clients = to_client;
            self.progress
                .answers_waiting(if to_client { 1 } else { -1 });
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.pass(false);
        self.progress.answers_open(-1);
    }
}
