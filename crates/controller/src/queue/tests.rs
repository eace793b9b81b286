//! The queue against a model of it: no key is lost, none is given out twice, the urgent go first.

mod glance;
mod limit;
mod turns;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::Duration;

use futures::task::{ArcWake, waker};
use proptest::prelude::*;
use tokio::time::Instant;

use super::state::{Back, Next, Queue as State};
use super::{Priority, Queue};

#[derive(Clone, Debug)]
enum Step {
    Add(u8, Priority),
    Take,
    /// Gives back the key that was taken first, to be given out again after a time if one is named.
    Done(Option<u8>),
    /// Gives back the key that was taken first, to be given out again after a time, or when it is added, but not before
    /// another time.
    Fail(u8, u8),
    /// Forgets the keys from this one on.
    Forget(u8),
    /// Time passes.
    Pass(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let priority = prop_oneof![
        Just(Priority::LOW),
        Just(Priority::NORMAL),
        Just(Priority(9))
    ];
    prop_oneof![
        4 => (0..6_u8, priority).prop_map(|(key, priority)| Step::Add(key, priority)),
        4 => Just(Step::Take),
        4 => proptest::option::of(1..10_u8).prop_map(Step::Done),
        2 => (1..4_u8, 1..10_u8).prop_map(|(no_sooner, pause)| Step::Fail(no_sooner, pause)),
        1 => (0..6_u8).prop_map(Step::Forget),
        1 => (1..8_u8).prop_map(Step::Pass),
    ]
}

/// What the queue has to know, in the plainest form.
#[derive(Default)]
struct Model {
    now: u32,
    waiting: BTreeMap<u8, Priority>,
    /// When each comes back, and when the news of it may have it come at the soonest.
    later: BTreeMap<u8, (u32, Option<u32>)>,
    running: Vec<u8>,
    again: BTreeSet<u8>,
}

impl Model {
    fn add(&mut self, key: u8, priority: Priority) {
        if self.running.contains(&key) {
            self.again.insert(key);
            return;
        }
        if let Some((at, Some(no_sooner))) = self.later.get_mut(&key)
            && *no_sooner > self.now
        {
            *at = *no_sooner.min(at);
            return;
        }
        self.later.remove(&key);
        let known = self.waiting.entry(key).or_insert(priority);
        *known = priority.max(*known);
    }

    fn done(&mut self, key: u8, at: Option<u32>) {
        self.running.retain(|running| *running != key);
        if self.again.remove(&key) {
            self.waiting.insert(key, Priority::LOW);
        } else if let Some(at) = at {
            self.later.insert(key, (at, None));
        }
    }

    fn fail(&mut self, key: u8, no_sooner: u32, at: u32) {
        self.running.retain(|running| *running != key);
        let at = if self.again.remove(&key) {
            at.min(no_sooner)
        } else {
            at
        };
        self.later.insert(key, (at, Some(no_sooner)));
    }

    fn forget(&mut self, from: u8) {
        self.waiting.retain(|key, _| *key < from);
        self.later.retain(|key, _| *key < from);
        self.again.retain(|key| *key < from);
    }

