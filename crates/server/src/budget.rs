//! What the calls of a server have together: places, and bytes for their bodies.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use tokio::sync::Semaphore;

use crate::Limits;
use crate::counters::Counters;

/// Bodies are accounted for in these, so that the largest budget fits the semaphore's numbers.
const BODY_UNIT: usize = 1024;

/// The budget of all calls together.
pub(crate) struct Budget {
    pub(crate) limits: Limits,
    pub(crate) counters: Counters,
    pub(crate) places: Places,
    pub(crate) bodies: Arc<Semaphore>,
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

impl Budget {
    pub(crate) fn new(limits: Limits, counters: Counters) -> Self {
        Self {
            bodies: Arc::new(Semaphore::new(limits.bodies_in_flight.div_ceil(BODY_UNIT))),
            places: Places::default(),
            limits,
            counters,
        }
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

impl fmt::Debug for Budget {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Budget")
            .field("limits", &self.limits)
            .field("counters", &self.counters)
            .finish_non_exhaustive()
    }
}
