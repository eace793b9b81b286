//! The order of work: each key once, never twice at a time, the urgent first.
//!
//! This file is compiled a second time by the loom model in `tests/`: it takes its lock from `super::sync` and the time
//! from whoever calls.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::task::Waker;

use super::sync::{Mutex, locked};

/// How urgent work is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Priority {
    /// Nobody waits for it: first lists, and what was asked for by time.
    Low,
    /// Something has just happened.
    Normal,
}

/// Keys that wait for work, and workers that wait for keys.
///
/// A key that is added while it waits is there once, with the higher priority. A key that is added while a worker has it
/// is given out again when that worker is done.
pub(crate) struct Queue<K, T> {
    state: Mutex<State<K, T>>,
}

struct State<K, T> {
    items: HashMap<K, Item<T>>,
    ready: BTreeMap<(Reverse<Priority>, u64), K>,
    later: BTreeMap<(T, u64), K>,
    sequence: u64,
    /// The workers that wait, by their numbers.
    idle: BTreeMap<usize, Waker>,
    /// Whoever waits for the time of the next key in `later`.
    clock: Option<Waker>,
    is_closed: bool,
}

struct Item<T> {
    place: Place<T>,
    /// Set while a worker has the key and it was added again.
    again: Option<Priority>,
}

#[derive(Clone, Copy)]
enum Place<T> {
    Ready(Priority, u64),
    Later(T, u64),
    Running,
}

/// What a worker gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<K> {
    Key(K),
    /// Nothing now: the worker is woken when there is something.
    Wait,
    /// Nothing ever again.
    Closed,
}

impl<K: Clone + Eq + Hash, T: Copy + Ord> Queue<K, T> {
    pub(crate) fn new() -> Self {
        Self {
            state: Mutex::new(State {
                items: HashMap::new(),
                ready: BTreeMap::new(),
                later: BTreeMap::new(),
                sequence: 0,
                idle: BTreeMap::new(),
                clock: None,
                is_closed: false,
            }),
        }
    }

    /// Adds a key.
    pub(crate) fn add(&self, key: &K, priority: Priority) {
        let woken = locked(self.state.lock()).add(key, priority);
        wake(woken);
    }

    /// Takes the next key for a worker, or notes that it waits.
    pub(crate) fn next(&self, worker: usize, waker: &Waker) -> Next<K> {
        let (next, woken) = locked(self.state.lock()).next(worker, waker);
        wake(woken);
        next
    }

    /// Gives a key back. It is given out again at once if it was added meanwhile, or at a time if one is named.
    pub(crate) fn done(&self, key: &K, at: Option<T>) {
        let woken = locked(self.state.lock()).done(key, at);
        wake(woken);
    }

    /// Readies every key whose time has come, and returns the time of the next. The waker is woken when an earlier one
    /// comes to be the next.
    pub(crate) fn due(&self, now: T, clock: &Waker) -> Option<T> {
        let mut woken = Vec::new();
        let next = {
            let mut state = locked(self.state.lock());
            while let Some(entry) = state.later.first_entry() {
                if entry.key().0 > now {
                    break;
                }
                let key = entry.remove();
                state.make_ready(&key, Priority::Low);
                woken.extend(state.a_worker());
            }
            state.clock = Some(clock.clone());
            state.later.first_key_value().map(|((at, _), _)| *at)
        };
        wake(woken);
        next
    }

    /// How many keys are ready and wait for a worker.
    pub(crate) fn waiting(&self) -> usize {
        locked(self.state.lock()).ready.len()
    }

    /// Gives out nothing more, and lets every worker know.
    pub(crate) fn close(&self) {
        let woken = {
            let mut state = locked(self.state.lock());
            state.is_closed = true;
            std::mem::take(&mut state.idle)
        };
        wake(woken.into_values());
    }
}

impl<K: Clone + Eq + Hash, T: Copy + Ord> State<K, T> {
    fn add(&mut self, key: &K, priority: Priority) -> Option<Waker> {
        match self.items.get_mut(key).map(|item| (item.place, item)) {
            Some((Place::Running, item)) => {
                item.again = item.again.max(Some(priority));
                return None;
            }
            Some((Place::Ready(known, number), _)) => {
                if known < priority {
                    self.ready.remove(&(Reverse(known), number));
                    self.make_ready(key, priority);
                }
                return None;
            }
            Some((Place::Later(at, number), _)) => {
                self.later.remove(&(at, number));
                self.make_ready(key, priority);
            }
            None => self.make_ready(key, priority),
        }
        self.a_worker()
    }

    fn next(&mut self, worker: usize, waker: &Waker) -> (Next<K>, Option<Waker>) {
        self.idle.remove(&worker);
        if self.is_closed {
            return (Next::Closed, None);
        }
        let Some((_, key)) = self.ready.pop_first() else {
            self.idle.insert(worker, waker.clone());
            return (Next::Wait, None);
        };
        self.place(&key, Place::Running);
        // Whoever was woken for this key may have found another.
        let another = if self.ready.is_empty() {
            None
        } else {
            self.a_worker()
        };
        (Next::Key(key), another)
    }

    fn done(&mut self, key: &K, at: Option<T>) -> Option<Waker> {
        let item = self.items.get_mut(key)?;
        if let Some(priority) = item.again.take() {
            self.make_ready(key, priority);
            return self.a_worker();
        }
        let Some(at) = at else {
            self.items.remove(key);
            return None;
        };
        let number = self.number();
        self.place(key, Place::Later(at, number));
        self.later.insert((at, number), key.clone());
        let is_first = self
            .later
            .first_key_value()
            .is_some_and(|((_, first), _)| *first == number);
        if is_first { self.clock.take() } else { None }
    }

    fn make_ready(&mut self, key: &K, priority: Priority) {
        let number = self.number();
        self.place(key, Place::Ready(priority, number));
        self.ready.insert((Reverse(priority), number), key.clone());
    }

    fn place(&mut self, key: &K, place: Place<T>) {
        match self.items.get_mut(key) {
            Some(item) => item.place = place,
            None => {
                self.items.insert(key.clone(), Item { place, again: None });
            }
        }
    }

    fn number(&mut self) -> u64 {
        self.sequence += 1;
        self.sequence
    }

    fn a_worker(&mut self) -> Option<Waker> {
        self.idle.pop_first().map(|(_, waker)| waker)
    }
}

/// Wakes with the lock released, so that nobody wakes up to wait for it.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        waker.wake();
    }
}
