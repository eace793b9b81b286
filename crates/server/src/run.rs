//! A running server: accepting, following its certificates, and stopping in phases.

use std::fmt;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use http::{Request, Response};
use kubewright_certificates::CertificateSource;
use tokio::net::TcpStream;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;
use tower::Service;

use crate::accept::Acceptor;
use crate::call::BoxError;
use crate::clients::LiveClients;
use crate::counters::{Counter, Counters};
use crate::crowd::{Crowd, Room};
use crate::drain::Phase;
use crate::health::Health;
use crate::place::Places;
use crate::watchdog::Progress;
use crate::{Body, Condition, Drain, Limits, LiveIdentity, RunError, connection};

/// Bodies are accounted for in these, so that the largest budget fits the semaphore's numbers.
const BODY_UNIT: usize = 1024;

/// For so long after it has refused a connection the server is not ready.
const CROWDED: Duration = Duration::from_secs(5);

/// What all connections of a server share.
pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    pub(crate) health: Health,
    pub(crate) answers_probes: bool,
    pub(crate) tls: TlsAcceptor,
    pub(crate) clients: Option<Arc<LiveClients>>,
    pub(crate) places: Places,
    pub(crate) bodies: Arc<Semaphore>,
    /// When a connection was last refused for want of room.
    crowded: Arc<Mutex<Option<Instant>>>,
    /// Tells the calls in flight that the grace ends.
    pub(crate) end: Notify,
    phase: AtomicU8,
}

impl Shared {
    pub(crate) fn new(
        limits: Limits,
        health: Health,
        answers_probes: bool,
        tls: TlsAcceptor,
        clients: Option<Arc<LiveClients>>,
    ) -> Self {
        let crowded: Arc<Mutex<Option<Instant>>> = Arc::default();
        let refused_at = Arc::clone(&crowded);
        health.readiness.check("connections", move || {
            let at = *refused_at.lock().unwrap_or_else(PoisonError::into_inner);
            at.is_none_or(|at| at.elapsed() >= CROWDED)
        });
        Self {
            crowded,
            places: Places::default(),
            bodies: Arc::new(Semaphore::new(limits.bodies_in_flight.div_ceil(BODY_UNIT))),
            counters: Counters::default(),
            end: Notify::new(),
            phase: AtomicU8::new(Phase::Serving as u8),
            limits,
            health,
            answers_probes,
            tls,
            clients,
        }
    }

