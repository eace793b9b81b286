//! A stream that remembers the first bytes it read, so that an error can show them as Go's client does.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// How many bytes are remembered: a status line, or the first record of a handshake.
const REMEMBERED: usize = 256;

/// What was read since the memory was last cleared, and the error that ended the stream.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<Mutex<Remembered>>);

#[derive(Debug, Default)]
struct Remembered {
    start: Vec<u8>,
    failed: Option<(&'static str, io::ErrorKind)>,
}

/// The stream.
#[derive(Debug)]
pub(super) struct Witness<S> {
    inner: S,
    memory: Memory,
}

impl Memory {
    pub(super) fn clear(&self) {
        let mut remembered = self.0.lock();
        remembered.start.clear();
        remembered.failed = None;
    }

    /// The first bytes.
    pub(super) fn start(&self) -> Vec<u8> {
        self.0.lock().start.clone()
    }

    /// The operation (`read` or `write`) that failed, and how.
    pub(super) fn failed(&self) -> Option<(&'static str, io::ErrorKind)> {
        self.0.lock().failed
    }
}

impl<S> Witness<S> {
    pub(super) fn new(inner: S) -> (Self, Memory) {
        let memory = Memory::default();
        (
            Self {
                inner,
                memory: memory.clone(),
            },
            memory,
        )
    }

    fn note<T>(&self, operation: &'static str, poll: &Poll<io::Result<T>>) {
        if let Poll::Ready(Err(error)) = poll {
            self.memory
                .0
                .lock()
                .failed
                .get_or_insert((operation, error.kind()));
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Witness<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let poll = Pin::new(&mut self.inner).poll_read(cx, buffer);
        let read = &buffer.filled()[before..];
        if !read.is_empty() {
            let mut remembered = self.memory.0.lock();
            let room = REMEMBERED - remembered.start.len();
            remembered
                .start
                .extend_from_slice(&read[..room.min(read.len())]);
        }
        self.note("read", &poll);
        poll
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Witness<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let poll = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.note("write", &poll);
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let poll = Pin::new(&mut self.inner).poll_flush(cx);
        self.note("write", &poll);
        poll
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
