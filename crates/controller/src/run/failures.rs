//! The objects whose last reconcile has failed: how often in a row, since when, and why.

use std::cmp::Ordering;
use std::sync::atomic::{self, AtomicUsize};

use ahash::AHashMap;
use tokio::time::Instant;

use crate::Key;
use crate::sync::{Mutex, locked};

/// Failing objects of one run of a controller.
#[derive(Default)]
pub(crate) struct Failures {
    state: Mutex<State>,
    /// How many there are: mostly none, which every reconcile asks. What it says of an object is true for the worker that has it, which alone adds it.
    total: AtomicUsize,
}

#[derive(Default)]
struct State {
    all: AHashMap<Key, Failing>,
    /// How many of them have their error kept.
    errors: usize,
}

/// One failing object.
#[derive(Clone)]
pub(crate) struct Failing {
    /// How often it failed in a row; 0: for good.
    pub(crate) count: u32,
    pub(crate) since: Instant,
    pub(crate) last: Instant,
    /// Only of as many objects as memory is set aside for.
    pub(crate) error: Option<Box<str>>,
}

impl Failures {
    /// How often an object has failed in a row.
    pub(super) fn count(&self, key: &Key) -> u32 {
        if self.is_empty() {
            return 0;
        }
        let state = locked(self.state.lock());
        state.all.get(key).map_or(0, |failing| failing.count)
    }

    /// Counts a failure, and returns the number of them in a row.
    pub(super) fn add(&self, key: &Key, error: &str) -> u32 {
        self.change(|state| state.fails(key, error, |count| count.saturating_add(1)))
    }

    /// Notes a failure for good. The next one is the first in its row.
    pub(super) fn add_terminal(&self, key: &Key, error: &str) {
        self.change(|state| {
            // Nothing but its object takes it away again, so that there are not more of these than of errors.
            if state.errors < ERRORS || state.all.contains_key(key) {
                state.fails(key, error, |_| 0);
            }
        });
    }

    /// Forgets a failure for good, because its object is deleted. What is tried again finds that out by itself.
    pub(super) fn remove_terminal(&self, key: &Key) {
        let is_terminal = !self.is_empty() && locked(self.state.lock()).is_terminal(key);
        if is_terminal {
            self.remove(key);
        }
    }

    /// Forgets an object that does not fail any more.
    pub(super) fn remove(&self, key: &Key) {
        if self.is_empty() {
            return;
        }
        self.change(|state| {
            if let Some(failing) = state.all.remove(key) {
                state.errors -= usize::from(failing.error.is_some());
            }
        });
    }

    /// Forgets all but these objects.
    pub(super) fn retain(&self, keep: impl Fn(&Key) -> bool) {
        self.change(|State { all, errors }| {
            all.retain(|key, failing| {
                let is_kept = keep(key);
                if !is_kept {
                    *errors -= usize::from(failing.error.is_some());
                }
                is_kept
            });
        });
    }

    /// What is known of one object.
    pub(crate) fn get(&self, key: &Key) -> Option<Failing> {
        locked(self.state.lock()).all.get(key).cloned()
    }

    /// How many objects fail, and those of them that fail for good or have failed most often.
    pub(crate) fn worst(&self, most: usize) -> (usize, Vec<(Key, Failing)>) {
        let state = locked(self.state.lock());
        let mut all: Vec<(&Key, &Failing)> = state.all.iter().collect();
        let total = all.len();
        if most < total {
            all.select_nth_unstable_by(most, by_rank);
            all.truncate(most);
        }
        all.sort_unstable_by(by_rank);
        let worst = all
            .into_iter()
            .map(|(key, failing)| (key.clone(), failing.clone()));
        (total, worst.collect())
    }

    fn is_empty(&self) -> bool {
        self.total.load(atomic::Ordering::Acquire) == 0
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        let mut state = locked(self.state.lock());
        let changed = change(&mut state);
        self.total.store(state.all.len(), atomic::Ordering::Release);
        changed
    }
}

