//! Rules of fault injection: the fault, the requests that it affects, and how many of them.

use std::time::Duration;

use kubewright_apiserver::RequestInfo;
use tokio::time::Instant;

use super::body::{End, Last};
use super::refusal::Refusal;
use super::requests::{Asked, Requests};

/// A fault and the requests that it affects.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    pub(crate) requests: Requests,
    /// Number of matching requests that still pass.
    pub(crate) spared: usize,
    /// Number of matching requests that the fault still affects; `None` for all.
    pub(crate) left: Option<usize>,
    pub(crate) until: Option<Instant>,
    pub(crate) effect: Effect,
}

#[derive(Clone, Debug)]
pub(crate) enum Effect {
    Slow(Duration),
    SlowAnswer(Duration),
    Pace(usize),
    Cut(usize, End),
    Instead(Instead),
}

/// The outcome of a request instead of its response.
#[derive(Clone, Debug)]
pub(crate) enum Instead {
    Unreachable,
    Reset,
    Refusal(Refusal),
    RefusalWithin(Refusal),
}

/// The faults that affect one request.
#[derive(Debug, Default)]
pub(crate) struct Fate {
    pub(crate) before: Duration,
    pub(crate) behind: Duration,
    pub(crate) pace: Option<usize>,
    pub(crate) cut: Option<(usize, End)>,
    pub(crate) instead: Option<Instead>,
}

impl Rule {
    fn is_spent(&self, now: Instant) -> bool {
        self.left == Some(0) || self.until.is_some_and(|until| now >= until)
    }

    /// Returns whether the fault affects a request, and counts the request.
    fn strikes(&mut self, asked: &Asked) -> bool {
        if !self.requests.include(asked) {
            return false;
        }
        if self.spared > 0 {
            self.spared -= 1;
            return false;
        }
        self.left = self.left.map(|left| left - 1);
        true
    }
}

impl Fate {
    /// Combines the rules that match a request: delays add up, and the first of several replaced responses applies.
    pub(crate) fn by(rules: &mut Vec<Rule>, asked: &Asked, now: Instant) -> Self {
        let mut fate = Self::default();
        rules.retain(|rule| !rule.is_spent(now));
        for rule in rules {
            let is_taken = match rule.effect {
                Effect::Instead(_) => fate.instead.is_some(),
                Effect::Cut(..) => fate.cut.is_some(),
                Effect::Pace(_) => fate.pace.is_some(),
                Effect::Slow(_) | Effect::SlowAnswer(_) => false,
            };
            if is_taken || !rule.strikes(asked) {
                continue;
            }
            match &rule.effect {
                Effect::Slow(delay) => fate.before += *delay,
                Effect::SlowAnswer(delay) => fate.behind += *delay,
                Effect::Pace(bytes) => fate.pace = Some(*bytes),
                Effect::Cut(bytes, end) => fate.cut = Some((*bytes, end.clone())),
                Effect::Instead(instead) => fate.instead = Some(instead.clone()),
            }
        }
        fate
    }
}

impl End {
    pub(crate) fn last(&self, request: &RequestInfo) -> Last {
        match self {
            Self::Clean => Last::Clean,
            Self::Broken => Last::Broken,
            Self::Silent => Last::Silent,
            Self::Error(refusal) => Last::Line(refusal.line(request)),
        }
    }
}
