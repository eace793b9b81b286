//! One replica: its memory of the Secret, its serving certificate, and its next write. No clock, no network.

use std::time::{Duration, SystemTime};

use super::fingerprint::Fingerprint;
use super::state::{Ca, Due, Known, Moment, State};
use super::timing::Timing;

/// What a replica knows. Its memory survives the Secret.
#[derive(Clone, Debug)]
pub(crate) struct Replica<A> {
    timing: Timing,
    memory: Option<State<A>>,
    leaf: Option<Leaf>,
    /// Since when this replica has known that the next authority is published.
    published: Option<(Fingerprint, SystemTime, Duration)>,
    /// Since when this replica has known the current authority as the current one.
    current: Option<(Fingerprint, Duration)>,
    /// Since when this replica has seen an unconfirmed authority in every object.
    proven: Option<(Fingerprint, Duration)>,
}

/// The certificate that a replica serves.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Leaf {
    pub(crate) authority: Fingerprint,
    pub(crate) not_before: SystemTime,
    pub(crate) not_after: SystemTime,
    pub(crate) renew_at: SystemTime,
}

/// The Secret as it was read.
#[derive(Clone, Debug)]
pub(crate) enum Found<A> {
    /// No Secret, or one without a state that can be read.
    Nothing,
    State {
        state: State<A>,
        /// Whether the Secret has the annotation that requests a rotation.
        is_asked: bool,
    },
}

/// What a replica wants to write over what it has read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wish<A> {
    /// The first state.
    Make,
    /// What it remembers: the Secret was lost, emptied or set back.
    Restore(State<A>),
    /// The next step of the rotation.
    Step(Due),
}

/// What to do about the serving certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Serve {
    Keep,
    /// Sign a new one with the current authority.
    Sign,
    /// Sign a new one once the current authority was seen in every object: it is unconfirmed, and the serving certificate is
    /// still valid.
    SignOnceProven,
}

impl<A: Ca> Replica<A> {
    pub(crate) fn new(timing: Timing) -> Self {
        Self {
            timing,
            memory: None,
            leaf: None,
            published: None,
            current: None,
            proven: None,
        }
    }

    pub(crate) fn state(&self) -> Option<&State<A>> {
        self.memory.as_ref()
    }

    pub(crate) fn leaf(&self) -> Option<&Leaf> {
        self.leaf.as_ref()
    }

    /// Takes what was read, unless the memory is further. What is wrong with the Secret then, [`wish`](Self::wish) says.
    pub(crate) fn sees(&mut self, found: &Found<A>, at: &Moment) {
        let Found::State { state, .. } = found else {
            return;
        };
        if self.memory_over(state, at).is_some() {
            return;
        }
        let current = state.current.fingerprint();
        if self.current.is_none_or(|(known, _)| known != current) {
            self.current = Some((current, at.passed));
        }
        let published = state.next.as_ref().and_then(|next| {
            let published_at = next.published_at?;
            Some((next.authority.fingerprint(), published_at))
        });
        let known = self.published.map(|(next, since, _)| (next, since));
        if published != known {
            self.published = published.map(|(next, since)| (next, since, at.passed));
        }
        self.memory = Some(state.clone());
    }

    /// What to write over what was read; for how long nothing, at the latest, otherwise.
    pub(crate) fn wish(&self, found: &Found<A>, at: &Moment) -> Result<Wish<A>, Duration> {
        let (state, is_asked) = match found {
            Found::Nothing => {
                let memory = self.memory.as_ref().filter(|state| !state.is_expired(at));
                return Ok(memory.map_or(Wish::Make, |state| Wish::Restore(state.clone())));
            }
            Found::State { state, is_asked } => (state, *is_asked),
        };
        if let Some(memory) = self.memory_over(state, at) {
            return Ok(Wish::Restore(memory.clone()));
        }
        match state.due(at, &self.timing, self.known(at), is_asked) {
            Due::Wait(until, pause) => {
                Err(pause.min(until.duration_since(at.now).unwrap_or_default()))
            }
            due => Ok(Wish::Step(due)),
        }
    }

    /// Returns what to do about the serving certificate.
    pub(crate) fn serve(&self, at: &Moment) -> Serve {
        let Some(state) = &self.memory else {
            return Serve::Keep;
        };
        if state.current.expires() <= at.now {
            return Serve::Keep;
        }
        let Some(leaf) = &self.leaf else {
            return Serve::Sign;
        };
        let is_valid = leaf.not_before <= at.now && at.now < leaf.not_after;
        if leaf.authority == state.current.fingerprint() {
            // Another one of an authority that ends would not live any longer.
            let is_last = leaf.not_after >= state.current.expires();
            return if is_valid && (is_last || at.now < leaf.renew_at) {
                Serve::Keep
            } else {
                Serve::Sign
            };
        }
        if state.confirmed || !is_valid {
            Serve::Sign
        } else {
            Serve::SignOnceProven
        }
    }

    /// Records whether every object contains the current, unconfirmed authority, and returns whether they have contained it
    /// for long enough.
    pub(crate) fn proves(&mut self, is_published: bool, at: &Moment) -> bool {
        let current = self
            .memory
            .as_ref()
            .map(|state| state.current.fingerprint());
        let (true, Some(current)) = (is_published, current) else {
            self.proven = None;
            return false;
        };
        let since = match self.proven {
            Some((proven, since)) if proven == current => since,
            _ => at.passed,
        };
        self.proven = Some((current, since));
        at.passed.saturating_sub(since) >= self.timing.settle
    }

    pub(crate) fn serves(&mut self, leaf: Leaf) {
        self.leaf = Some(leaf);
    }

    fn memory_over(&self, state: &State<A>, at: &Moment) -> Option<&State<A>> {
        let memory = self.memory.as_ref()?;
        (memory.supersedes(state) && !memory.is_expired(at)).then_some(memory)
    }

    fn known(&self, at: &Moment) -> Known {
        let for_how_long = |since: Duration| at.passed.saturating_sub(since);
        Known {
            published: self
                .published
                .map_or(Duration::ZERO, |(_, _, since)| for_how_long(since)),
            current: self
                .current
                .map_or(Duration::ZERO, |(_, since)| for_how_long(since)),
        }
    }
}
