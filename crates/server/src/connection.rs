//! One connection: the handshake, the protocol, and its end.

use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Duration, Instant};
use tokio_rustls::server::TlsStream;
use tower::Service;

use crate::call;
use crate::clients::Caller;
use crate::counters::Counter;
use crate::drain::Phase;
use crate::frames::Frames;
use crate::limited::BoxError;
use crate::limits::FREE;
use crate::meter::{Metered, Protocol};
use crate::shared::Shared;
use crate::watchdog::{Alarm, Progress, Watchdog};
use crate::{Body, Limits};

/// How long a connection that was told to close may still be open without a call.
const FAREWELL: Duration = Duration::from_secs(10);

/// The same for one that has never made a call: its client has seconds for one that is on its way.
const FAREWELL_UNUSED: Duration = Duration::from_secs(2);

/// What HTTP/2 can say (RFC 9113, 6.9.1).
const LARGEST_WINDOW: u32 = (1 << 31) - 1;

/// Serves one connection to its end.
pub(crate) async fn serve<S, B>(
    stream: TcpStream,
    service: S,
    server: Arc<Shared>,
    progress: Arc<Progress>,
    phase: watch::Receiver<Phase>,
) where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    // On the heap, like the connection: a task that held both would be large for as long as its client stays.
    let Some(tls) = Box::pin(handshake(stream, &server)).await else {
        return;
    };
    let is_http2 = tls.get_ref().1.alpn_protocol() == Some(b"h2");
    let protocol = if is_http2 {
        Protocol::Http2(Frames::new())
    } else {
        Protocol::Http1
    };
    let caller = server.clients.is_some().then(|| {
        let shown = tls.get_ref().1.peer_certificates();
        Arc::new(Caller::showing(shown.unwrap_or_default()))
    });
    let io = TokioIo::new(Metered::new(tls, protocol, Arc::clone(&progress)));
    let calls = {
        let (server, progress) = (Arc::clone(&server), Arc::clone(&progress));
        service_fn(move |request: Request<Incoming>| {
            call::answer(
                Arc::clone(&server),
                Arc::clone(&progress),
                caller.clone(),
                service.clone(),
                request,
            )
        })
    };
    let guide = Guide {
        is_http2,
        phase,
        progress,
        established: Instant::now(),
        is_told: false,
    };
    if is_http2 {
        let connection = http2_builder(&server.limits).serve_connection(io, calls);
        guide.drive(Box::pin(connection), &server).await;
    } else {
        let connection = http1_builder().serve_connection(io, calls);
        guide.drive(Box::pin(connection), &server).await;
    }
}

async fn handshake(stream: TcpStream, server: &Shared) -> Option<TlsStream<TcpStream>> {
    // Answers are small and written at once: waiting for more to send would only delay them.
    let _ = stream.set_nodelay(true);
    let handshake = tokio::time::timeout(server.limits.handshake, server.tls.accept(stream));
    match handshake.await {
        Ok(Ok(tls)) => return Some(tls),
        Ok(Err(error)) => {
            server.counters.count(Counter::handshakes_failed);
            tracing::debug!(%error, "a TLS handshake failed");
        }
        Err(_) => server.counters.count(Counter::handshakes_slow),
    }
    None
}

fn http1_builder() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // hyper's own deadline for headers also ends connections that are merely idle; the watchdog tells them apart.
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(None)
        .max_header_size(64 * 1024);
    builder
}

fn http2_builder(limits: &Limits) -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    // Bodies that wait for room leave unread what their streams may hold. A connection holds that of all its streams, or
    // those that wait would keep the one that has room from ever arriving.
    let stream = u32::try_from(FREE).unwrap_or(u32::MAX);
    let connection = stream
        .saturating_mul(limits.streams)
        .clamp(stream, LARGEST_WINDOW);
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .initial_stream_window_size(stream)
        .initial_connection_window_size(connection)
        .max_pending_accept_reset_streams(20)
        .max_local_error_reset_streams(Some(100))
        .max_send_buf_size(256 * 1024);
    builder
}

/// A connection of either protocol.
trait Connection: Future<Output = hyper::Result<()>> {
    /// Tells the client that it should send no more calls, and ends when those in flight are answered.
    fn tell_to_close(self: Pin<&mut Self>);
}

