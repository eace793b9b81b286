//! A connection that carries several streams, whatever its protocol.

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::sync::mpsc;

/// A connection. Nothing is sent unless its writer is polled.
pub(super) struct Connection {
    pub(super) events: BoxStream<'static, Event>,
    pub(super) outbox: Outbox,
    pub(super) writer: BoxFuture<'static, ()>,
}

/// What a client does. After the last event, the client is gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    Opened {
        stream: u32,
        headers: Vec<(String, String)>,
    },
    Data {
        stream: u32,
        bytes: Bytes,
    },
    /// Nothing follows on this stream.
    Ended {
        stream: u32,
    },
}

/// What is sent to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Sent {
    /// Accepts a stream that was opened.
    Reply { stream: u32 },
    Data {
        stream: u32,
        bytes: Bytes,
        last: bool,
    },
    /// Refuses a stream that was opened.
    Reset { stream: u32 },
    /// Answers a ping.
    Pong(u32),
    /// Says that nothing follows on the connection.
    Close,
}

/// Sends to a client, who has to take what was sent before.
#[derive(Clone, Debug)]
pub(super) struct Outbox(mpsc::Sender<Sent>);

/// How much waits to be written: a client that does not read holds up its own session and no memory.
const WAITING: usize = 8;

/// The most bytes that are sent at once.
const PART: usize = 32 << 10;

/// The client is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gone;

impl Outbox {
    pub(super) fn new() -> (Self, mpsc::Receiver<Sent>) {
        let (sender, receiver) = mpsc::channel(WAITING);
        (Self(sender), receiver)
    }

    /// Sends what is next.
    ///
    /// # Errors
    /// The connection is broken.
    ///
    /// # Cancel safety
    /// Either it is sent as a whole, or not at all.
    pub(super) async fn send(&self, sent: Sent) -> Result<(), Gone> {
        self.0.send(sent).await.map_err(|_| Gone)
    }

    /// Sends data.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) async fn data(&self, stream: u32, bytes: impl Into<Bytes>) -> Result<(), Gone> {
        let (bytes, last) = (bytes.into(), false);
        let data = Sent::Data {
            stream,
            bytes,
            last,
        };
        self.send(data).await
    }

    /// Ends a stream.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) async fn end(&self, stream: u32) -> Result<(), Gone> {
        let (bytes, last) = (Bytes::new(), true);
        let end = Sent::Data {
            stream,
            bytes,
            last,
        };
        self.send(end).await
    }

    /// Sends what is read until its end.
    ///
    /// # Errors
    /// The connection is broken.
    pub(super) async fn copy(
        &self,
        stream: u32,
        mut from: impl AsyncRead + Unpin,
    ) -> Result<(), Gone> {
        let mut part = vec![0; PART];
        // A pipe of this process has an end, and does not break.
        while let Ok(read @ 1..) = from.read(&mut part).await {
            self.data(stream, Bytes::copy_from_slice(&part[..read]))
                .await?;
        }
        Ok(())
    }
}
