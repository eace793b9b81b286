//! Looking at a queue: the keys that workers get next, in that order, and no more of them than asked for.

use std::task::Waker;

use proptest::prelude::*;

use super::super::Priority;
use super::super::state::{Back, Next, Queue as State};

type Key = (&'static str, u32);

/// What workers get when nothing is added any more.
fn drained(queue: &State<Key, u32>) -> Vec<Key> {
    let taken = std::iter::from_fn(|| match queue.next(0, Waker::noop(), 0) {
        Next::Key(key, _) => Some(key),
        Next::Wait | Next::Closed => None,
    });
    taken.collect()
}

proptest! {
    #[test]
    fn the_first_keys_are_those_that_workers_get_next(
        adds in proptest::collection::vec((0..3_usize, 0..8_u32, -2..3_i32), 0..60),
        taken in 0..10_usize,
        most in 0..12_usize,
        is_ranked in any::<bool>(),
    ) {
        let queue: State<Key, u32> = if is_ranked { State::ranked(|key: &Key| key.0) } else { State::new() };
        let namespaces = ["blue", "green", "red"];
        for (namespace, name, priority) in adds {
            queue.add(&(namespaces[namespace], name), Priority(priority * 100), 0);
        }
        for _ in 0..taken {
            queue.next(0, Waker::noop(), 0);
        }
        let glance = queue.glance(most);
        let all = drained(&queue);
        prop_assert_eq!(glance.ready_total, all.len());
        let first: Vec<Key> = glance.ready.iter().map(|(key, _, _)| *key).collect();
        prop_assert_eq!(&first[..], &all[..most.min(all.len())]);
    }
}

#[test]
fn what_returns_later_is_seen_with_its_time_the_next_first() {
    let queue: State<Key, u32> = State::new();
    for (name, at) in [(1, 30), (2, 10), (3, 20)] {
        queue.add(&("blue", name), Priority::NORMAL, 0);
        queue.next(0, Waker::noop(), 0);
        queue.done(&("blue", name), Some(Back::At(at)), Priority::LOW);
    }
    let glance = queue.glance(2);
    assert_eq!((glance.ready_total, glance.later_total), (0, 3));
    let later = [
        (("blue", 2), Priority::LOW, 10),
        (("blue", 3), Priority::LOW, 20),
    ];
    assert_eq!(glance.later, later);
}

#[test]
fn what_workers_have_had_for_longest_is_seen_first() {
    let queue: State<Key, u32> = State::new();
    for name in 0..6 {
        queue.add(&("blue", name), Priority::NORMAL, 0);
    }
    for at in [30, 10, 20, 40] {
        queue.next(0, Waker::noop(), at);
    }
    queue.done(&("blue", 3), None, Priority::LOW);
    let glance = queue.glance(2);
    assert_eq!((glance.running_total, glance.ready_total), (3, 2));
    assert_eq!(glance.running, [(("blue", 1), 10), (("blue", 2), 20)]);
}

#[test]
fn of_a_hundred_thousand_keys_as_many_are_copied_as_were_asked_for() {
    for is_ranked in [true, false] {
        let queue: State<Counted, u32> = if is_ranked {
            State::ranked(|_: &Counted| "")
        } else {
            State::new()
        };
        let count = std::sync::Arc::new(());
        for number in 0..100_000 {
            queue.add(&Counted(count.clone(), number), Priority::NORMAL, 0);
        }
        let before = std::sync::Arc::strong_count(&count);
        let glance = queue.glance(100);
        assert_eq!(glance.ready_total, 100_000);
        assert_eq!(glance.ready.len(), 100);
        assert_eq!(std::sync::Arc::strong_count(&count), before + 100);
    }
}

/// A key whose copies are counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Counted(std::sync::Arc<()>, u32);
