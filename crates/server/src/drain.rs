//! How a server stops, and the phases it goes through.

use std::time::Duration;

/// How a server stops without losing a call.
///
/// When it is told to stop, readiness fails first, and connections that are kept alive are told to close. For the
/// *propagation* time new connections and calls are still served: it takes a while until every client knows that this
/// replica is going away. Then the listener closes, and calls in flight are finished, whatever time they take inside
/// the *grace*, which counts from the start. Shortly before the grace ends, the calls that are left are answered with 503.
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
    /// Sets the time for everything together; 30 seconds unless set, which is a pod's default.
    pub fn grace(mut self, grace: Duration) -> Self {
        self.grace = grace;
        self
    }

    /// Sets how long new calls are still served; 5 seconds unless set.
    pub fn propagation(mut self, propagation: Duration) -> Self {
        self.propagation = propagation;
        self
    }

    /// Returns the time for everything together.
    pub fn longest(&self) -> Duration {
        self.grace
    }

    /// When the calls that are left are answered with 503, counted from the start: early enough to write the answers.
    pub(crate) fn cut(&self) -> Duration {
        self.grace
            .saturating_sub((self.grace / 10).min(Duration::from_secs(1)))
    }
}

/// Where a server is between serving and having stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Nobody has asked to stop.
    Serving,
    /// Not ready any more; connections are told to close, new ones are still served.
    Draining,
    /// Nothing new is accepted; calls in flight are finished.
    Closing,
    /// The grace is nearly over; calls in flight are answered with 503.
    Cutting,
}
