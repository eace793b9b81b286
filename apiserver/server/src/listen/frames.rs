//! Ends HTTP/2 connections of clients that send nothing but work: pings, settings and priorities without end.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Duration, Instant};

/// What every HTTP/2 client sends first (RFC 9113, 3.4).
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A client needs a few of these frames in the whole life of a connection.
const PER_SECOND: u32 = 1000;

/// A connection whose incoming frames are counted.
#[derive(Debug)]
pub(super) struct Guarded<S> {
    stream: S,
    frames: Frames,
}

/// The frames of a connection; those of one that does not speak HTTP/2 are not looked for.
#[derive(Debug)]
struct Frames {
    preface: usize,
    is_http2: bool,
    header: [u8; 9],
    header_length: usize,
    payload: usize,
    since: Instant,
    count: u32,
}

impl<S> Guarded<S> {
    pub(super) fn new(stream: S) -> Self {
        Self {
            stream,
            frames: Frames::new(),
        }
    }
}

impl Frames {
    fn new() -> Self {
        Self {
            preface: 0,
            is_http2: true,
            header: [0; 9],
            header_length: 0,
            payload: 0,
            since: Instant::now(),
            count: 0,
        }
    }

    /// Reads on through bytes that came in.
    ///
    /// # Errors
    /// There were too many frames that carry no call.
    fn read(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.is_http2 && self.preface < PREFACE.len() {
            let Some((first, rest)) = bytes.split_first() else {
                return Ok(());
            };
            self.is_http2 = *first == PREFACE[self.preface];
            self.preface += 1;
            bytes = rest;
        }
        while self.is_http2 && !bytes.is_empty() {
            let skipped = self.payload.min(bytes.len());
            self.payload -= skipped;
            bytes = &bytes[skipped..];
            let taken = bytes.len().min(self.header.len() - self.header_length);
            let end = self.header_length + taken;
            self.header[self.header_length..end].copy_from_slice(&bytes[..taken]);
            bytes = &bytes[taken..];
            self.header_length = end;
            if end == self.header.len() {
                self.header_length = 0;
                self.begin()?;
            }
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        const DATA: u8 = 0;
        const PRIORITY: u8 = 2;
        const SETTINGS: u8 = 4;
        const PING: u8 = 6;
        const CONTINUATION: u8 = 9;
        const END: u8 = 0b101;
        let [high, middle, low, kind, flags, ..] = self.header;
        self.payload = u32::from_be_bytes([0, high, middle, low]) as usize;
        let is_work = match kind {
            PRIORITY | SETTINGS | PING => true,
            DATA | CONTINUATION => self.payload == 0 && flags & END == 0,
            _ => false,
        };
        if !is_work {
            return Ok(());
        }
        if self.since.elapsed() >= Duration::from_secs(1) {
            self.since = Instant::now();
            self.count = 0;
        }
        self.count += 1;
        if self.count > PER_SECOND {
            let why = "the client sends more frames without a call than any client needs";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Guarded<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buffer))?;
        Poll::Ready(self.frames.read(&buffer.filled()[before..]))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Guarded<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, parts)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    const DATA: &[u8] = &[0, 0, 1, 0, 0, 0, 0, 0, 1, 6];

    fn begun() -> Frames {
        let mut frames = Frames::new();
        frames.read(PREFACE).unwrap();
        frames
    }

    #[tokio::test(start_paused = true)]
    async fn endless_pings_end_the_connection_however_they_are_cut() {
        for length in [1, 5, 17, 1000] {
            let mut frames = begun();
            let many = PING.repeat(PER_SECOND as usize);
            for part in many.chunks(length) {
                frames.read(part).unwrap();
            }
            assert!(frames.read(PING).is_err());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_ping_now_and_then_and_calls_without_end_are_fine() {
        let mut frames = begun();
        for _ in 0..10 {
            frames.read(&PING.repeat(500)).unwrap();
            frames.read(&DATA.repeat(10_000)).unwrap();
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }

    #[test]
    fn what_is_not_http2_is_not_looked_through() {
        let mut frames = Frames::new();
        frames.read(b"GET / HTTP/1.1\r\n").unwrap();
        frames.read(&PING.repeat(10_000)).unwrap();
    }
}
