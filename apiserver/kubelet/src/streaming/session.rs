//! What a handler is given: the streams of a command in a container, and a connection to a port.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::watch;

/// A command that a client runs in a container, or its connection to the container's own program.
///
/// A future that uses it is dropped when the client is gone, when the container has ended and when the server is stopped.
#[derive(Debug)]
#[non_exhaustive]
pub struct Session {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The name of the container.
    pub container: String,
    /// The command and its arguments; empty for a client that attaches to a container.
    pub command: Vec<String>,
    /// Whether the client has asked for a terminal.
    pub tty: bool,
    /// What the client sends. It is at its end at once if the client sends none.
    pub stdin: Stdin,
    /// What the client shows as output. It is discarded if the client asks for none.
    pub stdout: Output,
    /// What the client shows as errors. With a terminal, it is shown with the output.
    pub stderr: Output,
    /// The sizes of the client's terminal.
    pub terminal: Terminal,
}

/// A client's connection to a port of a pod.
#[derive(Debug)]
#[non_exhaustive]
pub struct PortForward {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub pod: String,
    /// The port.
    pub port: u16,
    /// The bytes both ways.
    pub stream: DuplexStream,
}

/// Standard input of a command.
#[derive(Debug)]
pub struct Stdin(pub(super) DuplexStream);

/// Standard output, or standard error, of a command.
#[derive(Debug)]
pub struct Output(pub(super) DuplexStream);

/// The sizes of a client's terminal.
#[derive(Debug)]
pub struct Terminal(pub(super) watch::Receiver<Option<TerminalSize>>);

/// The size of a terminal, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "the message of the protocol")]
pub struct TerminalSize {
    /// The number of columns.
    pub width: u16,
    /// The number of rows.
    pub height: u16,
}

impl Terminal {
    /// Waits for the next size. Sizes that a later one has replaced are skipped, as with a terminal. None without a terminal,
    /// and when the client is gone.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn resized(&mut self) -> Option<TerminalSize> {
        self.0.changed().await.ok()?;
        *self.0.borrow_and_update()
    }
}

impl AsyncRead for Stdin {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Output {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
