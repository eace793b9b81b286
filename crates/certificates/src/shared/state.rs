//! The rotation as a value: the state in the Secret, the next step that is due, and the result of each step. No clock, no
//! network, no cryptography, so that a model test can explore how replicas affect each other.

use std::cmp::Reverse;
use std::time::{Duration, SystemTime};

use super::fingerprint::Fingerprint;
use super::timing::Timing;

/// An authority as these rules see it.
pub(crate) trait Ca: Clone {
    fn fingerprint(&self) -> Fingerprint;
    fn created(&self) -> SystemTime;
    fn expires(&self) -> SystemTime;
    /// The same without its private key: it can be trusted, and signs nothing any more.
    fn without_key(&self) -> Self;
}

/// The state of the rotation in the Secret.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct State<A> {
    /// Counts the authorities.
    pub(crate) generation: u64,
    /// Counts the writes.
    pub(crate) revision: u64,
    pub(crate) current: A,
    /// Whether the current authority was published before it became the current one. The first authority was not, nor one
    /// that replaced an expired authority.
    pub(crate) confirmed: bool,
    pub(crate) next: Option<Next<A>>,
    pub(crate) previous: Vec<Previous<A>>,
    /// The last authorities that must leave every bundle.
    pub(crate) retired: Vec<Fingerprint>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Next<A> {
    pub(crate) authority: A,
    /// When every object was first seen to contain it.
    pub(crate) published_at: Option<SystemTime>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Previous<A> {
    pub(crate) authority: A,
    pub(crate) switched_at: SystemTime,
}

/// Phase of the rotation of a shared authority.
///
/// ```
/// use kubewright_certificates::Phase;
///
/// let names = Phase::ALL.map(Phase::as_str);
/// assert_eq!(names, ["stable", "publishing", "settling", "retiring"]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Phase {
    /// One authority, trusted everywhere.
    Stable,
    /// The next authority is in the Secret, and not yet in every object.
    Publishing,
    /// Every object carries the next authority; API servers are given time to notice.
    Settling,
    /// The next authority has become the current one; the one before is trusted until all that it signed has expired.
    Retiring,
}

/// What a rotation needs next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// The current authority has expired.
    Replace,
    /// A next authority, beside the current one.
    Stage,
    /// The news that every object carries the next authority, if that is so.
    Publish,
    /// The next authority as the current one, if every object still carries it.
    Switch,
    /// The end of the trust in what can have no valid certificates any more.
    Retire,
    /// Nothing until this moment, or for so long.
    Wait(SystemTime, Duration),
}

/// What a clock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The time of day, as the API server sees it where that is known: it judges the certificates.
    pub(crate) now: SystemTime,
    /// The time of day on this machine.
    pub(crate) local: SystemTime,
    /// Time that never jumps, from some beginning.
    pub(crate) passed: Duration,
}

/// How long a replica has known what it goes by, in time that never jumps: no clock that is set can shorten a margin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) published: Duration,
    pub(crate) current: Duration,
}

/// More authorities than these are not trusted at once: a bundle stays small enough to read.
const MOST_PREVIOUS: usize = 8;

/// How many authorities are remembered as retired. A publisher that is that far behind would bring one back into the bundles,
/// which is not tidy, and not a danger.
const MOST_RETIRED: usize = 64;

/// Longer than any wait, and no overflow.
const LONG: Duration = Duration::from_hours(24);

impl<A: Ca> State<A> {
    pub(crate) fn first(current: A) -> Self {
        Self {
            generation: 1,
            revision: 1,
            current,
            confirmed: false,
            next: None,
            previous: Vec::new(),
            retired: Vec::new(),
        }
    }

    pub(crate) fn phase(&self) -> Phase {
        match (&self.next, &self.previous[..]) {
            (Some(next), _) if next.published_at.is_some() => Phase::Settling,
            (Some(_), _) => Phase::Publishing,
            (None, []) => Phase::Stable,
            (None, _) => Phase::Retiring,
        }
    }

    /// All that clients must trust, the current authority first.
    pub(crate) fn trusted(&self) -> impl Iterator<Item = &A> {
        let next = self.next.as_ref().map(|next| &next.authority);
        let previous = self.previous.iter().map(|previous| &previous.authority);
        [&self.current].into_iter().chain(next).chain(previous)
    }

    /// Whether this state takes the place of another: it has come further. Of two that have come equally far, which happens
    /// when a Secret is lost and made twice, the older authority wins, so that all replicas come to the same end.
    pub(crate) fn supersedes(&self, other: &Self) -> bool {
        self.rank() > other.rank()
    }

    fn rank(&self) -> (u64, u64, Reverse<SystemTime>, Fingerprint) {
        let Self {
            generation,
            revision,
            current,
            ..
        } = self;
        let age = Reverse(current.created());
        (*generation, *revision, age, current.fingerprint())
    }

    /// Whether nothing that the current authority signs can be believed. Both clocks have to say so: one that was set wrong
    /// must not cost a good authority.
    pub(crate) fn is_expired(&self, at: &Moment) -> bool {
        let end = self.current.expires();
        at.now >= end && at.local >= end
    }