    fn pass(&mut self, time: u32) {
        self.now += time;
        let due: Vec<u8> = self
            .later
            .iter()
            .filter(|(_, (at, _))| *at <= self.now)
            .map(|(key, _)| *key)
            .collect();
        for key in due {
            self.later.remove(&key);
            self.waiting.insert(key, Priority::LOW);
        }
    }
}

proptest! {
    #[test]
    fn the_queue_does_what_its_model_does(
        steps in proptest::collection::vec(step(), 0..200),
        is_ranked in any::<bool>(),
    ) {
        let queue: State<u8, u32> = if is_ranked {
            State::ranked(|key| if key % 2 == 0 { "even" } else { "odd" })
        } else {
            State::new()
        };
        let waker = Waker::noop();
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Add(key, priority) => {
                    queue.add(&key, priority, model.now);
                    model.add(key, priority);
                }
                Step::Take => match queue.next(0, waker, model.now) {
                    Next::Key(key, since) => {
                        prop_assert!(since <= model.now);
                        prop_assert!(!model.running.contains(&key), "{key} twice at once");
                        prop_assert!(model.waiting.remove(&key).is_some(), "{key} was not asked for");
                        model.running.push(key);
                    }
                    Next::Wait => prop_assert!(model.waiting.is_empty(), "{:?} lost", model.waiting),
                    Next::Closed => prop_assert!(false, "the queue is closed before a call to close"),
                },
                Step::Done(pause) => if let Some(key) = model.running.first().copied() {
                    let at = pause.map(|pause| model.now + u32::from(pause));
                    queue.done(&key, at.map(Back::At), Priority::LOW);
                    model.done(key, at);
                },
                Step::Fail(no_sooner, pause) => if let Some(key) = model.running.first().copied() {
                    let (no_sooner, at) = (model.now + u32::from(no_sooner), model.now + u32::from(pause));
                    queue.done(&key, Some(Back::NotBefore { no_sooner, at }), Priority::LOW);
                    model.fail(key, no_sooner, at);
                },
                Step::Forget(from) => {
                    queue.forget(|key| *key >= from);
                    model.forget(from);
                    prop_assert_eq!(queue.load().waiting, model.waiting.len());
                }
                Step::Pass(time) => {
                    model.pass(time.into());
                    let next = queue.due(model.now, waker);
                    prop_assert_eq!(next, model.later.values().map(|(at, _)| *at).min());
                }
            }
        }
    }

    #[test]
    fn the_urgent_go_first_and_then_the_first(
        adds in proptest::collection::vec((0..50_u8, any::<bool>()), 0..100)
    ) {
        let queue: State<u8, u32> = State::new();
        let mut expected: Vec<(u8, Priority)> = Vec::new();
        for (key, is_urgent) in adds {
            let priority = if is_urgent { Priority::NORMAL } else { Priority::LOW };
            queue.add(&key, priority, 0);
            match expected.iter_mut().find(|(known, _)| *known == key) {
                Some((_, known)) if *known >= priority => {}
                // What becomes urgent queues up behind what is.
                Some(_) => {
                    expected.retain(|(known, _)| *known != key);
                    expected.push((key, priority));
                }
                None => expected.push((key, priority)),
            }
        }
        expected.sort_by_key(|(_, priority)| std::cmp::Reverse(*priority));
        for (key, _) in expected {
            prop_assert_eq!(queue.next(0, Waker::noop(), 0), Next::Key(key, 0));
        }
        prop_assert_eq!(queue.next(0, Waker::noop(), 0), Next::Wait);
    }
}

struct Count(AtomicUsize);

