//! What a client may ask of the server, in bytes, in time and in number.

use std::time::Duration;

/// The limits of a server. Every default is written at its setter.
#[derive(Clone, Debug)]
#[must_use]
pub struct Limits {
    pub(crate) body: usize,
    pub(crate) bodies_in_flight: usize,
    pub(crate) calls: usize,
    pub(crate) connections: usize,
    pub(crate) streams: u32,
    pub(crate) handshake: Duration,
    pub(crate) header_time: Duration,
    pub(crate) body_time: Duration,
    pub(crate) send_time: Duration,
    pub(crate) idle: Duration,
}

const MIB: usize = 1 << 20;

impl Default for Limits {
    fn default() -> Self {
        Self {
            body: 7 * MIB,
            bodies_in_flight: 16 * MIB,
            calls: 1024,
            connections: 8192,
            streams: 100,
            handshake: Duration::from_secs(5),
            header_time: Duration::from_secs(2),
            body_time: Duration::from_secs(10),
            send_time: Duration::from_secs(30),
            idle: Duration::from_mins(3),
        }
    }
}

impl Limits {
    /// Sets how many bytes a request's body may have; 7 MiB unless set.
    ///
    /// A review holds two objects at most, each up to the 3 MiB that an API server accepts in a request, and little else.
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// Sets how many bytes the large bodies of all calls in flight may have together; 16 MiB unless set.
    ///
    /// A body of more than 64 KiB that would go beyond waits, and its client is slowed down by flow control. A body of
    /// unknown length counts as one of the largest allowed size. Once it has room, a body must arrive at 4 MiB a second.
    pub fn bodies_in_flight(mut self, bytes: usize) -> Self {
        self.bodies_in_flight = bytes;
        self
    }

    /// Sets how many calls may be worked on at once; 1024 unless set. One more is refused at once with 503.
    ///
    /// A call counts from when its body has arrived or its service does not wait for it: clients that are slow to send
    /// theirs keep nobody from being served. As many calls may be arriving as connections may be open, with bodies of
    /// 64 KiB times this number together, beside those of [`bodies_in_flight`](Self::bodies_in_flight).
    pub fn calls(mut self, calls: usize) -> Self {
        self.calls = calls;
        self
    }

    /// Sets how many connections may be open at once; 8192 unless set. One more is closed at once.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how many HTTP/2 streams a connection may have open at once; 100 unless set.
    pub fn streams(mut self, streams: u32) -> Self {
        self.streams = streams;
        self
    }

    /// Sets how long a TLS handshake may take; 5 seconds unless set.
    pub fn handshake(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// Sets how long the headers of a request may take from their first byte on; 2 seconds unless set.
    pub fn header_time(mut self, time: Duration) -> Self {
        self.header_time = time;
        self
    }

    /// Sets how long a request's body may take, waiting for room included; 10 seconds unless set.
    ///
    /// That is what an API server waits for a webhook's whole answer unless told otherwise.
    pub fn body_time(mut self, time: Duration) -> Self {
        self.body_time = time;
        self
    }

    /// Sets how long a client may refuse to take bytes of its answers; 30 seconds unless set.
    pub fn send_time(mut self, time: Duration) -> Self {
        self.send_time = time;
        self
    }

    /// Sets how long a connection may be without a call; 3 minutes unless set.
    ///
    /// It has to be longer than the 90 seconds after which an API server closes such a connection itself: whoever
    /// closes first may cut a call that the other is just sending.
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }
}
