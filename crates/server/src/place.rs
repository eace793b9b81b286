//! The place of a call among those in flight: whether it may be worked on, and what its body takes.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use http::{Request, StatusCode};
use http_body::Body;
use tokio::sync::OwnedSemaphorePermit;

use crate::Limits;
use crate::budget::Budget;
use crate::limits::FREE;

/// The place of one call. It is kept until the call is done, not only until its body is read: the service still has the
/// bytes.
pub(crate) struct Place {
    budget: Arc<Budget>,
    stage: AtomicU8,
    awaits_client: AtomicBool,
    small_body: AtomicUsize,
    /// The room that the body may come to need.
    units: u32,
    room: OnceLock<OwnedSemaphorePermit>,
    cut: OnceLock<(StatusCode, String)>,
}

const ARRIVING: u8 = 0;
const WORKING: u8 = 1;
const LEFT: u8 = 2;

impl Place {
    /// The place of a call that comes in, unless there are too many. The only call of its connection has a place where one
    /// of many has none any more.
    pub(crate) fn of<B: Body>(
        request: &Request<B>,
        is_only: bool,
        budget: &Arc<Budget>,
    ) -> Option<Arc<Self>> {
        let Budget { places, limits, .. } = &**budget;
        let is_whole = request.body().is_end_stream();
        let (counter, limit, stage) = if is_whole {
            (&places.working, limits.calls, WORKING)
        } else {
            (&places.arriving, limits.arriving(is_only), ARRIVING)
        };
        take(counter, 1, limit).then(|| {
            let length = request.body().size_hint().upper();
            let bytes = length.map_or(limits.body, |length| {
                usize::try_from(length).unwrap_or(limits.body)
            });
            Arc::new(Self {
                units: budget.body_units(bytes.min(limits.body)),
                budget: Arc::clone(budget),
                stage: AtomicU8::new(stage),
                awaits_client: AtomicBool::new(false),
                small_body: AtomicUsize::new(0),
                room: OnceLock::new(),
                cut: OnceLock::new(),
            })
        })
    }

    /// Whether the call may be worked on, now that its body is there or its service does not wait for it.
    pub(crate) fn may_work(&self) -> bool {
        let places = &self.budget.places;
        if self.stage.load(Ordering::Relaxed) != ARRIVING {
            return true;
        }
        if !take(&places.working, 1, self.budget.limits.calls) {
            return false;
        }
        self.stage.store(WORKING, Ordering::Relaxed);
        places.arriving.fetch_sub(1, Ordering::Relaxed);
        true
    }

    /// Notes whether the service waits for the client to send more of the body.
    pub(crate) fn set_awaits_client(&self, awaits: bool) {
        self.awaits_client.store(awaits, Ordering::Relaxed);
    }

    pub(crate) fn awaits_client(&self) -> bool {
        self.awaits_client.load(Ordering::Relaxed)
    }

    /// Takes bytes for a body that has not asked for room, if the small bodies of all calls leave any.
    pub(crate) fn take_small(&self, bytes: usize) -> bool {
        let limit = small_bodies(&self.budget.limits);
        let has_taken = take(&self.budget.places.small_bodies, bytes, limit);
        if has_taken {
            self.small_body.fetch_add(bytes, Ordering::Relaxed);
        }
        has_taken
    }

    /// Whether bodies without room have half of the memory that there is for them.
    pub(crate) fn small_bodies_are_half_full(&self) -> bool {
        let taken = self.budget.places.small_bodies.load(Ordering::Relaxed);
        taken >= small_bodies(&self.budget.limits) / 2
    }

    pub(crate) fn units(&self) -> u32 {
        self.units
    }

    pub(crate) fn has_room(&self) -> bool {
        self.room.get().is_some()
    }

    pub(crate) fn give_room(&self, room: OwnedSemaphorePermit) {
        // This is the only place that sets it: a call has one body.
        let _ = self.room.set(room);
        self.return_small();
    }

    /// Notes that the server has cut the body, and what the client is to read about it.
    pub(crate) fn cut(&self, status: StatusCode, sentence: String) {
        let _ = self.cut.set((status, sentence));
    }

    /// Why the server has cut the body.
    pub(crate) fn why_cut(&self) -> Option<&(StatusCode, String)> {
        self.cut.get()
    }

    fn return_small(&self) {
        let bytes = self.small_body.swap(0, Ordering::Relaxed);
        let places = &self.budget.places;
        places.small_bodies.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// Leaves the place to the next call. A service may still have the body: it will have no more of it.
    pub(crate) fn leave(&self) {
        let places = &self.budget.places;
        match self.stage.swap(LEFT, Ordering::Relaxed) {
            ARRIVING => places.arriving.fetch_sub(1, Ordering::Relaxed),
            WORKING => places.working.fetch_sub(1, Ordering::Relaxed),
            _ => return,
        };
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.leave();
        self.return_small();
    }
}

/// As much as if every call that may be worked on had a body of what is free, as far as there is memory for that.
fn small_bodies(limits: &Limits) -> usize {
    limits.calls.saturating_mul(FREE).min(limits.small_bodies)
}

fn take(counter: &AtomicUsize, amount: usize, limit: usize) -> bool {
    let before = counter.fetch_add(amount, Ordering::Relaxed);
    let is_within = before.saturating_add(amount) <= limit;
    if !is_within {
        counter.fetch_sub(amount, Ordering::Relaxed);
    }
    is_within
}
