//! The order among keys of any number of priorities, in which namespaces take turns.
//!
//! The loom model in `tests/` compiles this file a second time, as it does `state.rs`.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use ahash::AHashMap;

use super::priority::Priority;

/// Keys that are ready, with their numbers. Those of the highest priority come first; among them the groups take turns,
/// and within a group the first comes first.
pub(super) struct Ranks<K> {
    by_priority: BTreeMap<Reverse<Priority>, Rank<K>>,
    group: fn(&K) -> &str,
    turn: u64,
}

/// The keys of one priority.
struct Rank<K> {
    groups: AHashMap<Box<str>, Group<K>>,
    /// The groups by their turns. Each group that has keys has one.
    turns: BTreeMap<u64, Box<str>>,
}

struct Group<K> {
    turn: u64,
    keys: BTreeMap<u64, K>,
}

impl<K> Ranks<K> {
    pub(super) fn new(group: fn(&K) -> &str) -> Self {
        Self {
            by_priority: BTreeMap::new(),
            group,
            turn: 0,
        }
    }

    pub(super) fn push(&mut self, key: K, priority: Priority, number: u64) {
        let rank = self.by_priority.entry(Reverse(priority)).or_default();
        let name = (self.group)(&key);
        if let Some(group) = rank.groups.get_mut(name) {
            group.keys.insert(number, key);
            return;
        }
        self.turn += 1;
        let turn = self.turn;
        let name: Box<str> = name.into();
        rank.turns.insert(turn, name.clone());
        let keys = BTreeMap::from([(number, key)]);
        rank.groups.insert(name, Group { turn, keys });
    }

    /// Takes the key whose turn it is.
    pub(super) fn pop(&mut self) -> Option<(u64, K)> {
        let mut entry = self.by_priority.first_entry()?;
        let rank = entry.get_mut();
        let (_, name) = rank.turns.pop_first()?;
        let group = rank.groups.get_mut(&name)?;
        let first = group.keys.pop_first();
        if group.keys.is_empty() {
            rank.groups.remove(&name);
        } else {
            self.turn += 1;
            group.turn = self.turn;
            rank.turns.insert(self.turn, name);
        }
        if rank.turns.is_empty() {
            entry.remove();
        }
        first
    }

    /// The first keys, in the order in which they are taken.
    pub(super) fn first(&self, most: usize) -> Vec<(u64, &K)> {
        let mut first = Vec::new();
        for rank in self.by_priority.values() {
            // Whose turn is later than that of so many others has none of the first keys.
            let groups = rank.turns.values().take(most - first.len());
            let mut groups: Vec<_> = groups
                .filter_map(|name| Some(rank.groups.get(name)?.keys.iter()))
                .collect();
            while first.len() < most && !groups.is_empty() {
                groups.retain_mut(|keys| match keys.next() {
                    Some((number, key)) => {
                        first.push((*number, key));
                        true
                    }
                    None => false,
                });
            }
            first.truncate(most);
        }
        first
    }

    /// Takes out a key that has become more urgent.
    pub(super) fn remove(&mut self, key: &K, priority: Priority, number: u64) {
        let Some(rank) = self.by_priority.get_mut(&Reverse(priority)) else {
            return;
        };
        let name = (self.group)(key);
        let Some(group) = rank.groups.get_mut(name) else {
            return;
        };
        group.keys.remove(&number);
        if group.keys.is_empty() {
            rank.turns.remove(&group.turn);
            rank.groups.remove(name);
        }
        if rank.turns.is_empty() {
            self.by_priority.remove(&Reverse(priority));
        }
    }
}

impl<K> Default for Rank<K> {
    fn default() -> Self {
        Self {
            groups: AHashMap::new(),
            turns: BTreeMap::new(),
        }
    }
}
