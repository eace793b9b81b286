//! The state that all connections of a server share.

use std::fmt;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, Semaphore};
use tokio::time::{Duration, Instant};
use tokio_rustls::TlsAcceptor;

use crate::Limits;
use crate::clients::LiveClients;
use crate::counters::{Counter, Counters};
use crate::drain::Phase;
use crate::health::Health;

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

/// How many calls are in flight, by what they wait for, and what the bodies of the small ones take.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// Requests whose bodies have not arrived completely. Slow clients do not count against the others.
    pub(crate) arriving: AtomicUsize,
    /// Calls that are worked on.
    pub(crate) working: AtomicUsize,
    /// The bytes of bodies that have asked for no room.
    pub(crate) small_bodies: AtomicUsize,
}