impl<I, B, S> Connection for http1::Connection<I, S>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<BoxError>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: http_body::Body + 'static,
    B::Error: Into<BoxError>,
{
    fn tell_to_close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<I, B, S, E> Connection for http2::Connection<I, S, E>
where
    S: hyper::service::HttpService<Incoming, ResBody = B>,
    S::Error: Into<BoxError>,
    I: hyper::rt::Read + hyper::rt::Write + Unpin,
    B: http_body::Body + 'static,
    B::Error: Into<BoxError>,
    E: hyper::rt::bounds::Http2ServerConnExec<S::Future, B>,
{
    fn tell_to_close(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// What one wake-up of a connection has led to.
enum Event {
    Done(hyper::Result<()>),
    Tell,
    Alarm(Alarm),
}

/// Guides a connection through deadlines and the phases of the drain.
struct Guide {
    is_http2: bool,
    phase: watch::Receiver<Phase>,
    progress: Arc<Progress>,
    established: Instant,
    is_told: bool,
}

impl Guide {
    async fn drive<C: Connection>(mut self, mut connection: Pin<Box<C>>, server: &Shared) {
        let mut watchdog = Watchdog::new(server.limits.clone());
        let mut phase = *self.phase.borrow_and_update();
        loop {
            self.give_first_call_its_time(phase, &mut watchdog, &server.limits);
            let event = {
                let (told, progress) = (self.is_told, &self.progress);
                let is_http2 = self.is_http2;
                let poll = std::future::poll_fn(|cx| {
                    if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
                        return Poll::Ready(Event::Done(outcome));
                    }
                    if !told && is_time_to_tell(phase, is_http2, progress) {
                        return Poll::Ready(Event::Tell);
                    }
                    watchdog.poll(progress, cx).map(Event::Alarm)
                });
                tokio::select! {
                    // Both can be dropped at any time: the first keeps its state in the connection, the second in the
                    // channel.
                    biased;
                    event = poll => event,
                    _ = self.phase.changed() => {
                        phase = *self.phase.borrow_and_update();
                        continue;
                    }
                }
            };
            match event {
                Event::Done(outcome) => {
                    if self.progress.is_flooded() {
                        server.counters.count(Counter::connections_flooding);
                    }
                    if let Err(error) = outcome {
                        tracing::debug!(%error, "a connection ended early");
                    }
                    return;
                }
                Event::Tell => self.tell(connection.as_mut(), &mut watchdog, FAREWELL),
                Event::Alarm(Alarm::Overdue) if self.progress.lingers() => return,
                Event::Alarm(Alarm::Idle | Alarm::Overdue) if !self.is_told => {
                    if phase == Phase::Serving {
                        server.counters.count(Counter::connections_idle);
                    }
                    self.tell(connection.as_mut(), &mut watchdog, FAREWELL);
                }
                Event::Alarm(Alarm::Unused) if !self.is_told => {
                    server.counters.count(Counter::connections_unused);
                    self.tell(connection.as_mut(), &mut watchdog, FAREWELL_UNUSED);
                }
                Event::Alarm(Alarm::Unused) => {}
                // A call that is in flight is finished, whatever time that takes; the grace has the last word.
                Event::Alarm(Alarm::Idle | Alarm::Overdue) if !self.progress.is_idle() => {
                    watchdog.overdue_in(FAREWELL);
                }
                Event::Alarm(Alarm::Idle | Alarm::Overdue) => return,
                Event::Alarm(Alarm::SlowHeaders) => {
                    return server.counters.count(Counter::connections_slow_headers);
                }
                Event::Alarm(Alarm::Stalled) => {
                    return server.counters.count(Counter::connections_stalled);
                }
            }
        }
    }

    fn tell<C: Connection>(
        &mut self,
        connection: Pin<&mut C>,
        watchdog: &mut Watchdog,
        farewell: Duration,
    ) {
        self.is_told = true;
        connection.tell_to_close();
        watchdog.overdue_in(farewell);
    }

    /// Gives a client that connected just before the listener closed the time to make its first call.
    fn give_first_call_its_time(&self, phase: Phase, watchdog: &mut Watchdog, limits: &Limits) {
        if phase >= Phase::Closing && !self.is_told && !self.progress.has_begun() {
            let age = Instant::now() - self.established;
            watchdog.overdue_in(
                limits
                    .header_time
                    .saturating_sub(age)
                    .max(limits.header_time / 2),
            );
        }
    }
}

/// Whether it is time to tell the client that the connection closes.
///
/// An HTTP/2 client can be told at any time: the server still answers the calls that it makes meanwhile. An HTTP/1.1
/// connection can only be closed between two calls, and the next one may be on its way: a header of the next response tells
/// the client, and the server closes the connection without that header only at the end.
fn is_time_to_tell(phase: Phase, is_http2: bool, progress: &Progress) -> bool {
    let earliest = if is_http2 {
        Phase::Draining
    } else {
        Phase::Closing
    };
    phase >= earliest && progress.has_begun() && (is_http2 || !progress.is_head_open())
}
