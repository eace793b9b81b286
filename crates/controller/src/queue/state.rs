//! The order of work: each key once, never twice at a time, the urgent first.
//!
//! The loom model in `tests/` compiles this file a second time: it takes its lock from `super::sync` and the time from the
//! caller.

use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;
use std::task::Waker;

use ahash::AHashMap;

use super::priority::Priority;
use super::ranks::Ranks;
use super::sync::{Mutex, locked};

/// Keys that wait for work, and workers that wait for keys.
///
/// A key that is added while it waits is there once, with the higher priority. A key that is added while a worker has it
/// is given out again when that worker is done.
pub(crate) struct Queue<K, T> {
    state: Mutex<State<K, T>>,
}

struct State<K, T> {
    items: AHashMap<K, Item<T>>,
    ready: Ready<K>,
    /// How many keys are ready.
    waiting: usize,
    later: BTreeMap<(T, u64), K>,
    /// Since when each key that a worker has is being worked on.
    running: BTreeMap<u64, T>,
    sequence: u64,
    /// Number of times that a key began to wait.
    adds: u64,
    /// Wakers of the idle workers, by number.
    idle: BTreeMap<usize, Waker>,
    /// Waker of the task that waits for the time of the next key in `later`.
    clock: Option<Waker>,
    is_closed: bool,
}

/// The keys that are ready with their numbers, the first ones in front.
enum Ready<K> {
    /// In two priorities: what is less urgent than normal is low. One that has become more urgent is left where it was, too,
    /// and passed over there: its number is another.
    Plain {
        normal: VecDeque<(u64, K)>,
        low: VecDeque<(u64, K)>,
    },
    Ranked(Ranks<K>),
}

struct Item<T> {
    place: Place<T>,
    /// Set while a worker has the key and it was added again.
    again: Option<(Priority, T)>,
}

#[derive(Clone, Copy)]
enum Place<T> {
    Ready {
        priority: Priority,
        number: u64,
        since: T,
    },
    Later(Waiting<T>),
    Running(u64),
}

impl<T> Place<T> {
    /// Whether the key is ready by this number.
    fn is_ready(&self, by: u64) -> bool {
        matches!(self, Self::Ready { number, .. } if *number == by)
    }
}

#[derive(Clone, Copy)]
struct Waiting<T> {
    at: T,
    number: u64,
    /// Who adds the key does not have it sooner than this; without one, at once.
    no_sooner: Option<T>,
    priority: Priority,
}

/// When a key that is given back is given out again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Back<T> {
    /// At a time, or as soon as it is added.
    At(T),
    /// At a time, or when it is added, but not before another time.
    NotBefore { no_sooner: T, at: T },
}

/// What a worker gets.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next<K, T> {
    /// A key, and since when it was ready.
    Key(K, T),
    /// Nothing now: the worker is woken when there is something.
    Wait,
    /// Nothing ever again.
    Closed,
}

/// How full a queue is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Load<T> {
    /// How many keys wait for a worker.
    pub(crate) waiting: usize,
    /// How often a key came to wait, from the beginning.
    pub(crate) adds: u64,
    /// Since when each worker that is at work is.
    pub(crate) running: Vec<T>,
}

/// The first keys of a queue, and how many there are.
pub(crate) struct Glance<K, T> {
    pub(crate) ready_total: usize,
    /// In the order in which workers get them, each with since when it is ready.
    pub(crate) ready: Vec<(K, Priority, T)>,
    pub(crate) later_total: usize,
    /// Each with its time.
    pub(crate) later: Vec<(K, Priority, T)>,
    pub(crate) running_total: usize,
    /// Those that workers have had for longest, each with since when.
    pub(crate) running: Vec<(K, T)>,
}

impl<K: Clone + Eq + Hash, T: Copy + Ord> Queue<K, T> {
    /// A queue with the priorities normal and low.
    pub(crate) fn new() -> Self {
        Self::of(Ready::Plain {
            normal: VecDeque::new(),
            low: VecDeque::new(),
        })
    }

    /// A queue with any number of priorities. Keys of one priority take turns by the groups that they are in.
    pub(crate) fn ranked(group: fn(&K) -> &str) -> Self {
        Self::of(Ready::Ranked(Ranks::new(group)))
    }

    fn of(ready: Ready<K>) -> Self {
        Self {
            state: Mutex::new(State {
                items: AHashMap::new(),
                ready,
                waiting: 0,
                later: BTreeMap::new(),
                running: BTreeMap::new(),
                sequence: 0,
                adds: 0,
                idle: BTreeMap::new(),
                clock: None,
                is_closed: false,
            }),
        }
    }

    /// Adds a key.
    pub(crate) fn add(&self, key: &K, priority: Priority, now: T) {
        let woken = locked(self.state.lock()).add(key, priority, now);
        wake(woken);
    }

    /// Takes the next key for a worker, or notes that it waits.
    pub(crate) fn next(&self, worker: usize, waker: &Waker, now: T) -> Next<K, T> {
        let (next, woken) = locked(self.state.lock()).next(worker, waker, now);
        wake(woken);
        next
    }

