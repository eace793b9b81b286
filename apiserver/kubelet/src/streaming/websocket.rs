//! Streams over a WebSocket: the first byte of each message names one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt as _, StreamExt as _, stream};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::frame::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::connection::{Connection, Event, Outbox, Sent};

/// How messages name their stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Channels {
    /// Whether messages are text, a digit and base64.
    pub(super) base64: bool,
    /// Whether the client may end a stream.
    pub(super) close_signal: bool,
}

/// The number that ends the stream behind it.
const CLOSE_SIGNAL: u8 = 255;

/// The most bytes of a message; clients send what their own reader gives them at once.
const LARGEST: usize = 16 << 20;

/// Serves a connection that was upgraded.
pub(super) async fn connection<S>(stream: S, channels: Channels) -> Connection
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let (write, read) = accept(stream).await.split();
    let (outbox, sent) = Outbox::new();
    let events = stream::unfold(read, move |mut read| async move {
        Some((next(&mut read, channels).await?, read))
    });
    Connection {
        events: Box::pin(events),
        outbox,
        writer: Box::pin(async move {
            if let Err(error) = send(write, channels, sent).await {
                tracing::debug!(%error, "a WebSocket has ended");
            }
        }),
    }
}

/// The server's side of a connection.
pub(super) async fn accept<S>(stream: S) -> WebSocketStream<S>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let config = WebSocketConfig::default()
        .max_message_size(Some(LARGEST))
        .max_frame_size(Some(LARGEST));
    WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).await
}

async fn next<S>(read: &mut SplitStream<WebSocketStream<S>>, channels: Channels) -> Option<Event>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    loop {
        let message = match read.next().await?.ok()? {
            Message::Binary(bytes) => bytes,
            Message::Text(text) => text.into(),
            Message::Close(_) => return None,
            _ => continue,
        };
        if let Some(event) = channels.read(message)? {
            return Some(event);
        }
    }
}

async fn send<S>(
    mut write: SplitSink<WebSocketStream<S>, Message>,
    channels: Channels,
    mut sent: mpsc::Receiver<Sent>,
) -> Result<(), Error>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(sent) = sent.recv().await {
        match sent {
            Sent::Data {
                stream,
                bytes,
                last: false,
            } => write.send(channels.write(stream, &bytes)).await?,
            Sent::Close => {
                write.send(closing()).await?;
                break;
            }
            // There is no message for the end of a stream. Streams are not opened, and pings are answered below.
            Sent::Data { last: true, .. }
            | Sent::Reply { .. }
            | Sent::Reset { .. }
            | Sent::Pong(_) => {}
        }
    }
    Ok(())
}

/// The message that ends a connection as planned.
pub(super) fn closing() -> Message {
    Message::Close(Some(CloseFrame {
        code: CloseCode::Normal,
        reason: Utf8Bytes::from_static(""),
    }))
}

impl Channels {
    /// Reads a message. The outer is none for a client that breaks the protocol, the inner for a message without effect.
    #[expect(
        clippy::option_option,
        reason = "an error of the client ends the events, as a client that is gone does"
    )]
    fn read(self, mut message: Bytes) -> Option<Option<Event>> {
        if message.is_empty() {
            return Some(None);
        }
        let stream = message.split_to(1)[0];
        if self.close_signal && stream == CLOSE_SIGNAL {
            let [stream] = message[..] else {
                return None;
            };
            let stream = stream.into();
            return Some(Some(Event::Ended { stream }));
        }
        if !self.base64 {
            let (stream, bytes) = (stream.into(), message);
            return Some(Some(Event::Data { stream, bytes }));
        }
        let stream = stream.checked_sub(b'0')?.into();
        let bytes = STANDARD.decode(&message).ok()?.into();
        Some(Some(Event::Data { stream, bytes }))
    }

    fn write(self, stream: u32, bytes: &Bytes) -> Message {
        let stream = u8::try_from(stream).unwrap_or(u8::MAX);
        if self.base64 {
            let digit = char::from(b'0'.wrapping_add(stream));
            return Message::text(format!("{digit}{}", STANDARD.encode(bytes)));
        }
        let mut message = Vec::with_capacity(1 + bytes.len());
        message.push(stream);
        message.extend_from_slice(bytes);
        Message::binary(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: Channels = Channels {
        base64: false,
        close_signal: true,
    };
    const TEXT: Channels = Channels {
        base64: true,
        close_signal: false,
    };

    #[test]
    fn a_message_is_read_as_it_was_written() {
        for channels in [BINARY, TEXT] {
            for bytes in [&b""[..], b"a", &[0, 255, 10]] {
                let bytes = Bytes::copy_from_slice(bytes);
                let written = channels.write(3, &bytes).into_data();
                let read = channels.read(written).unwrap().unwrap();
                assert_eq!(read, Event::Data { stream: 3, bytes });
            }
        }
    }

    #[test]
    fn the_close_signal_names_one_stream() {
        let read = |message: &'static [u8]| BINARY.read(Bytes::from_static(message));
        assert_eq!(read(&[255, 0]), Some(Some(Event::Ended { stream: 0 })));
        assert_eq!(read(&[255]), None);
        assert_eq!(read(&[255, 0, 0]), None);
        assert_eq!(read(&[]), Some(None));
    }

    #[test]
    fn text_that_is_no_base64_breaks_the_protocol() {
        assert_eq!(TEXT.read(Bytes::from_static(b"0*")), None);
        assert_eq!(TEXT.read(Bytes::from_static(b"\0")), None);
    }
}
