//! A running server: accepting, following its certificates, and stopping in phases.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Request, Response};
use kubewright_certificates::{AnySource, CertificateSource as _};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Duration, Instant};
use tower::Service;

use crate::accept::Acceptor;
use crate::counters::{Counter, Counters};
use crate::crowd::{Crowd, Room};
use crate::drain::Phase;
use crate::limited::BoxError;
use crate::shared::Shared;
use crate::watchdog::Progress;
use crate::{Body, Condition, Drain, LiveIdentity, RunError, connection};

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
pub(crate) async fn follow(mut source: AnySource, live: LiveIdentity, counters: Counters) {
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
