//! Frames: how they are read from a connection, and written to one.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::headers::{Headers, Packer, Unpacker, invalid};

/// A frame, or a part of one with data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Frame {
    /// SYN_STREAM
    Open {
        stream: u32,
        headers: Headers,
        last: bool,
    },
    /// SYN_REPLY
    Reply {
        stream: u32,
        last: bool,
    },
    Data {
        stream: u32,
        bytes: Bytes,
        last: bool,
    },
    /// RST_STREAM
    Reset {
        stream: u32,
    },
    Ping(u32),
    GoAway {
        last_good: u32,
    },
    /// Of a type that changes nothing here.
    Other,
}

/// The most bytes of a frame without data.
pub(super) const MOST_CONTROL: usize = 16 << 10;

/// The most bytes of data that are read at once: a longer frame is read in parts.
pub(super) const MOST_DATA: usize = 32 << 10;

const CONTROL: u32 = 1 << 31;
const VERSION: u16 = 3;
const FIN: u8 = 1;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const HEADERS: u16 = 8;
/// The status of streams that are reset.
const CANCEL: u32 = 5;

/// Reads frames.
#[derive(Debug)]
pub(super) struct Reader<R> {
    from: R,
    unpacker: Unpacker,
    /// The stream of a frame with data that has been read in part, what is left of it, and whether it is the last one.
    data: Option<(u32, usize, bool)>,
}

/// Writes frames.
#[derive(Debug)]
pub(super) struct Writer {
    packer: Packer,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    pub(super) fn new(from: R) -> Self {
        Self {
            from,
            unpacker: Unpacker::new(),
            data: None,
        }
    }

    /// Reads the next frame; none at the end of the connection.
    ///
    /// # Errors
    /// The connection breaks, or the client sends anything but frames.
    ///
    /// # Cancel safety
    /// A frame that was read in part is lost.
    pub(super) async fn next(&mut self) -> io::Result<Option<Frame>> {
        if let Some((stream, left, last)) = self.data.take() {
            return self.read_data(stream, left, last).await.map(Some);
        }
        let mut first = [0; 4];
        if self.from.read(&mut first[..1]).await? == 0 {
            return Ok(None);
        }
        self.from.read_exact(&mut first[1..]).await?;
        let second = self.from.read_u32().await?;
        let [flags, length @ ..] = second.to_be_bytes();
        let [high, middle, low] = length;
        let length = u32::from_be_bytes([0, high, middle, low]);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let (first, last) = (u32::from_be_bytes(first), flags & FIN != 0);
        if first & CONTROL == 0 {
            return self.read_data(first, length, last).await.map(Some);
        }
        if length > MOST_CONTROL {
            return Err(invalid("a frame is too long"));
        }
        let [_, _, high, low] = first.to_be_bytes();
        if (first & !CONTROL) >> u16::BITS != u32::from(VERSION) {
            return Err(invalid("a frame is of another version"));
        }
        let mut payload = vec![0; length];
        self.from.read_exact(&mut payload).await?;
        self.control(u16::from_be_bytes([high, low]), &payload, last)
            .map(Some)
    }

    async fn read_data(&mut self, stream: u32, left: usize, last: bool) -> io::Result<Frame> {
        let now = left.min(MOST_DATA);
        let mut bytes = vec![0; now];
        self.from.read_exact(&mut bytes).await?;
        let left = left - now;
        if left > 0 {
            self.data = Some((stream, left, last));
        }
        Ok(Frame::Data {
            stream,
            bytes: bytes.into(),
            last: last && left == 0,
        })
    }

    fn control(&mut self, kind: u16, payload: &[u8], last: bool) -> io::Result<Frame> {
        let (stream, rest) = payload
            .split_first_chunk()
            .ok_or_else(|| invalid("a frame is too short"))?;
        let stream = u32::from_be_bytes(*stream) & !CONTROL;
        Ok(match kind {
            SYN_STREAM => {
                /// The associated stream, a priority and a slot.
                const UNUSED: usize = 6;
                let block = rest.get(UNUSED..);
                let block = block.ok_or_else(|| invalid("a frame is too short"))?;
                let headers = self.unpacker.unpack(block)?;
                Frame::Open {
                    stream,
                    headers,
                    last,
                }
            }
            SYN_REPLY => {
                self.unpacker.unpack(rest)?;
                Frame::Reply { stream, last }
            }
            HEADERS => {
                // The next block is compressed on from this one.
                self.unpacker.unpack(rest)?;
                Frame::Other
            }
            RST_STREAM => Frame::Reset { stream },
            PING => Frame::Ping(u32::from_be_bytes(*first(payload)?)),
            GOAWAY => Frame::GoAway { last_good: stream },
            _ => Frame::Other,
        })
    }
}

fn first(payload: &[u8]) -> io::Result<&[u8; 4]> {
    payload
        .first_chunk()
        .ok_or_else(|| invalid("a frame is too short"))
}

impl Writer {
    /// # Errors
    /// The compression does not take the dictionary.
    pub(super) fn new() -> io::Result<Self> {
        let packer = Packer::new()?;
        Ok(Self { packer })
    }

    /// Returns the bytes of a frame; none of one that has no effect.
    ///
    /// # Errors
    /// Headers cannot be compressed.
    pub(super) fn write(&mut self, frame: &Frame) -> io::Result<Vec<u8>> {
        Ok(match frame {
            Frame::Open {
                stream,
                headers,
                last,
            } => {
                let mut payload = stream.to_be_bytes().to_vec();
                payload.extend_from_slice(&[0; 6]);
                payload.extend(self.packer.pack(headers)?);
                control(SYN_STREAM, *last, &payload)
            }
            Frame::Reply { stream, last } => {
                let mut payload = stream.to_be_bytes().to_vec();
                payload.extend(self.packer.pack(&Headers::new())?);
                control(SYN_REPLY, *last, &payload)
            }
            Frame::Data {
                stream,
                bytes,
                last,
            } => with_head(*stream, *last, bytes),
            Frame::Reset { stream } => {
                let payload = [stream.to_be_bytes(), CANCEL.to_be_bytes()];
                control(RST_STREAM, false, payload.as_flattened())
            }
            Frame::Ping(id) => control(PING, false, &id.to_be_bytes()),
            Frame::GoAway { last_good } => {
                let payload = [last_good.to_be_bytes(), [0; 4]];
                control(GOAWAY, false, payload.as_flattened())
            }
            Frame::Other => Vec::new(),
        })
    }
}

fn control(kind: u16, last: bool, payload: &[u8]) -> Vec<u8> {
    let first = CONTROL | u32::from(VERSION) << u16::BITS | u32::from(kind);
    with_head(first, last, payload)
}

fn with_head(first: u32, last: bool, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap_or(u32::MAX);
    let [_, length @ ..] = length.to_be_bytes();
    let mut frame = Vec::with_capacity(8 + payload.len());
    frame.extend_from_slice(&first.to_be_bytes());
    frame.push(if last { FIN } else { 0 });
    frame.extend_from_slice(&length);
    frame.extend_from_slice(payload);
    frame
}