    fn refuses(&self) {
        self.counters.count(Counter::connections_refused);
        *self.crowded.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    pub(crate) fn phase(&self) -> Phase {
        let phase = self.phase.load(Ordering::Acquire);
        [Phase::Serving, Phase::Draining, Phase::Closing]
            .into_iter()
            .find(|known| *known as u8 == phase)
            .unwrap_or(Phase::Cutting)
    }

    /// How much of the budget for bodies these bytes take. A body never takes more than there is, or it would wait for
    /// ever.
    pub(crate) fn body_units(&self, bytes: usize) -> u32 {
        let units = bytes
            .div_ceil(BODY_UNIT)
            .min(self.limits.bodies_in_flight.div_ceil(BODY_UNIT));
        u32::try_from(units).unwrap_or(u32::MAX)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}

/// What it takes to run.
pub(crate) struct Runner<S> {
    pub(crate) acceptor: Acceptor,
    pub(crate) service: S,
    pub(crate) shared: Arc<Shared>,
    pub(crate) serving: Condition,
    pub(crate) drain: Drain,
    pub(crate) phase: watch::Sender<Phase>,
    pub(crate) connections: JoinSet<()>,
    pub(crate) crowd: Crowd,
}

impl<S, B> Runner<S>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    pub(crate) async fn run(
        mut self,
        shutdown: impl Future<Output = Instant>,
    ) -> Result<(), RunError> {
        self.serving.set(true);
        let start = self.accept_until(shutdown).await;

        let cut = start + self.drain.cut();
        self.serving.set(false);
        self.enter(Phase::Draining);
        self.accept_until(tokio::time::sleep_until(
            cut.min(start + self.drain.propagation),
        ))
        .await;

        let Self {
            acceptor,
            service,
            shared,
            phase,
            mut connections,
            drain,
            ..
        } = self;
        enter(&shared, &phase, Phase::Closing);
        for stream in acceptor.close() {
            let progress = Arc::default();
            connections.spawn(admit(stream, progress, &service, &shared, &phase));
        }
        if all_done(&mut connections, cut).await {
            return Ok(());
        }
        let calls = shared.counters.read().calls_in_flight;
        enter(&shared, &phase, Phase::Cutting);
        shared.end.notify_waiters();
        let is_done = all_done(&mut connections, start + drain.grace).await;
        connections.shutdown().await;
        if is_done && calls == 0 {
            Ok(())
        } else {
            Err(RunError::GraceExceeded { calls })
        }
    }

    async fn accept_until<T>(&mut self, end: impl Future<Output = T>) -> T {
        let mut end = std::pin::pin!(end);
        loop {
            // Dropping the other two loses nothing: they keep what they wait for.
            tokio::select! {
                // Those that have ended are counted out first, so that a rush of short connections is not refused for them.
                biased;
                end = &mut end => return end,
                Some(ended) = self.connections.join_next_with_id() => {
                    self.crowd.leave(ended.map_or_else(|error| error.id(), |(id, ())| id));
                }
                (stream, from) = self.acceptor.accept() => self.admit(stream, from),
            }
        }
    }

    fn admit(&mut self, stream: TcpStream, from: IpAddr) {
        match self.crowd.make_room(from, &self.shared.limits) {
            Room::Free => {}
            Room::Made => self.shared.counters.count(Counter::connections_evicted),
            Room::None => return self.shared.refuses(),
        }
        let progress = Arc::<Progress>::default();
        let watched = Arc::clone(&progress);
        let connection = admit(stream, progress, &self.service, &self.shared, &self.phase);
        let task = self.connections.spawn(connection);
        self.crowd.join(from, watched, task);
    }

    fn enter(&self, phase: Phase) {
        enter(&self.shared, &self.phase, phase);
    }
}

fn admit<S, B>(
    stream: TcpStream,
    progress: Arc<Progress>,
    service: &S,
    shared: &Arc<Shared>,
    phase: &watch::Sender<Phase>,
) -> impl Future<Output = ()> + Send + use<S, B>
where
    S: Service<Request<Body>, Response = Response<B>, Error: Into<BoxError>>
        + Clone
        + Send
        + 'static,
    S::Future: Send,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    shared.counters.count(Counter::connections_accepted);
    let open = shared.counters.hold(Counter::connections_open);
    let (service, shared, phase) = (service.clone(), Arc::clone(shared), phase.subscribe());
    async move {
        connection::serve(stream, service, shared, progress, phase).await;
        drop(open);
    }
}

fn enter(shared: &Shared, sender: &watch::Sender<Phase>, phase: Phase) {
    shared.phase.store(phase as u8, Ordering::Release);
    sender.send_replace(phase);
}

/// Whether all connections have ended before the deadline.
async fn all_done(connections: &mut JoinSet<()>, deadline: Instant) -> bool {
    let all = async { while connections.join_next().await.is_some() {} };
    tokio::time::timeout_at(deadline, all).await.is_ok()
}

/// Serves each identity that the source yields, and keeps the last one when it fails.
pub(crate) async fn follow(
    mut source: impl CertificateSource,
    live: LiveIdentity,
    counters: Counters,
) {
    const SHORTEST_PAUSE: Duration = Duration::from_secs(1);
    const LONGEST_PAUSE: Duration = Duration::from_mins(1);
    let mut pause = SHORTEST_PAUSE;
    loop {
        match source.next().await {
            Ok(identity) => {
                tracing::info!(expires = ?identity.expires(), "serving a new certificate");
                live.replace(identity);
                counters.count(Counter::identities_replaced);
                pause = SHORTEST_PAUSE;
            }
            Err(error) => {
                let cause = std::error::Error::source(&error).map(ToString::to_string);
                tracing::warn!(%error, cause, "no new certificate; the last one stays in use");
                counters.count(Counter::identity_failures);
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}
