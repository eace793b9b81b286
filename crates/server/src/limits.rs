//! What a client may ask of the server, in bytes, in time and in number.

use std::time::Duration;

use crate::memory_limit;

/// The limits of a server. Every default is written at its setter.
///
/// ```
/// use std::time::Duration;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Limits, Server};
/// use tower::service_fn;
#[doc = include_str!("client.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let limits = Limits::default().body(1 << 10).calls(16).body_time(Duration::from_secs(2));
/// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .limits(limits)
///     .bind()
///     .await?;
/// assert_eq!(ask(server, post("/", "small")).await?.status(), 200);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Limits {
    pub(crate) body: usize,
    pub(crate) bodies_in_flight: usize,
    pub(crate) calls: usize,
    pub(crate) connections: usize,
    pub(crate) connections_per_address: Option<usize>,
    /// What the bodies may have together that are too small to ask for room.
    pub(crate) small_bodies: usize,
    /// How many calls may be arriving: each may have bytes that wait to be read.
    pub(crate) arriving: usize,
    pub(crate) first_call: Duration,
    pub(crate) streams: u32,
    pub(crate) handshake: Duration,
    pub(crate) header_time: Duration,
    pub(crate) body_time: Duration,
    pub(crate) send_time: Duration,
    pub(crate) idle: Duration,
}

/// What every body may have without asking for room: most reviews are smaller, and never wait for a large one.
pub(crate) const FREE: usize = 64 * 1024;

const MIB: usize = 1 << 20;
const KIB: usize = 1 << 10;

/// What large bodies may have together where there is memory for them.
const MOST_BODIES: usize = 16 * MIB;
/// How many connections may be open where there is memory for them.
const MOST_CONNECTIONS: usize = 8192;

/// What a connection takes while it is open: TLS, HTTP/2, its task, and the system's buffers for it.
const CONNECTION: usize = 40 * KIB;

impl Default for Limits {
    fn default() -> Self {
        Self::within(memory_limit().unwrap_or(usize::MAX))
    }
}

impl Limits {
    /// Derives the limits of connections and bodies from the memory that the process may use, in bytes. The default is within
    /// [`memory_limit`]: what all clients together can make the server hold stays below two thirds of it.
    pub fn within(memory: usize) -> Self {
        Self {
            body: 7 * MIB,
            bodies_in_flight: (memory / 8).clamp(7 * MIB, MOST_BODIES),
            calls: 1024,
            connections: (memory / 16 * 3 / CONNECTION).clamp(64, MOST_CONNECTIONS),
            connections_per_address: None,
            small_bodies: (memory / 16).clamp(MIB, 64 * MIB),
            arriving: (memory / 8 / FREE).clamp(64, MOST_CONNECTIONS),
            first_call: Duration::from_secs(10),
            streams: 100,
            handshake: Duration::from_secs(5),
            header_time: Duration::from_secs(2),
            body_time: Duration::from_secs(10),
            send_time: Duration::from_secs(30),
            idle: Duration::from_mins(3),
        }
    }

    /// Sets how many bytes a request's body may have. The default is 7 MiB.
    ///
    /// A review holds two objects at most, each up to the 3 MiB that an API server accepts in a request, and little else.
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Limits, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .limits(Limits::default().body(5))
    ///     .bind()
    ///     .await?;
    /// assert_eq!(ask(server, post("/", "six by")).await?.status(), 413);
    /// # Ok(())
    /// # }
    /// ```
    pub fn body(mut self, bytes: usize) -> Self {
        self.body = bytes;
        self
    }

    /// Sets how many bytes the large bodies of all calls in flight may have together; an eighth of the memory and at most
    /// 16 MiB by default.
    ///
    /// A body of more than 64 KiB that would go beyond waits, and its client is slowed down by flow control. A body of
    /// unknown length counts as one of the largest allowed size. Once it has room, a body must arrive at 4 MiB a second.
    pub fn bodies_in_flight(mut self, bytes: usize) -> Self {
        self.bodies_in_flight = bytes;
        self
    }

