//! HTTP/2 by hand, for clients that do what no library does.

use std::io;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::client::Client;

pub(crate) const DATA: u8 = 0x0;
pub(crate) const HEADERS: u8 = 0x1;
pub(crate) const PRIORITY: u8 = 0x2;
pub(crate) const RST_STREAM: u8 = 0x3;
pub(crate) const SETTINGS: u8 = 0x4;
pub(crate) const PING: u8 = 0x6;
pub(crate) const GOAWAY: u8 = 0x7;
pub(crate) const WINDOW_UPDATE: u8 = 0x8;
pub(crate) const CONTINUATION: u8 = 0x9;

pub(crate) const END_STREAM: u8 = 0x1;
pub(crate) const END_HEADERS: u8 = 0x4;

/// A connection on which frames are written one by one.
pub(crate) struct Raw {
    pub(crate) stream: TlsStream<TcpStream>,
}

#[derive(Debug)]
pub(crate) struct Frame {
    pub(crate) kind: u8,
    pub(crate) payload: Vec<u8>,
}

impl Raw {
    /// Connects and sends the preface with these settings.
    pub(crate) async fn connect(client: &Client, settings: &[u8]) -> io::Result<Self> {
        let mut stream = client.connect().await?;
        stream
            .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .await?;
        let mut raw = Self { stream };
        raw.send(&frame(SETTINGS, 0, 0, settings)).await?;
        Ok(raw)
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.stream.write_all(bytes).await?;
        self.stream.flush().await
    }

    pub(crate) async fn receive(&mut self) -> io::Result<Frame> {
        let mut header = [0; 9];
        self.stream.read_exact(&mut header).await?;
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        let mut payload = vec![0; usize::try_from(length).unwrap()];
        self.stream.read_exact(&mut payload).await?;
        Ok(Frame {
            kind: header[3],
            payload,
        })
    }

    /// Reads until a frame of this kind comes.
    pub(crate) async fn receive_kind(&mut self, kind: u8) -> io::Result<Frame> {
        loop {
            let frame = self.receive().await?;
            if frame.kind == kind {
                return Ok(frame);
            }
        }
    }

    /// Reads until the server has closed the connection.
    pub(crate) async fn until_closed(&mut self) {
        while self.receive().await.is_ok() {}
    }
}

pub(crate) fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let mut frame = vec![length[1], length[2], length[3], kind, flags];
    frame.extend(stream.to_be_bytes());
    frame.extend(payload);
    frame
}

/// The header block of `POST https://localhost/` in HPACK.
pub(crate) fn post_block() -> Vec<u8> {
    let mut block = vec![0x83, 0x84, 0x87, 0x41, 9];
    block.extend(b"localhost");
    block
}

/// A whole call without a body.
pub(crate) fn call(stream: u32) -> Vec<u8> {
    frame(HEADERS, END_HEADERS | END_STREAM, stream, &post_block())
}
