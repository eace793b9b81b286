//! Priorities and turns against a plain model, and what they promise.

use std::collections::BTreeMap;
use std::task::Waker;

use proptest::prelude::*;

use super::super::Priority;
use super::super::state::{Next, Queue};

type Key = (&'static str, u32);

const GROUPS: [&str; 3] = ["blue", "green", "red"];

fn queue() -> Queue<Key, u32> {
    Queue::ranked(|(group, _)| group)
}

fn take(queue: &Queue<Key, u32>) -> Option<Key> {
    match queue.next(0, Waker::noop(), 0) {
        Next::Key(key, _) => {
            queue.done(&key, None, Priority::LOW);
            Some(key)
        }
        Next::Wait => None,
        Next::Closed => panic!("the queue is closed before a call to close"),
    }
}

fn key() -> impl Strategy<Value = Key> {
    (0..GROUPS.len(), 0..6_u32).prop_map(|(group, number)| (GROUPS[group], number))
}

/// What waits, in lists: for each priority the groups in the order of their turns, each with its keys.
#[derive(Default)]
struct Model(BTreeMap<i32, Vec<(&'static str, Vec<Key>)>>);

impl Model {
    fn priority(&self, key: Key) -> Option<i32> {
        let has =
            |groups: &Vec<(&str, Vec<Key>)>| groups.iter().any(|(_, keys)| keys.contains(&key));
        let mut ranks = self.0.iter();
        ranks.find(|(_, groups)| has(groups)).map(|(rank, _)| *rank)
    }

    fn add(&mut self, key: Key, priority: i32) {
        if let Some(known) = self.priority(key) {
            if known >= priority {
                return;
            }
            let groups = self.0.get_mut(&known).unwrap();
            for (_, keys) in groups.iter_mut() {
                keys.retain(|other| *other != key);
            }
            groups.retain(|(_, keys)| !keys.is_empty());
        }
        let groups = self.0.entry(priority).or_default();
        match groups.iter_mut().find(|(group, _)| *group == key.0) {
            Some((_, keys)) => keys.push(key),
            None => groups.push((key.0, vec![key])),
        }
    }

    fn take(&mut self) -> Option<Key> {
        let groups = self
            .0
            .values_mut()
            .rev()
            .find(|groups| !groups.is_empty())?;
        let (group, mut keys) = groups.remove(0);
        let key = keys.remove(0);
        if !keys.is_empty() {
            groups.push((group, keys));
        }
        Some(key)
    }
}

proptest! {
    #[test]
    fn keys_come_by_priority_then_by_turns_then_as_they_came(
        steps in proptest::collection::vec(proptest::option::weighted(0.7, (key(), -3..3_i32)), 0..200)
    ) {
        let (queue, mut model) = (queue(), Model::default());
        for step in steps {
            if let Some((key, priority)) = step {
                queue.add(&key, Priority(priority), 0);
                model.add(key, priority);
            } else {
                prop_assert_eq!(take(&queue), model.take());
            }
        }
        while let Some(expected) = model.take() {
            prop_assert_eq!(take(&queue), Some(expected));
        }
        prop_assert_eq!(take(&queue), None);
    }

    #[test]
    fn between_two_of_one_group_comes_one_of_each_other_that_waits(
        steps in proptest::collection::vec(proptest::option::weighted(0.6, key()), 0..300)
    ) {
        let queue = queue();
        let mut waiting: BTreeMap<&str, Vec<Key>> = BTreeMap::new();
        // The step at which a group came to wait or had its last turn, and that of its last turn.
        let (mut waits_since, mut served) = (BTreeMap::new(), BTreeMap::new());
        for (now, step) in steps.into_iter().enumerate() {
            if let Some(key) = step {
                queue.add(&key, Priority::NORMAL, 0);
                let keys = waiting.entry(key.0).or_default();
                if keys.is_empty() {
                    waits_since.insert(key.0, now);
                }
                if !keys.contains(&key) {
                    keys.push(key);
                }
                continue;
            }
            let Some(key) = take(&queue) else { continue };
            if let Some(before) = served.insert(key.0, now) {
                for (other, keys) in waiting.iter().filter(|(other, _)| **other != key.0) {
                    prop_assert!(
                        keys.is_empty() || waits_since[other] > before,
                        "{} had two turns while {other} waited", key.0
                    );
                }
            }
            waiting.get_mut(key.0).unwrap().retain(|other| *other != key);
            waits_since.insert(key.0, now);
        }
    }
}

#[test]
fn what_is_urgent_overtakes_ten_thousand_others() {
    let queue = queue();
    for number in 0..10_000 {
        queue.add(&("blue", number), Priority::LOW, 0);
    }
    queue.add(&("red", 1), Priority(1000), 0);
    queue.add(&("blue", 9_999), Priority(2000), 0);
    assert_eq!(take(&queue), Some(("blue", 9_999)));
    assert_eq!(take(&queue), Some(("red", 1)));
    assert_eq!(take(&queue), Some(("blue", 0)));
    assert_eq!(queue.load().waiting, 9_998);
}

#[test]
fn a_group_of_a_hundred_thousand_does_not_hold_up_another() {
    let queue = queue();
    for number in 0..100_000 {
        queue.add(&("blue", number), Priority::LOW, 0);
    }
    assert_eq!(take(&queue), Some(("blue", 0)));
    queue.add(&("red", 0), Priority::LOW, 0);
    queue.add(&("red", 1), Priority::LOW, 0);
    for expected in [
        ("blue", 1),
        ("red", 0),
        ("blue", 2),
        ("red", 1),
        ("blue", 3),
    ] {
        assert_eq!(take(&queue), Some(expected));
    }
}

#[test]
fn a_key_that_comes_back_has_the_priority_that_it_was_given_back_with() {
    let queue: Queue<&str, u32> = Queue::ranked(|_| "");
    queue.add(&"again", Priority::NORMAL, 0);
    assert_eq!(queue.next(0, Waker::noop(), 0), Next::Key("again", 0));
    let back = super::super::Back::At(1);
    queue.done(&"again", Some(back), Priority(50));
    queue.add(&"other", Priority(49), 0);
    assert_eq!(queue.due(1, Waker::noop()), None);
    assert_eq!(queue.next(0, Waker::noop(), 1), Next::Key("again", 1));
}
