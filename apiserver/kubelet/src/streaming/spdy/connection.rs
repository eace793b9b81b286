//! The streams of a connection by SPDY.

use std::collections::HashSet;
use std::io;

use futures::stream;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::mpsc;

use super::super::connection::{Connection, Event, Outbox, Sent};
use super::frame::{Frame, Reader, Writer};

/// The most streams that a client may have open: a hundred connections to ports, and some.
pub(super) const MOST_STREAMS: usize = 256;

/// Serves a connection that was upgraded.
///
/// # Errors
/// The compression of headers cannot begin.
pub(in crate::streaming) fn connection<S>(stream: S) -> io::Result<Connection>
where
    S: AsyncRead + AsyncWrite + Send + 'static,
{
    let (read, write) = tokio::io::split(stream);
    let (outbox, sent) = Outbox::new();
    let incoming = Incoming {
        reader: Reader::new(read),
        outbox: outbox.clone(),
        open: HashSet::new(),
        ends: None,
        newest: 0,
    };
    let events = stream::unfold(incoming, |mut incoming| async {
        Some((incoming.next().await?, incoming))
    });
    let writer = Writer::new()?;
    Ok(Connection {
        events: Box::pin(events),
        outbox,
        writer: Box::pin(async move {
            if let Err(error) = send(write, writer, sent).await {
                tracing::debug!(%error, "a connection by SPDY has ended");
            }
        }),
    })
}

struct Incoming<R> {
    reader: Reader<R>,
    outbox: Outbox,
    /// The streams on which the client still sends.
    open: HashSet<u32>,
    /// A stream whose last data were just returned.
    ends: Option<u32>,
    newest: u32,
}

impl<R: AsyncRead + Unpin> Incoming<R> {
    async fn next(&mut self) -> Option<Event> {
        if let Some(stream) = self.ends.take() {
            return Some(Event::Ended { stream });
        }
        loop {
            let frame = self.reader.next().await.unwrap_or_else(|error| {
                tracing::debug!(%error, "a connection by SPDY is broken");
                None
            });
            match frame? {
                Frame::Open {
                    stream,
                    headers,
                    last,
                } => {
                    // A client counts up by two from one.
                    if stream % 2 == 0 || stream <= self.newest {
                        return None;
                    }
                    self.newest = stream;
                    if self.open.len() >= MOST_STREAMS {
                        self.outbox.send(Sent::Reset { stream }).await.ok()?;
                        continue;
                    }
                    if last {
                        self.ends = Some(stream);
                    } else {
                        self.open.insert(stream);
                    }
                    return Some(Event::Opened { stream, headers });
                }
                Frame::Data {
                    stream,
                    bytes,
                    last,
                } if self.open.contains(&stream) => {
                    if last {
                        self.open.remove(&stream);
                        self.ends = Some(stream);
                    }
                    return Some(Event::Data { stream, bytes });
                }
                Frame::Reset { stream } if self.open.remove(&stream) => {
                    return Some(Event::Ended { stream });
                }
                // Pings of a client are odd; the others are answers, of which there are none to wait for.
                Frame::Ping(id) if id % 2 == 1 => {
                    self.outbox.send(Sent::Pong(id)).await.ok()?;
                }
                _ => {}
            }
        }
    }
}

/// Writes until the connection is closed.
async fn send(
    mut to: impl AsyncWrite + Unpin,
    mut writer: Writer,
    mut sent: mpsc::Receiver<Sent>,
) -> io::Result<()> {
    while let Some(sent) = sent.recv().await {
        let closes = sent == Sent::Close;
        let frame = match sent {
            Sent::Reply { stream } => Frame::Reply {
                stream,
                last: false,
            },
            Sent::Data {
                stream,
                bytes,
                last,
            } => Frame::Data {
                stream,
                bytes,
                last,
            },
            Sent::Reset { stream } => Frame::Reset { stream },
            Sent::Pong(id) => Frame::Ping(id),
            Sent::Close => Frame::GoAway { last_good: 0 },
        };
        to.write_all(&writer.write(&frame)?).await?;
        to.flush().await?;
        if closes {
            break;
        }
    }
    Ok(())
}