    pub(crate) fn due(&self, at: &Moment, timing: &Timing, known: Known, is_asked: bool) -> Due {
        if self.is_expired(at) {
            return Due::Replace;
        }
        let mut until = at.now + LONG;
        let mut pause = LONG;
        if at.now < self.current.expires() {
            until = until.min(self.current.expires());
        }
        let next = self.next.as_ref();
        if next.is_some_and(|next| next.published_at.is_some()) {
            if known.published >= timing.settle {
                return Due::Switch;
            }
            pause = pause.min(timing.settle.saturating_sub(known.published));
        }
        for previous in &self.previous {
            let end = previous.trusted_until(timing);
            if at.now < end {
                until = until.min(end);
            } else if known.current < timing.settle {
                pause = pause.min(timing.settle.saturating_sub(known.current));
            } else {
                return Due::Retire;
            }
        }
        match next {
            Some(next) if next.authority.expires() <= at.now => return Due::Stage,
            Some(next) if next.published_at.is_none() => return Due::Publish,
            Some(_) => {}
            None if self.previous.len() >= MOST_PREVIOUS => {}
            None => {
                let life = self
                    .current
                    .expires()
                    .duration_since(self.current.created());
                let stage = self.current.created() + life.unwrap_or_default() * 2 / 3;
                if is_asked || stage <= at.now {
                    return Due::Stage;
                }
                until = until.min(stage);
            }
        }
        Due::Wait(until, pause)
    }

    pub(crate) fn staged(&self, authority: A) -> Self {
        let next = Some(Next {
            authority,
            published_at: None,
        });
        self.changed(|state| state.next = next)
    }

    pub(crate) fn published(&self, at: Option<SystemTime>) -> Self {
        self.changed(|state| {
            if let Some(next) = &mut state.next {
                next.published_at = at;
            }
        })
    }

    pub(crate) fn switched(&self, now: SystemTime) -> Self {
        self.changed(|state| {
            if let Some(next) = state.next.take() {
                state.succeed(next.authority, now);
                state.confirmed = true;
            }
        })
    }

    /// The state after an authority has expired with nothing published to follow it. Bundles have to catch up.
    pub(crate) fn replaced(&self, now: SystemTime, new: impl FnOnce() -> A) -> Self {
        self.changed(|state| {
            let next = state.next.take().map(|next| next.authority);
            let authority = next.filter(|next| next.expires() > now).unwrap_or_else(new);
            state.succeed(authority, now);
            state.confirmed = false;
        })
    }

    pub(crate) fn retired(&self, now: SystemTime, timing: &Timing) -> Self {
        self.changed(|state| {
            let (over, left) = state
                .previous
                .drain(..)
                .partition(|previous| now >= previous.trusted_until(timing));
            let over: Vec<Previous<A>> = over;
            state.previous = left;
            let over = over.iter().map(|previous| previous.authority.fingerprint());
            state.retired.extend(over);
            let surplus = state.retired.len().saturating_sub(MOST_RETIRED);
            state.retired.drain(..surplus);
        })
    }

    /// The state to write when the Secret was lost or set back. Another replica may have signed with the authority of the older
    /// Secret, so previous authorities stay trusted for the lifetime of a leaf from now. The result has a new revision: an older
    /// copy of this state must not replace it.
    pub(crate) fn restored(&self, now: SystemTime) -> Self {
        if self.previous.is_empty() {
            return self.clone();
        }
        self.changed(|state| {
            for previous in &mut state.previous {
                previous.switched_at = previous.switched_at.max(now);
            }
        })
    }

    fn succeed(&mut self, authority: A, now: SystemTime) {
        let last = std::mem::replace(&mut self.current, authority);
        self.previous.push(Previous {
            authority: last.without_key(),
            switched_at: now,
        });
        self.generation += 1;
    }

    fn changed(&self, change: impl FnOnce(&mut Self)) -> Self {
        let mut state = self.clone();
        state.revision += 1;
        change(&mut state);
        state
    }
}

impl<A: Ca> Previous<A> {
    /// From when on nothing can be valid that it has signed.
    fn trusted_until(&self, timing: &Timing) -> SystemTime {
        let last_leaf = (self.switched_at + timing.leaf).min(self.authority.expires());
        last_leaf + timing.margin()
    }
}

impl Phase {
    /// All phases, in the order of a rotation.
    pub const ALL: [Self; 4] = [
        Self::Stable,
        Self::Publishing,
        Self::Settling,
        Self::Retiring,
    ];

    /// Returns the phase as a word, for metrics and logs.
    ///
    /// ```
    /// use kubewright_certificates::Phase;
    ///
    /// assert_eq!(Phase::Publishing.as_str(), "publishing");
    /// assert_eq!(Phase::Publishing.to_string(), Phase::Publishing.as_str());
    /// ```
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Publishing => "publishing",
            Self::Settling => "settling",
            Self::Retiring => "retiring",
        }
    }
}

impl std::fmt::Display for Phase {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