    /// Has a worker wait as if no key were ready, and returns whether one is; `None` when the queue is closed.
    pub(crate) fn hold(&self, worker: usize, waker: &Waker) -> Option<bool> {
        let mut state = locked(self.state.lock());
        if state.is_closed {
            return None;
        }
        state.idle.insert(worker, waker.clone());
        Some(state.waiting > 0)
    }

    /// Gives a key back. If it was added meanwhile, it is given out again as if it were added now; otherwise it comes back with
    /// a priority.
    pub(crate) fn done(&self, key: &K, back: Option<Back<T>>, priority: Priority) {
        let woken = locked(self.state.lock()).done(key, back, priority);
        wake(woken);
    }

    /// Forgets keys. A worker that has one keeps it, and what asked for it meanwhile is forgotten.
    pub(crate) fn forget(&self, is_meant: impl Fn(&K) -> bool) {
        locked(self.state.lock()).forget(is_meant);
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
                let ((since, _), key) = entry.remove_entry();
                let priority = state.priority(&key);
                state.adds += 1;
                state.make_ready(&key, priority, since);
                woken.extend(state.a_worker());
            }
            state.clock = Some(clock.clone());
            state.later.first_key_value().map(|((at, _), _)| *at)
        };
        wake(woken);
        next
    }

    /// How full it is.
    pub(crate) fn load(&self) -> Load<T> {
        let state = locked(self.state.lock());
        Load {
            waiting: state.waiting,
            adds: state.adds,
            running: state.running.values().copied().collect(),
        }
    }

    /// The first keys, so many of each kind at most.
    pub(crate) fn glance(&self, most: usize) -> Glance<K, T> {
        let state = locked(self.state.lock());
        let later = state.later.iter().take(most);
        Glance {
            ready_total: state.waiting,
            ready: state.first(most),
            running_total: state.running.len(),
            running: state.longest(most),
            later_total: state.later.len(),
            later: later
                .map(|((at, _), key)| (key.clone(), state.priority(key), *at))
                .collect(),
        }
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

impl<K> Ready<K> {
    fn push(&mut self, key: K, priority: Priority, number: u64) {
        match self {
            Self::Plain { normal, .. } if priority >= Priority::NORMAL => {
                normal.push_back((number, key));
            }
            Self::Plain { low, .. } => low.push_back((number, key)),
            Self::Ranked(ranks) => ranks.push(key, priority, number),
        }
    }

    /// Takes the first of the most urgent, which may have to be passed over.
    fn pop(&mut self) -> Option<(u64, K)> {
        match self {
            Self::Plain { normal, low } => normal.pop_front().or_else(|| low.pop_front()),
            Self::Ranked(ranks) => ranks.pop(),
        }
    }
}

impl<K: Clone + Eq + Hash, T: Copy + Ord> State<K, T> {
    fn add(&mut self, key: &K, priority: Priority, now: T) -> Option<Waker> {
        match self.items.get_mut(key).map(|item| (item.place, item)) {
            Some((Place::Running(_), item)) => {
                match &mut item.again {
                    Some((known, _)) => *known = priority.max(*known),
                    none => {
                        *none = Some((priority, now));
                        self.adds += 1;
                    }
                }
                return None;
            }
            Some((
                Place::Ready {
                    priority: known,
                    since,
                    number,
                },
                _,
            )) => {
                if known < priority {
                    self.waiting -= 1;
                    if let Ready::Ranked(ranks) = &mut self.ready {
                        ranks.remove(key, known, number);
                    }
                    self.make_ready(key, priority, since);
                    self.tidy();
                }
                return None;
            }
            Some((Place::Later(waiting), _)) => {
                self.later.remove(&(waiting.at, waiting.number));
                if let Some(no_sooner) = waiting.no_sooner.filter(|no_sooner| *no_sooner > now) {
                    return self.wait(
                        key,
                        Waiting {
                            at: waiting.at.min(no_sooner),
                            priority: waiting.priority.max(priority),
                            ..waiting
                        },
                    );
                }
            }
            None => {}
        }
        self.adds += 1;
        self.make_ready(key, priority, now);
        self.a_worker()
    }

    fn next(&mut self, worker: usize, waker: &Waker, now: T) -> (Next<K, T>, Option<Waker>) {
        self.idle.remove(&worker);
        if self.is_closed {
            return (Next::Closed, None);
        }
        let Some((key, since)) = self.begin(now) else {
            self.idle.insert(worker, waker.clone());
            return (Next::Wait, None);
        };
        // The worker that was woken for this key may have taken another one.
        let another = if self.waiting == 0 {
            None
        } else {
            self.a_worker()
        };
        (Next::Key(key, since), another)
    }

    /// Notes that a worker has the first key that is ready, and returns the key and since when it was.
    fn begin(&mut self, now: T) -> Option<(K, T)> {
        loop {
            let (number, key) = self.ready.pop()?;
            let place = self.items.get_mut(&key).map(|item| &mut item.place);
            if let Some(place) = place.filter(|place| place.is_ready(number))
                && let Place::Ready { since, .. } = *place
            {
                self.sequence += 1;
                *place = Place::Running(self.sequence);
                self.running.insert(self.sequence, now);
                self.waiting -= 1;
                return Some((key, since));
            }
        }
    }

    fn done(&mut self, key: &K, back: Option<Back<T>>, priority: Priority) -> Option<Waker> {
        let item = self.items.get_mut(key)?;
        if let Place::Running(number) = item.place {
            self.running.remove(&number);
        }
        let again = item.again.take();
        let (at, no_sooner) = match (back, again) {
            (Some(Back::NotBefore { no_sooner, at }), None) => (at, Some(no_sooner)),
            (Some(Back::NotBefore { no_sooner, at }), Some(_)) => {
                (at.min(no_sooner), Some(no_sooner))
            }
            (_, Some((priority, since))) => {
                self.make_ready(key, priority, since);
                return self.a_worker();
            }
            (Some(Back::At(at)), None) => (at, None),
            (None, None) => {
                self.items.remove(key);
                return None;
            }
        };
        let waiting = Waiting {
            at,
            number: self.number(),
            no_sooner,
            priority: again.map_or(priority, |(priority, _)| priority),
        };
        self.wait(key, waiting)
    }

    fn forget(&mut self, is_meant: impl Fn(&K) -> bool) {
        let Self {
            items,
            ready,
            waiting,
            later,
            ..
        } = self;
        items.retain(|key, item| {
            if !is_meant(key) {
                return true;
            }
            match item.place {
                Place::Ready {
                    priority, number, ..
                } => {
                    *waiting -= 1;
                    if let Ready::Ranked(ranks) = ready {
                        ranks.remove(key, priority, number);
                    }
                }
                Place::Later(at) => drop(later.remove(&(at.at, at.number))),
                Place::Running(_) => {
                    item.again = None;
                    return true;
                }
            }
            false
        });
        if let Ready::Plain { normal, low } = ready {
            normal.retain(|(_, key)| items.contains_key(key));
            low.retain(|(_, key)| items.contains_key(key));
        }
    }

    /// Delays a key until its time, and returns the waker of the clock if this key is the next one.
    fn wait(&mut self, key: &K, waiting: Waiting<T>) -> Option<Waker> {
        self.place(key, Place::Later(waiting));
        let place = (waiting.at, waiting.number);
        self.later.insert(place, key.clone());
        let is_first = self
            .later
            .first_key_value()
            .is_some_and(|(first, _)| *first == place);
        if is_first { self.clock.take() } else { None }
    }

    /// The keys that workers get next, with their priorities and since when they are ready.
    fn first(&self, most: usize) -> Vec<(K, Priority, T)> {
        let ready = |(number, key): (u64, &K)| match self.items.get(key)?.place {
            Place::Ready {
                priority,
                number: by,
                since,
            } if by == number => Some((key.clone(), priority, since)),
            _ => None,
        };
        match &self.ready {
            Ready::Plain { normal, low } => {
                let all = normal.iter().chain(low);
                let all = all.map(|(number, key)| (*number, key));
                all.filter_map(ready).take(most).collect()
            }
            Ready::Ranked(ranks) => {
                let first = ranks.first(most).into_iter();
                first.filter_map(ready).collect()
            }
        }
    }

    /// The keys that workers have had for longest. They are looked for, so that no worker has to note its key for this.
    fn longest(&self, most: usize) -> Vec<(K, T)> {
        let running = self.items.iter().filter_map(|(key, item)| {
            let Place::Running(number) = item.place else {
                return None;
            };
            Some((key, *self.running.get(&number)?))
        });
        let mut running: Vec<(&K, T)> = running.take(self.running.len()).collect();
        running.sort_by_key(|(_, since)| *since);
        let longest = running.into_iter().take(most);
        longest.map(|(key, since)| (key.clone(), since)).collect()
    }

    fn priority(&self, key: &K) -> Priority {
        match self.items.get(key).map(|item| item.place) {
            Some(Place::Later(waiting)) => waiting.priority,
            _ => Priority::LOW,
        }
    }

    fn make_ready(&mut self, key: &K, priority: Priority, since: T) {
        let number = self.number();
        let place = Place::Ready {
            priority,
            number,
            since,
        };
        self.place(key, place);
        self.ready.push(key.clone(), priority, number);
        self.waiting += 1;
    }

    /// Forgets what would be passed over, before there is more of it than there are keys: what is urgent may keep workers
    /// from the rest for long.
    fn tidy(&mut self) {
        let items = &self.items;
        let Ready::Plain { low, .. } = &mut self.ready else {
            return;
        };
        if low.len() <= 2 * items.len() {
            return;
        }
        low.retain(|(number, key)| {
            let place = items.get(key).map(|item| &item.place);
            place.is_some_and(|place| place.is_ready(*number))
        });
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

/// Wakes tasks after the lock was released, so that none of them has to wait for it.
fn wake(wakers: impl IntoIterator<Item = Waker>) {
    for waker in wakers {
        waker.wake();
    }
}
