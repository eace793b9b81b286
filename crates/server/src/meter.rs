//! A connection's stream, with what passes noted for its watchdog.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::frames::Frames;
use crate::watchdog::Progress;

/// A stream that notes when headers begin, when writing is blocked, and counts HTTP/2 frames.
#[derive(Debug)]
pub(crate) struct Metered<T> {
    stream: T,
    progress: Arc<Progress>,
    protocol: Protocol,
    is_shut_down: bool,
}

#[derive(Debug)]
pub(crate) enum Protocol {
    Http1,
    Http2(Frames),
}

impl<T> Metered<T> {
    pub(crate) fn new(stream: T, protocol: Protocol, progress: Arc<Progress>) -> Self {
        Self {
            stream,
            progress,
            protocol,
            is_shut_down: false,
        }
    }

    fn note(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.protocol {
            // Between two calls, the first bytes are those of a request's headers.
            Protocol::Http1 if bytes.is_empty() || !self.progress.is_idle() => {}
            Protocol::Http1 => self.progress.set_head_open(true),
            Protocol::Http2(frames) => {
                if frames.read(bytes).is_err() {
                    self.progress.set_flooded();
                    return Err(io::Error::other("the client floods the connection"));
                }
                self.progress.set_head_open(frames.is_head_open());
            }
        }
        Ok(())
    }
}

impl<T: AsyncRead + Unpin> AsyncRead for Metered<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let filled = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.note(&buffer.filled()[filled..]))
    }
}

impl<T: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Metered<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.progress.set_write_blocked(outcome.is_pending());
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(cx, bytes);
        self.progress.set_write_blocked(outcome.is_pending());
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(cx);
        self.progress.set_write_blocked(outcome.is_pending());
        outcome
    }

    /// Shuts the stream down. After an answer to a body that was not read, what the client still sends is read and
    /// thrown away for a moment: closing at once would make its system drop the answer.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_shut_down {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.is_shut_down = true;
        }
        if !self.progress.has_left_body() || !matches!(self.protocol, Protocol::Http1) {
            return Poll::Ready(Ok(()));
        }
        self.progress.linger();
        let mut scratch = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut scratch);
            let outcome = ready!(Pin::new(&mut self.stream).poll_read(cx, &mut buffer));
            if outcome.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}
