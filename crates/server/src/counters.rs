//! What a server has seen, as plain numbers that a metrics system can read.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a server. Clones share them.
///
/// ```
/// use kubewright_certificates::SelfSigned;
/// use kubewright_server::{Counters, Server};
/// use tower::service_fn;
#[doc = include_str!("client.md")]
///
/// /// Writes one metric in the format of Prometheus.
/// fn page(counters: &Counters) -> String {
///     format!("calls_total {}\n", counters.read().calls)
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let server = Server::new(service_fn(echo), SelfSigned::for_names(["localhost"])).listen(([127, 0, 0, 1], 0)).bind().await?;
/// let counters = server.counters();
/// ask(server, get("/")).await?;
/// assert_eq!(page(&counters), "calls_total 1\n");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Counters {
    cells: Arc<Cells>,
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $name:ident,)+) => {
        /// The counters at one moment. All but `connections_open` and `calls_in_flight` only grow.
        ///
        /// ```
        /// use std::convert::Infallible;
        /// use http::{Request, Response};
        /// use http_body_util::Full;
        /// use hyper::body::Bytes;
        /// use kubewright_certificates::SelfSigned;
        /// use kubewright_server::{Body, Counts, Server};
        #[doc = include_str!("client.md")]
        ///
        /// # #[tokio::main(flavor = "current_thread")]
        /// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        /// async fn faulty(_: Request<Body>) -> Result<Response<Full<Bytes>>, Infallible> {
        ///     panic!("a bug of the service")
        /// }
        ///
        /// let server = Server::new(tower::service_fn(faulty), SelfSigned::for_names(["localhost"]))
        ///     .listen(([127, 0, 0, 1], 0))
        ///     .bind()
        ///     .await?;
        /// let counters = server.counters();
        /// assert_eq!(ask(server, get("/")).await?.status(), 500);
        /// let Counts { calls, panics, .. } = counters.read();
        /// assert_eq!((calls, panics), (1, 1));
        /// # Ok(())
        /// # }
        /// ```
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Counts {
            $($(#[doc = $doc])+ pub $name: u64,)+
        }

        #[derive(Debug, Default)]
        struct Cells {
            $($name: AtomicU64,)+
        }

        /// The name of one counter.
        #[derive(Clone, Copy, Debug)]
        #[expect(non_camel_case_types, reason = "the names are those of the fields of `Counts`")]
        pub(crate) enum Counter {
            $($name,)+
        }

        impl Counters {
            /// Returns the counters at this moment.
            pub fn read(&self) -> Counts {
                Counts { $($name: self.cells.$name.load(Ordering::Relaxed),)+ }
            }

            fn cell(&self, counter: Counter) -> &AtomicU64 {
                match counter {
                    $(Counter::$name => &self.cells.$name,)+
                }
            }
        }
    };
}

counters! {
    /// Connections that are open now, handshakes in progress included.
    connections_open,
    /// Connections that were accepted.
    connections_accepted,
    /// Connections that were closed at once because there were too many.
    connections_refused,
    /// Connections that were closed to make room for others: they had never made a call, or were idle.
    connections_evicted,
    /// Connections that were cut because a request's headers took too long.
    connections_slow_headers,
    /// Connections that were cut because the client did not take its answers.
    connections_stalled,
    /// Connections that were cut because of a flood of HTTP/2 control frames.
    connections_flooding,
    /// Connections that were told to close because they were idle.
    connections_idle,
    /// Connections that were told to close because they had never made a call.
    connections_unused,
    /// Attempts to accept a connection that failed, as when the process has no file descriptors left.
    accept_failures,
    /// TLS handshakes that failed.
    handshakes_failed,
    /// TLS handshakes that were cut because they took too long.
    handshakes_slow,
    /// Calls that came in, refused ones included, health checks not.
    calls,
    /// Calls that are in flight now.
    calls_in_flight,
    /// Calls that were refused because there were too many, or no room for their bodies.
    calls_refused,
    /// Calls that were refused because their client was not believed.
    clients_refused,
    /// Calls that would have been refused if clients were not only observed.
    clients_observed,
    /// Authorities of clients that replaced earlier ones.
    client_authorities_replaced,
    /// Calls whose body was over the limit.
    bodies_too_large,
    /// Calls whose body took too long.
    bodies_too_slow,
    /// Calls whose service has panicked.
    panics,
    /// Calls that were answered with 503 because the grace ended.
    calls_cut,
    /// Identities that replaced an earlier one.
    identities_replaced,
    /// Errors of the source of identities.
    identity_failures,
}

impl Counters {
    pub(crate) fn count(&self, counter: Counter) {
        self.cell(counter).fetch_add(1, Ordering::Relaxed);
    }

    /// Counts something that is there until the guard is dropped.
    pub(crate) fn hold(&self, counter: Counter) -> Held {
        self.count(counter);
        Held {
            counters: self.clone(),
            counter,
        }
    }
}

/// Takes its count back when it is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    counters: Counters,
    counter: Counter,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.counters
            .cell(self.counter)
            .fetch_sub(1, Ordering::Relaxed);
    }
}
