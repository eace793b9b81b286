//! The frames of an HTTP/2 connection, counted as they come in.
//!
//! hyper limits streams, header lists and resets before a stream was accepted. What it leaves open is a client that keeps
//! the connection busy with frames that carry no call, and one that never ends its headers.

use tokio::time::{Duration, Instant};

/// What every HTTP/2 client sends first (RFC 9113, 3.4).
const PREFACE: usize = 24;
const HEADER: usize = 9;

const DATA: u8 = 0x0;
const HEADERS: u8 = 0x1;
const RST_STREAM: u8 = 0x3;
const WINDOW_UPDATE: u8 = 0x8;
const CONTINUATION: u8 = 0x9;
const END_STREAM: u8 = 0x1;
const END_HEADERS: u8 = 0x4;

/// A client that cancels more calls than this in a second is not one whose calls were too slow.
const RESETS_PER_SECOND: u32 = 500;
/// Settings, pings, priorities, empty data, continuations: a client needs a few of them in a whole connection's life.
const CONTROL_PER_SECOND: u32 = 1000;
/// A client that reads its answers may credit each of them, and the connection too.
const UPDATES_PER_CALL: u32 = 4;

/// Follows the frames of a connection.
#[derive(Debug)]
pub(crate) struct Frames {
    preface_left: usize,
    header: [u8; HEADER],
    header_length: usize,
    payload_left: usize,
    is_headers_frame: bool,
    is_block_open: bool,
    resets: Rate,
    control: Rate,
    updates_allowed: u32,
}

/// A client that sends frames that no client needs.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Flood;

impl Frames {
    pub(crate) fn new() -> Self {
        Self {
            preface_left: PREFACE,
            header: [0; HEADER],
            header_length: 0,
            payload_left: 0,
            is_headers_frame: false,
            is_block_open: false,
            resets: Rate::of(RESETS_PER_SECOND),
            control: Rate::of(CONTROL_PER_SECOND),
            updates_allowed: 0,
        }
    }

    /// Whether the client is in the middle of something that it has to finish in time: the preface, a frame's header, or
    /// the headers of a call.
    pub(crate) fn is_head_open(&self) -> bool {
        self.preface_left > 0
            || self.header_length > 0
            || self.is_block_open
            || (self.is_headers_frame && self.payload_left > 0)
    }

    /// Reads on through bytes that have come in.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) -> Result<(), Flood> {
        skip(&mut self.preface_left, &mut bytes);
        while !bytes.is_empty() {
            if self.payload_left > 0 {
                skip(&mut self.payload_left, &mut bytes);
                continue;
            }
            let taken = bytes.len().min(HEADER - self.header_length);
            self.header[self.header_length..self.header_length + taken]
                .copy_from_slice(&bytes[..taken]);
            self.header_length += taken;
            bytes = &bytes[taken..];
            if self.header_length == HEADER {
                self.header_length = 0;
                self.begin_frame()?;
            }
        }
        Ok(())
    }

    fn begin_frame(&mut self) -> Result<(), Flood> {
        let [high, middle, low, kind, flags, ..] = self.header;
        self.payload_left = usize::from(high) << 16 | usize::from(middle) << 8 | usize::from(low);
        self.is_headers_frame = matches!(kind, HEADERS | CONTINUATION);
        match kind {
            DATA if self.payload_left > 0 || flags & END_STREAM != 0 => Ok(()),
            HEADERS => {
                self.is_block_open = flags & END_HEADERS == 0;
                self.updates_allowed = self.updates_allowed.saturating_add(UPDATES_PER_CALL);
                Ok(())
            }
            CONTINUATION => {
                self.is_block_open = flags & END_HEADERS == 0;
                self.control.count()
            }
            RST_STREAM => self.resets.count(),
            WINDOW_UPDATE if self.updates_allowed > 0 => {
                self.updates_allowed -= 1;
                Ok(())
            }
            _ => self.control.count(),
        }
    }
}

/// Counts in steps of a second, and looks at the clock only when a step is used up.
#[derive(Debug)]
struct Rate {
    limit: u32,
    count: u32,
    since: Option<Instant>,
}

impl Rate {
    fn of(limit: u32) -> Self {
        Self {
            limit,
            count: 0,
            since: None,
        }
    }

    fn count(&mut self) -> Result<(), Flood> {
        let since = *self.since.get_or_insert_with(Instant::now);
        self.count += 1;
        if self.count <= self.limit {
            return Ok(());
        }
        let now = Instant::now();
        if now - since < Duration::from_secs(1) {
            return Err(Flood);
        }
        (self.count, self.since) = (1, Some(now));
        Ok(())
    }
}

fn skip(left: &mut usize, bytes: &mut &[u8]) {
    let skipped = bytes.len().min(*left);
    *left -= skipped;
    *bytes = &bytes[skipped..];
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(kind: u8, flags: u8, payload: usize) -> Vec<u8> {
        let length = u32::try_from(payload).unwrap().to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags, 0, 0, 0, 1];
        frame.resize(HEADER + payload, 0);
        frame
    }

    fn after_preface() -> Frames {
        let mut frames = Frames::new();
        frames.read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").unwrap();
        frames
    }

    #[tokio::test(start_paused = true)]
    async fn headers_are_open_until_their_last_byte_wherever_the_bytes_are_split() {
        let bytes = [
            frame(HEADERS, 0, 20),
            frame(CONTINUATION, 0, 5),
            frame(CONTINUATION, END_HEADERS, 5),
        ]
        .concat();
        for split in 1..bytes.len() {
            let mut frames = after_preface();
            assert!(!frames.is_head_open());
            frames.read(&bytes[..split]).unwrap();
            assert!(frames.is_head_open(), "at {split}");
            frames.read(&bytes[split..]).unwrap();
            assert!(!frames.is_head_open(), "after {split}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_is_in_the_middle_of_a_body_has_no_open_headers() {
        let mut frames = after_preface();
        frames.read(&frame(HEADERS, END_HEADERS, 20)).unwrap();
        frames.read(&frame(DATA, 0, 100)[..50]).unwrap();
        assert!(!frames.is_head_open());
    }

    #[tokio::test(start_paused = true)]
    async fn floods_of_every_kind_are_noticed_and_the_same_number_over_time_is_not() {
        const SETTINGS: u8 = 0x4;
        const PING: u8 = 0x6;
        for (kind, flags, payload) in [
            (SETTINGS, 0, 0),
            (PING, 0, 8),
            (RST_STREAM, 0, 4),
            (WINDOW_UPDATE, 0, 4),
            (CONTINUATION, 0, 1),
            (DATA, 0, 0),
            (0xfa, 0, 3),
        ] {
            let bytes = frame(kind, flags, payload);
            let mut frames = after_preface();
            let flood = (0..2000).find(|_| frames.read(&bytes).is_err());
            assert!(flood.is_some(), "kind {kind}");
            let mut frames = after_preface();
            for _ in 0..2000 {
                frames.read(&bytes).unwrap();
                tokio::time::advance(Duration::from_millis(3)).await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_busy_client_may_credit_its_answers() {
        let mut frames = after_preface();
        for _ in 0..100_000 {
            frames.read(&frame(HEADERS, END_HEADERS, 20)).unwrap();
            frames.read(&frame(DATA, END_STREAM, 0)).unwrap();
            frames.read(&frame(WINDOW_UPDATE, 0, 4)).unwrap();
            frames.read(&frame(WINDOW_UPDATE, 0, 4)).unwrap();
        }
    }
}