    /// Sets how many calls may be worked on at once. The default is 1024. Further calls are rejected at once with 503.
    ///
    /// A call counts from when its body has arrived or its service does not wait for it: clients that are slow to send their
    /// bodies do not keep other clients from being served. Beside these 8192 calls may be arriving, or fewer where memory
    /// is short: 256 in 128 MiB. A quarter of them is for connections that have no other call. Their bodies may have
    /// 64 KiB times the number of calls together and at most a sixteenth of the memory, beside those of
    /// [`bodies_in_flight`](Self::bodies_in_flight).
    ///
    /// ```
    /// use kubewright_certificates::SelfSigned;
    /// use kubewright_server::{Limits, Server};
    /// use tower::service_fn;
    #[doc = include_str!("client.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    /// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"]))
    ///     .listen(([127, 0, 0, 1], 0))
    ///     .limits(Limits::default().calls(0))
    ///     .bind()
    ///     .await?;
    /// let counters = server.counters();
    /// assert_eq!(ask(server, get("/")).await?.status(), 503);
    /// assert_eq!(counters.read().calls_refused, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn calls(mut self, calls: usize) -> Self {
        self.calls = calls;
        self
    }

    /// Sets how many connections may be open at once; 8192 by default, and fewer where memory is short: 614 in 128 MiB.
    ///
    /// For one more, one that has never made a call is closed, or else one that is idle. While all of them are busy, new ones
    /// are closed at once, and the server is not ready.
    pub fn connections(mut self, connections: usize) -> Self {
        self.connections = connections;
        self
    }

    /// Sets how many connections may be open at once from one address, or one IPv6 network of 64 bits; three quarters of
    /// all by default.
    pub fn connections_per_address(mut self, connections: usize) -> Self {
        self.connections_per_address = Some(connections);
        self
    }

    /// Sets how long a connection may be open before its first call; 10 seconds by default.
    ///
    /// An API server connects when it has a call to make. Later, [`idle`](Self::idle) counts.
    pub fn first_call(mut self, time: Duration) -> Self {
        self.first_call = time;
        self
    }

    /// How many calls may be arriving when one more comes. The last quarter is for connections that have no other call: a
    /// client with many calls at once does not take them from one with few.
    pub(crate) fn arriving(&self, is_only: bool) -> usize {
        if is_only {
            self.arriving
        } else {
            self.arriving - self.arriving / 4
        }
    }

    /// How many connections one address may have.
    pub(crate) fn per_address(&self) -> usize {
        let most = self.connections_per_address;
        most.unwrap_or(self.connections - self.connections / 4)
    }

    /// Sets how many HTTP/2 streams a connection may have open at once; 100 by default.
    pub fn streams(mut self, streams: u32) -> Self {
        self.streams = streams;
        self
    }

    /// Sets how long a TLS handshake may take; 5 seconds by default.
    pub fn handshake(mut self, time: Duration) -> Self {
        self.handshake = time;
        self
    }

    /// Sets how long the headers of a request may take from their first byte on; 2 seconds by default.
    pub fn header_time(mut self, time: Duration) -> Self {
        self.header_time = time;
        self
    }

    /// Sets how long a request's body may take, waiting for room included; 10 seconds by default.
    ///
    /// That is what an API server waits for a webhook's whole answer unless told otherwise.
    pub fn body_time(mut self, time: Duration) -> Self {
        self.body_time = time;
        self
    }

    /// Sets how long a client may refuse to take bytes of its answers; 30 seconds by default.
    pub fn send_time(mut self, time: Duration) -> Self {
        self.send_time = time;
        self
    }

    /// Sets how long a connection may be without a call; 3 minutes by default.
    ///
    /// It has to be longer than the 90 seconds after which the API server closes an idle connection itself: the side that
    /// closes first may cut off a call that the other side is just sending.
    pub fn idle(mut self, time: Duration) -> Self {
        self.idle = time;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_clients_can_make_the_server_hold_is_below_two_thirds_of_its_memory() {
        for memory in [96, 128, 256, 512].map(|size| size * MIB) {
            let limits = Limits::within(memory);
            let held = limits.connections * CONNECTION
                + limits.bodies_in_flight
                + limits.small_bodies
                + limits.arriving * FREE;
            assert!(held <= memory / 3 * 2, "{held} of {memory}");
            assert!(limits.body <= limits.bodies_in_flight);
        }
        assert_eq!(Limits::within(128 * MIB).connections, 614);
        assert_eq!(Limits::within(usize::MAX).connections, 8192);
    }

    #[test]
    fn one_address_leaves_a_quarter_of_the_connections_to_others() {
        assert_eq!(Limits::default().connections(100).per_address(), 75);
        assert_eq!(Limits::default().connections(1).per_address(), 1);
        let limits = Limits::default().connections_per_address(7);
        assert_eq!(limits.per_address(), 7);
    }
}
