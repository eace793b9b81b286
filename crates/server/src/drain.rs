//! How a server stops, and the phases it goes through.

use std::time::Duration;

/// How a server shuts down without losing a call.
///
/// When its shutdown begins, readiness fails first, and clients are asked to close idle connections. For the
/// *propagation* time new connections and calls are still served: it takes a while until every client knows that this
/// replica is going away. Then the listener closes, and calls in flight are finished, for as long as the *grace* allows, which
/// counts from the start. Shortly before the grace ends, the calls that are left are answered with 503.
///
/// ```
/// use std::{convert::Infallible, time::Duration};
/// use http::{Request, Response};
/// use http_body_util::Full;
/// use hyper::body::Bytes;
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Body, Drain, Server};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let hello = tower::service_fn(async |_: Request<Body>| {
///     Ok::<_, Infallible>(Response::new(Full::new(Bytes::from_static(b"hello"))))
/// });
/// let server = Server::new(hello, SelfSigned::for_names(["localhost"]))
///     .listen(([127, 0, 0, 1], 0))
///     .drain(Drain::default().propagation(Duration::from_millis(50)))
///     .bind()
///     .await?;
/// let start = std::time::Instant::now();
/// server.run(async {}).await?; // The shutdown begins at once.
/// assert!(start.elapsed() >= Duration::from_millis(50));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Drain {
    pub(crate) grace: Duration,
    pub(crate) propagation: Duration,
}

impl Default for Drain {
    fn default() -> Self {
        Self {
            grace: Duration::from_secs(30),
            propagation: Duration::from_secs(5),
        }
    }
}

impl Drain {
    /// Sets the time for all of the shutdown. The default is 30 s, as the grace period of a Pod.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_server::Drain;
    ///
    /// assert_eq!(Drain::default().longest(), Duration::from_secs(30));
    /// assert_eq!(Drain::default().grace(Duration::from_secs(10)).longest(), Duration::from_secs(10));
    /// ```
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long new calls are still served while endpoints propagate. The default is 5 s. It is part of the
    /// [grace](Self::grace).
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_server::Drain;
    ///
    /// // For a test, or where no load balancer has to learn of the shutdown.
    /// let drain = Drain::default().propagation(Duration::ZERO);
    /// assert_eq!(drain.longest(), Duration::from_secs(30));
    /// ```
    pub fn propagation(mut self, propagation: Duration) -> Self {
        self.propagation = propagation;
        self
    }

    /// Returns the longest time that a shutdown can take, which is the grace.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_server::Drain;
    ///
    /// let drain = Drain::default().grace(Duration::from_secs(20));
    /// // The kubelet has to wait longer than the server.
    /// let termination_grace_period = drain.longest() + Duration::from_secs(5);
    /// assert_eq!(termination_grace_period, Duration::from_secs(25));
    /// ```
    pub fn longest(&self) -> Duration {
        self.grace
    }

    /// When the calls that are left are answered with 503, counted from the start: early enough to write the answers.
    pub(crate) fn cut(&self) -> Duration {
        self.grace
            .saturating_sub((self.grace / 10).min(Duration::from_secs(1)))
    }
}

/// Phase of a server, from serving to the end of its shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// The shutdown has not been requested.
    Serving,
    /// The server is no longer ready; it tells clients to close their connections, and still serves new ones.
    Draining,
    /// The server accepts no new connections, and finishes the calls in flight.
    Closing,
    /// The grace period is nearly over; the server answers the calls in flight with 503.
    Cutting,
}