impl ArcWake for Count {
    fn wake_by_ref(count: &Arc<Self>) {
        count.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn one_key_wakes_one_worker() {
    let counts: Vec<Arc<Count>> = (0..3)
        .map(|_| Arc::new(Count(AtomicUsize::new(0))))
        .collect();
    let queue: State<u8, u32> = State::new();
    for (worker, count) in counts.iter().enumerate() {
        assert_eq!(queue.next(worker, &waker(Arc::clone(count)), 0), Next::Wait);
    }
    let woken = || {
        counts
            .iter()
            .map(|count| count.0.load(Ordering::Relaxed))
            .sum::<usize>()
    };
    queue.add(&1, Priority::NORMAL, 0);
    assert_eq!(woken(), 1);
    queue.add(&1, Priority::NORMAL, 0);
    assert_eq!(woken(), 1, "a key that waits already is no news");
    queue.add(&2, Priority::NORMAL, 0);
    assert_eq!(woken(), 2);
    queue.close();
    assert_eq!(woken(), 3, "close wakes every waiting worker");
    assert_eq!(queue.next(0, Waker::noop(), 0), Next::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_key_comes_back_when_its_time_has_come() {
    let queue = Arc::new(Queue::<&str>::new(None, None));
    let time = Arc::clone(&queue);
    let clock = tokio::spawn(async move { time.keep_time().await });
    let start = Instant::now();
    for (key, seconds) in [("late", 300), ("soon", 2), ("later", 60)] {
        queue.add(&key, Priority::NORMAL, Instant::now());
        assert_eq!(queue.take(0).await.unwrap().0, key);
        let back = Back::At(start + Duration::from_secs(seconds));
        queue.done(&key, Some(back), Priority::LOW);
        // The clock gets to see each before the next.
        tokio::task::yield_now().await;
    }
    for (key, seconds) in [("soon", 2), ("later", 60), ("late", 300)] {
        let (taken, waited, _) = queue.take(0).await.unwrap();
        assert_eq!((taken, waited), (key, Duration::ZERO));
        assert_eq!((Instant::now() - start).as_secs(), seconds);
    }
    clock.abort();
}

#[test]
fn what_waits_and_what_is_worked_on_is_counted_once() {
    let queue: State<&str, u32> = State::new();
    queue.add(&"a", Priority::LOW, 1);
    queue.add(&"a", Priority::NORMAL, 2);
    queue.add(&"b", Priority::LOW, 3);
    // It has waited since it was added first, however urgent it has become.
    assert_eq!(queue.next(0, Waker::noop(), 5), Next::Key("a", 1));
    queue.add(&"a", Priority::NORMAL, 6);
    queue.add(&"a", Priority::NORMAL, 7);
    let load = queue.load();
    assert_eq!((load.waiting, load.adds), (1, 3));
    assert_eq!(load.running, [5]);
    queue.done(&"a", None, Priority::LOW);
    assert_eq!(queue.next(0, Waker::noop(), 9), Next::Key("a", 6));
    queue.done(&"a", Some(Back::At(20)), Priority::LOW);
    assert_eq!(queue.due(30, Waker::noop()), None);
    let load = queue.load();
    assert_eq!((load.waiting, load.adds, load.running.len()), (2, 4, 0));
    assert_eq!(queue.next(0, Waker::noop(), 31), Next::Key("b", 3));
    // What was asked for at a time has waited since that time.
    assert_eq!(queue.next(1, Waker::noop(), 31), Next::Key("a", 20));
}

#[tokio::test(start_paused = true)]
async fn news_of_a_key_that_failed_cut_its_pause_short_but_not_to_nothing() {
    let queue = Arc::new(Queue::<&str>::new(None, None));
    let time = Arc::clone(&queue);
    let clock = tokio::spawn(async move { time.keep_time().await });
    let start = Instant::now();
    let second = Duration::from_secs(1);
    for is_early in [true, false] {
        queue.add(&"a", Priority::NORMAL, Instant::now());
        assert_eq!(queue.take(0).await.unwrap().0, "a");
        let failed = Instant::now();
        if is_early {
            queue.add(&"a", Priority::NORMAL, Instant::now());
        }
        queue.done(
            &"a",
            Some(Back::NotBefore {
                no_sooner: failed + second,
                at: failed + 1000 * second,
            }),
            Priority::LOW,
        );
        tokio::task::yield_now().await;
        if !is_early {
            queue.add(&"a", Priority::NORMAL, Instant::now());
        }
        assert_eq!(queue.take(0).await.unwrap().0, "a");
        assert_eq!((Instant::now() - failed).as_secs(), 1);
        queue.done(&"a", None, Priority::LOW);
    }
    assert_eq!((Instant::now() - start).as_secs(), 2);
    clock.abort();
}

#[test]
fn what_has_become_urgent_does_not_pile_up_behind_it() {
    let queue: State<Arc<str>, u32> = State::new();
    let key: Arc<str> = "a".into();
    queue.add(&"patient".into(), Priority::LOW, 0);
    for _ in 0..1_000 {
        queue.add(&key, Priority::LOW, 0);
        queue.add(&key, Priority::NORMAL, 0);
        let taken = queue.next(0, Waker::noop(), 0);
        assert_eq!(taken, Next::Key(Arc::clone(&key), 0));
        queue.done(&key, None, Priority::LOW);
    }
    assert!(Arc::strong_count(&key) < 10, "{}", Arc::strong_count(&key));
    assert_eq!(queue.load().waiting, 1);
    let patient = queue.next(0, Waker::noop(), 0);
    assert_eq!(patient, Next::Key("patient".into(), 0));
    assert_eq!(queue.next(0, Waker::noop(), 0), Next::Wait);
}
