//! The state that all connections of a server share.

use std::fmt;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;
use tokio::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;

use crate::Limits;
use crate::budget::Budget;
use crate::clients::LiveClients;
use crate::counters::{Counter, Counters};
use crate::drain::Phase;
use crate::health::Health;

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
    pub(crate) budget: Arc<Budget>,
    /// When a connection was last refused for want of room.
    crowded: Arc<Mutex<Option<Instant>>>,
    /// Tells the calls in flight that the grace ends.
    pub(crate) end: Notify,
    pub(crate) phase: AtomicU8,
}

impl Shared {
    pub(crate) fn new(
        limits: Limits,
        health: Health,
        answers_probes: bool,
        tls: TlsAcceptor,
        clients: Option<Arc<LiveClients>>,
    ) -> Self {
        let counters = Counters::default();
        let crowded: Arc<Mutex<Option<Instant>>> = Arc::default();
        let refused_at = Arc::clone(&crowded);
        health.readiness.check("connections", move || {
            let at = *refused_at.lock().unwrap_or_else(PoisonError::into_inner);
            at.is_none_or(|at| at.elapsed() >= CROWDED)
        });
        Self {
            crowded,
            budget: Arc::new(Budget::new(limits.clone(), counters.clone())),
            counters,
            end: Notify::new(),
            phase: AtomicU8::new(Phase::Serving as u8),
            limits,
            health,
            answers_probes,
            tls,
            clients,
        }
    }

    pub(crate) fn refuses(&self) {
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
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