impl State {
    fn is_terminal(&self, key: &Key) -> bool {
        self.all.get(key).is_some_and(|failing| failing.count == 0)
    }

    fn fails(&mut self, key: &Key, error: &str, next: impl FnOnce(u32) -> u32) -> u32 {
        let now = Instant::now();
        let Self { all, errors } = self;
        if !all.contains_key(key) {
            let failing = Failing {
                count: 0,
                since: now,
                last: now,
                error: None,
            };
            all.insert(key.clone(), failing);
        }
        let Some(failing) = all.get_mut(key) else {
            return 0;
        };
        failing.count = next(failing.count);
        failing.last = now;
        if failing.error.is_some() || *errors < ERRORS {
            *errors += usize::from(failing.error.is_none());
            let end = error.floor_char_boundary(LONGEST);
            failing.error = Some(error[..end].into());
        }
        failing.count
    }
}

/// The order of failing objects, the worst first.
fn by_rank(one: &(&Key, &Failing), other: &(&Key, &Failing)) -> Ordering {
    // One that failed for good has the count 0, from which this makes the largest.
    let badness = |failing: &Failing| failing.count.wrapping_sub(1);
    let order = badness(other.1).cmp(&badness(one.1));
    order.then_with(|| one.0.cmp(other.0))
}

/// Of so many objects of a controller the last error is kept, in so many bytes at most: half a megabyte in all.
const ERRORS: usize = 1000;
const LONGEST: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: usize) -> Key {
        Key::new(Some("blue"), &format!("object-{number:05}"))
    }

    #[test]
    fn what_fails_for_good_and_what_fails_most_often_is_the_worst() {
        let failures = Failures::default();
        for number in 0..10 {
            for failure in 0..=number {
                failures.add(&key(number), &format!("failure {failure}"));
            }
        }
        failures.add_terminal(&key(3), "broken");
        let (total, worst) = failures.worst(3);
        assert_eq!(total, 10);
        let worst: Vec<_> = worst
            .iter()
            .map(|(key, failing)| (key.name(), failing.count, failing.error.as_deref()))
            .collect();
        assert_eq!(
            worst,
            [
                ("object-00003", 0, Some("broken")),
                ("object-00009", 10, Some("failure 9")),
                ("object-00008", 9, Some("failure 8")),
            ]
        );
        assert_eq!(failures.add(&key(3), "again"), 1, "a new row begins");
        failures.remove(&key(9));
        assert_eq!(failures.count(&key(9)), 0);
        assert_eq!(failures.worst(100).1.len(), 9);
    }

    #[test]
    fn a_deleted_object_no_longer_fails_for_good() {
        let failures = Failures::default();
        failures.add_terminal(&key(1), "broken");
        failures.add(&key(2), "refused");
        for number in 1..=3 {
            failures.remove_terminal(&key(number));
        }
        let (total, left) = failures.worst(10);
        assert_eq!((total, &left[0].0), (1, &key(2)));
        for number in 10..10 + 2 * ERRORS {
            failures.add_terminal(&key(number), "broken");
        }
        assert_eq!(failures.worst(0).0, ERRORS, "one of them retries");
    }

    #[test]
    fn the_errors_that_are_kept_are_bounded_in_number_and_in_length() {
        let failures = Failures::default();
        let long = "ü".repeat(LONGEST);
        for number in 0..2 * ERRORS {
            failures.add(&key(number), &long);
            failures.add(&key(number), &long);
        }
        let (total, all) = failures.worst(usize::MAX);
        assert_eq!(total, 2 * ERRORS);
        let kept = |all: &[(Key, Failing)]| {
            let errors = all.iter().filter_map(|(_, failing)| failing.error.clone());
            errors.map(|error| error.len()).collect::<Vec<_>>()
        };
        assert_eq!(kept(&all), [LONGEST; ERRORS]);
        // One that ends makes room for another.
        failures.remove(&key(0));
        failures.add(&key(2 * ERRORS - 1), "short");
        let (_, all) = failures.worst(usize::MAX);
        assert_eq!(kept(&all).len(), ERRORS);
    }
}
