//! Limits how often a program restores a `caBundle` that other clients overwrite.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

/// Counts how often other clients undo the program's writes. The program restores an occasional change at once; when changes keep
/// coming back, it waits longer each time, so that two programs do not write against each other for ever.
#[derive(Debug, Default)]
pub(crate) struct Guard {
    undone: VecDeque<Instant>,
    /// How many pauses there were since a storm began.
    pauses: u32,
    not_before: Option<Instant>,
}

/// What it has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weather {
    Calm,
    /// A storm begins: the operator should know.
    Gathering,
    Storm,
}

impl Guard {
    /// Records that another client has undone the write, and returns the resulting state.
    pub(crate) fn undone(&mut self, now: Instant) -> Weather {
        let is_over = |last: &Instant| now.duration_since(*last) >= QUIET;
        if self.undone.back().is_some_and(is_over) {
            *self = Self::default();
        }
        self.undone.push_back(now);
        if self.undone.len() > BURST {
            self.undone.pop_front();
        }
        let first = self.undone.front().copied().unwrap_or(now);
        let is_burst = self.undone.len() == BURST && now.duration_since(first) < WINDOW;
        if self.pauses == 0 && !is_burst {
            return Weather::Calm;
        }
        let pause = FIRST.saturating_mul(1 << self.pauses.min(16)).min(LONGEST);
        self.pauses += 1;
        self.not_before = Some(now + pause);
        match self.pauses {
            1 => Weather::Gathering,
            _ => Weather::Storm,
        }
    }

    /// Before which moment nothing should be put back.
    pub(crate) fn not_before(&self) -> Option<Instant> {
        self.not_before
    }
}

/// So many within the window are no storm: a person's mistakes, and the tools of several.
const BURST: usize = 20;
const WINDOW: Duration = Duration::from_mins(1);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_mins(1);
/// After so long without anything the storm is over.
const QUIET: Duration = Duration::from_mins(5);

#[cfg(test)]
mod tests {
    use super::*;

    /// The pauses after each of so many, each of which comes as soon as it is put back.
    fn fought(guard: &mut Guard, mut now: Instant, times: usize) -> Vec<Duration> {
        let mut pauses = Vec::new();
        for _ in 0..times {
            guard.undone(now);
            let next = guard.not_before().unwrap_or(now).max(now);
            pauses.push(next - now);
            now = next;
        }
        pauses
    }

    #[test]
    fn what_is_undone_now_and_then_is_put_back_at_once() {
        let (mut guard, start) = (Guard::default(), Instant::now());
        for number in 0..1_000 {
            let now = start + number * Duration::from_secs(4);
            assert_eq!(guard.undone(now), Weather::Calm);
            assert_eq!(guard.not_before(), None);
        }
    }

    #[test]
    fn who_undoes_it_without_end_is_answered_ever_more_slowly_and_told_once() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        let pauses = fought(&mut guard, now, BURST + 8);
        assert!(pauses[..BURST - 1].iter().all(Duration::is_zero));
        let seconds: Vec<u64> = pauses[BURST - 1..].iter().map(Duration::as_secs).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 60, 60, 60]);

        let (mut guard, mut told) = (Guard::default(), 0);
        for _ in 0..BURST + 8 {
            told += u8::from(guard.undone(now) == Weather::Gathering);
        }
        assert_eq!(told, 1);
    }

    #[test]
    fn a_storm_is_over_when_nothing_was_undone_for_a_while() {
        let (mut guard, now) = (Guard::default(), Instant::now());
        fought(&mut guard, now, BURST + 2);
        let later = guard.not_before().unwrap() + QUIET;
        assert_eq!(guard.undone(later), Weather::Calm);
        assert_eq!(guard.not_before(), None);
    }
}
