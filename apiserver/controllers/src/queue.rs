//! What is to be looked at: each key once, never twice at the same time, again after a failure.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;

use tokio::time::{Duration, Instant};

/// Keys that wait for their turn.
#[derive(Debug)]
pub(super) struct Queue<K> {
    ready: VecDeque<K>,
    waiting: HashSet<K>,
    /// Those that are being looked at, and whether they have changed since.
    running: HashMap<K, bool>,
    later: BTreeSet<(Instant, K)>,
    due: HashMap<K, Instant>,
    failures: HashMap<K, u32>,
}

/// When a key is to be looked at again, if nothing changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Not at all.
    Done,
    /// After this time.
    After(Duration),
    /// After a time that grows with every failure in a row.
    Failed,
}

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    pub(super) fn new() -> Self {
        Self {
            ready: VecDeque::new(),
            waiting: HashSet::new(),
            running: HashMap::new(),
            later: BTreeSet::new(),
            due: HashMap::new(),
            failures: HashMap::new(),
        }
    }

    /// Puts a key behind the others, unless it waits already.
    pub(super) fn add(&mut self, key: K) {
        if let Some(changed) = self.running.get_mut(&key) {
            *changed = true;
        } else if self.waiting.insert(key.clone()) {
            self.ready.push_back(key);
        }
    }

    /// The next key, which is not given out again until it is [`done`](Self::done).
    pub(super) fn next(&mut self) -> Option<K> {
        let now = Instant::now();
        while let Some((_, key)) = self.later.first().filter(|(due, _)| *due <= now).cloned() {
            self.forget_later(&key);
            self.add(key);
        }
        let key = self.ready.pop_front()?;
        self.waiting.remove(&key);
        self.running.insert(key.clone(), false);
        Some(key)
    }

    /// Takes a key back.
    pub(super) fn done(&mut self, key: K, next: Next) {
        const FIRST: Duration = Duration::from_millis(5);
        const LONGEST: Duration = Duration::from_secs(1000);
        let changed = self.running.remove(&key).unwrap_or_default();
        self.forget_later(&key);
        let wait = match next {
            Next::Failed => {
                let failures = self.failures.entry(key.clone()).or_default();
                let wait = FIRST.saturating_mul(2_u32.saturating_pow(*failures));
                *failures += 1;
                Some(wait.min(LONGEST))
            }
            Next::Done => {
                self.failures.remove(&key);
                None
            }
            Next::After(wait) => {
                self.failures.remove(&key);
                Some(wait)
            }
        };
        if changed {
            self.add(key);
        } else if let Some(wait) = wait {
            let due = Instant::now() + wait;
            self.later.insert((due, key.clone()));
            self.due.insert(key, due);
        }
    }

    /// When the next key becomes ready by itself.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.later.first().map(|(due, _)| *due)
    }

    fn forget_later(&mut self, key: &K) {
        if let Some(due) = self.due.remove(key) {
            self.later.remove(&(due, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_key_waits_once_and_never_runs_twice_at_the_same_time() {
        let mut queue = Queue::new();
        queue.add("a");
        queue.add("a");
        queue.add("b");
        assert_eq!(queue.next(), Some("a"));
        queue.add("a");
        assert_eq!(queue.next(), Some("b"));
        assert_eq!(queue.next(), None);
        queue.done("a", Next::Done);
        assert_eq!(queue.next(), Some("a"));
        queue.done("a", Next::Done);
        assert_eq!(queue.next(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_comes_back_after_its_time_and_after_failures_ever_later() {
        let mut queue = Queue::new();
        queue.add("a");
        queue.next();
        queue.done("a", Next::After(Duration::from_secs(3)));
        assert_eq!(queue.next(), None);
        tokio::time::advance(Duration::from_secs(3)).await;
        let mut waits = Vec::new();
        for _ in 0..4 {
            assert_eq!(queue.next(), Some("a"));
            queue.done("a", Next::Failed);
            let wait = queue.next_due().unwrap() - Instant::now();
            waits.push(wait.as_millis());
            tokio::time::advance(wait).await;
        }
        assert_eq!(waits, [5, 10, 20, 40]);
        assert_eq!(queue.next(), Some("a"));
        queue.done("a", Next::Done);
        assert_eq!(queue.next_due(), None);
    }
}
