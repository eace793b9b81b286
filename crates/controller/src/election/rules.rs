//! The rules of an election as a value: what one candidate knows, and what it does next. It has no clock and no network.
//!
//! Two rules make two leaders at once impossible, whichever requests and responses are lost:
//!
//! * A leader leads until its *renew deadline* has passed since it **sent** the last renewal that was stored.
//! * A candidate takes a Lease that names another holder only after the *lease duration*, which is longer, has passed since
//!   the candidate **saw** that state of the Lease, and only if the Lease is still in that state when the API server stores
//!   the new holder.
//!
//! What a candidate saw was stored before it saw it, and sent before it was stored. Each side measures by its own monotonic
//! clock; times of day are never compared.

use std::time::Duration;

/// The time since some moment of a candidate's own clock.
pub(crate) type Moment = Duration;

/// The times of an election.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Timing {
    /// How long others wait for a leader to renew.
    pub(crate) lease: Duration,
    /// How long a leader leads without having renewed.
    pub(crate) renew_deadline: Duration,
    /// How long after a renewal, or a failed attempt, the next one comes.
    pub(crate) retry: Duration,
}

/// What one candidate knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Rules<V> {
    timing: Timing,
    lease: Lease<V>,
    /// Until when it leads.
    leads_until: Option<Moment>,
    /// No attempt before.
    pause: Moment,
}

/// What a candidate knows of the Lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lease<V> {
    /// The last known state; `None` if the Lease does not exist.
    version: Option<V>,
    /// Whether the candidate has to read the Lease before it relies on `version`.
    is_doubtful: bool,
    holder: Holder,
    /// Until when the holder that the candidate last saw may lead, if that is another candidate.
    held_until: Moment,
}

/// Who holds a Lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// `holderIdentity` is empty.
    Vacant,
    Myself,
    Other,
}

/// A state of the Lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seen<V> {
    pub(crate) version: V,
    pub(crate) holder: Holder,
    /// How long its holder is waited for, if it says.
    pub(crate) lease: Option<Duration>,
}

/// What a candidate does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Next<V> {
    /// It looks the Lease up.
    Look,
    /// It takes or renews the Lease, if that is still in this state; `None`: if there is none.
    Claim(Option<V>),
    /// It waits: for news of the Lease, and at most until then.
    Wait(Moment),
}

impl<V: Clone + PartialEq> Rules<V> {
    pub(crate) fn new(timing: Timing) -> Self {
        Self {
            timing,
            lease: Lease {
                version: None,
                is_doubtful: true,
                holder: Holder::Vacant,
                held_until: Moment::ZERO,
            },
            leads_until: None,
            pause: Moment::ZERO,
        }
    }

    /// Returns until when it leads, if it does.
    pub(crate) fn leads_until(&self, now: Moment) -> Option<Moment> {
        self.leads_until.filter(|end| now < *end)
    }

    pub(crate) fn next(&self, now: Moment) -> Next<V> {
        if self.pause > now {
            return Next::Wait(self.pause);
        }
        if self.lease.is_doubtful {
            return Next::Look;
        }
        if self.lease.holder == Holder::Other && now < self.lease.held_until {
            return Next::Wait(self.lease.held_until);
        }
        Next::Claim(self.lease.version.clone())
    }

    /// Learns the state of the Lease from the answer to a request.
    pub(crate) fn sees(&mut self, seen: Option<Seen<V>>, now: Moment) {
        self.lease.is_doubtful = false;
        let Some(seen) = seen else {
            // The last holder may not know yet that the Lease was deleted, so `holder` and `held_until` stay as they are.
            self.lease.version = None;
            return;
        };
        if self.lease.version.as_ref() != Some(&seen.version) {
            let lease = seen.lease.unwrap_or(self.timing.lease);
            self.lease = Lease {
                version: Some(seen.version),
                is_doubtful: false,
                holder: seen.holder,
                held_until: now.saturating_add(lease),
            };
        }
        if self.lease.holder != Holder::Myself {
            self.leads_until = None;
        }
    }

    /// Learns the state of the Lease from a watch, which may tell of a state that is over.
    ///
    /// `is_newer` says whether a version came after another.
    pub(crate) fn hears(
        &mut self,
        heard: Option<Seen<V>>,
        now: Moment,
        is_newer: impl FnOnce(&V, &V) -> bool,
    ) {
        let is_news = match (&heard, &self.lease.version) {
            (Some(heard), Some(known)) => is_newer(&heard.version, known),
            _ => true,
        };
        if is_news {
            self.sees(heard, now);
            if self.leads_until(now).is_none() {
                self.pause = Moment::ZERO;
            }
        }
    }

    /// Learns that its claim was stored, which it sent at a moment.
    pub(crate) fn wins(&mut self, version: V, sent: Moment, now: Moment) {
        self.lease = Lease {
            version: Some(version),
            is_doubtful: false,
            holder: Holder::Myself,
            held_until: now,
        };
        let end = sent.saturating_add(self.timing.renew_deadline);
        self.leads_until = (now < end).then_some(end);
        self.pause = match self.leads_until {
            Some(_) => sent.saturating_add(self.timing.retry),
            None => now,
        };
    }

    /// Learns that the Lease was not in the state that its claim was for.
    pub(crate) fn is_outrun(&mut self) {
        self.lease.is_doubtful = true;
    }

    /// Learns that a request failed. What it asked for may have been done all the same.
    pub(crate) fn fails(&mut self, now: Moment, pause: Duration) {
        self.lease.is_doubtful = true;
        self.pause = now.saturating_add(pause);
    }

    /// Leads no longer, by its own choice or because leadership is lost.
    pub(crate) fn steps_down(&mut self) {
        self.leads_until = None;
    }
}

#[cfg(test)]
#[path = "model.rs"]
mod model;
