//! The queue and the store under every order in which threads can run.
//!
//! The sources of the crate are compiled here with loom's locks instead of the standard library's.

// The sources hold more than the models use.
#![allow(dead_code, reason = "the models use a part of what the sources hold")]

use std::future::poll_fn;
use std::task::Poll;

use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::{future, thread};

mod sync {
    use std::sync::{LockResult, PoisonError};

    pub(crate) use loom::sync::{Mutex, RwLock};

    pub(crate) fn locked<G>(result: LockResult<G>) -> G {
        result.unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a store holds, at its smallest.
mod entry {
    #[derive(Debug)]
    pub(crate) struct Entry {
        pub(crate) key: super::Key,
        pub(crate) version: u32,
        pub(crate) text: String,
    }

    impl Entry {
        pub(crate) fn key(&self) -> &super::Key {
            &self.key
        }

        pub(crate) fn version(&self) -> (&str, &str) {
            ("uid", &self.text)
        }

        pub(crate) fn is_packed(&self) -> bool {
            !self.text.is_empty()
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(&'static str);

#[path = "../src/informer/ahead.rs"]
mod ahead;
#[path = "../src/informer/delta.rs"]
mod delta;
#[path = "../src/informer/index.rs"]
mod index;
#[path = "../src/queue/priority.rs"]
mod priority;
#[path = "../src/queue/ranks.rs"]
mod ranks;
#[path = "../src/queue/state.rs"]
mod state;
#[path = "../src/informer/store.rs"]
mod store;
#[path = "../src/versions.rs"]
mod versions;

use delta::{Delta, Origin};
use entry::Entry;
use index::{Indexed, Postings};
use priority::Priority;
use state::{Next, Queue};
use store::Store;

/// Runs a model in every order of its threads in which none is held up more than twice, which keeps it quick.
fn model(run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(2);
    builder.check(run);
}

async fn take(queue: &Queue<&'static str, u32>, worker: usize) -> Option<&'static str> {
    poll_fn(|context| match queue.next(worker, context.waker(), 0) {
        Next::Key(key, _) => Poll::Ready(Some(key)),
        Next::Wait => Poll::Pending,
        Next::Closed => Poll::Ready(None),
    })
    .await
}

#[test]
fn a_key_that_is_added_while_a_worker_has_it_is_worked_on_again_and_never_twice_at_once() {
    model(|| {
        let queue = Arc::new(Queue::new());
        let world = Arc::new(AtomicUsize::new(0));
        let adds = {
            let (queue, world) = (Arc::clone(&queue), Arc::clone(&world));
            thread::spawn(move || {
                for _ in 0..2 {
                    world.fetch_add(1, Ordering::SeqCst);
                    queue.add(&"a", Priority::NORMAL, 0);
                }
            })
        };
        let at_work = AtomicUsize::new(0);
        let mut seen = 0;
        while seen < 2 {
            let key = future::block_on(take(&queue, 0)).unwrap();
            assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0);
            // Whatever was changed before a key was added is seen by the work that follows.
            seen = world.load(Ordering::SeqCst);
            at_work.fetch_sub(1, Ordering::SeqCst);
            queue.done(&key, None, Priority::LOW);
        }
        adds.join().unwrap();
    });
}

#[test]
fn two_workers_get_two_keys_and_hear_of_the_end() {
    model(|| {
        let queue = Arc::new(Queue::new());
        let done = Arc::new(AtomicUsize::new(0));
        let workers: Vec<_> = (0..2)
            .map(|worker| {
                let (queue, done) = (Arc::clone(&queue), Arc::clone(&done));
                thread::spawn(move || {
                    while let Some(key) = future::block_on(take(&queue, worker)) {
                        queue.done(&key, None, Priority::LOW);
                        if done.fetch_add(1, Ordering::SeqCst) == 1 {
                            queue.close();
                        }
                    }
                })
            })
            .collect();
        queue.add(&"a", Priority::NORMAL, 0);
        queue.add(&"b", Priority::LOW, 0);
        for worker in workers {
            worker.join().unwrap();
        }
        assert_eq!(done.load(Ordering::SeqCst), 2);
    });
}

fn entry(key: &'static str, version: u32) -> Entry {
    Entry {
        key: Key(key),
        version,
        text: version.to_string(),
    }
}

/// The last version of each key that a subscriber was told of.
#[derive(Default)]
struct Told(std::sync::Mutex<std::collections::BTreeMap<&'static str, u32>>);

impl Told {
    fn hear(&self, delta: &Delta) {
        let mut told = self.0.lock().unwrap();
        match &delta.new {
            Some(new) => told.insert(new.key.0, new.version),
            None => told.remove(delta.old.as_ref().unwrap().key.0),
        };
    }
}

#[test]
fn a_subscriber_that_comes_amid_changes_misses_none() {
    model(|| {
        let store = Arc::new(Store::new(false));
        let changes = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.set(entry("a", 1).into());
                store.set(entry("a", 2).into());
                store.remove(&entry("a", 3));
                store.set(entry("b", 4).into());
            })
        };
        let told = std::sync::Arc::new(Told::default());
        let listener = std::sync::Arc::clone(&told);
        store.subscribe(std::sync::Arc::new(move |delta| listener.hear(delta)));
        changes.join().unwrap();
        assert_eq!(*told.0.lock().unwrap(), [("b", 4)].into());
    });
}

#[test]
fn a_list_that_replaces_what_is_known_is_seen_whole_and_before_anybody_is_told() {
    model(|| {
        let store = Arc::new(Store::new(false));
        store.set(entry("a", 1).into());
        store.set(entry("b", 1).into());
        let reader = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                let seen: Vec<u32> = store
                    .select(|_| true)
                    .iter()
                    .map(|entry| entry.version)
                    .collect();
                assert!(seen == [1, 1] || seen == [2, 2], "{seen:?}");
            })
        };
        let readable = Arc::clone(&store);
        let number = store.subscribe(std::sync::Arc::new(move |delta: &Delta| {
            let Some(new) = &delta.new else { return };
            if delta.origin == Origin::Snapshot {
                assert!(readable.get(new.key()).unwrap().version >= new.version);
            }
        }));
        let mut snapshot = store.begin_list(false);
        store.collect(&mut snapshot, entry("a", 2), |entry| entry);
        store.collect(&mut snapshot, entry("b", 2), |entry| entry);
        store.replace(snapshot, "2").unwrap();
        reader.join().unwrap();
        store.unsubscribe(number);
    });
}

/// A store after a first list of version 1, which holds `a` and `b`.
fn listed() -> Arc<Store> {
    let store = Store::new(false);
    let mut snapshot = store.begin_list(false);
    for key in ["a", "b"] {
        store.collect(&mut snapshot, entry(key, 1), |entry| entry);
    }
    store.replace(snapshot, "1").unwrap();
    Arc::new(store)
}

/// Checks that every change that a subscriber receives leads from one state to a later one.
#[derive(Default)]
struct Chain(std::sync::Mutex<std::collections::BTreeMap<&'static str, (Option<u32>, u32)>>);

impl Chain {
    fn follow(store: &Store) {
        let chain = Self::default();
        store.subscribe(std::sync::Arc::new(move |delta: &Delta| {
            let (old, new) = (&delta.old, &delta.new);
            let key = new.as_ref().or(old.as_ref()).unwrap().key.0;
            let mut all = chain.0.lock().unwrap();
            let (last, newest) = all.entry(key).or_default();
            assert_eq!(*last, old.as_ref().map(|old| old.version));
            *last = new.as_ref().map(|new| new.version);
            assert!(
                last.is_none_or(|last| last > *newest),
                "{last:?} after {newest}"
            );
            *newest = last.unwrap_or(*newest);
        }));
    }
}

#[test]
fn a_write_is_read_by_its_writer_whatever_the_watch_and_a_list_bring_meanwhile() {
    model(|| {
        let store = listed();
        Chain::follow(&store);
        // The list is asked for before the write, and shows an older state.
        let mut snapshot = store.begin_list(false);
        let writes = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.write(&entry("a", 4).into(), true);
                assert!(store.get(&Key("a")).unwrap().version >= 4);
            })
        };
        for key in ["a", "b"] {
            store.collect(&mut snapshot, entry(key, 2), |entry| entry);
        }
        store.replace(snapshot, "2").unwrap();
        store.set(entry("a", 3).into());
        store.set(entry("a", 4).into());
        writes.join().unwrap();
        assert_eq!(store.get(&Key("a")).unwrap().version, 4);
        assert_eq!(store.get(&Key("b")).unwrap().version, 2);
        assert!(!store.is_ahead(), "the watch has passed the write");
    });
}

#[test]
fn a_deletion_stays_one_whatever_the_watch_brings_meanwhile() {
    model(|| {
        let store = listed();
        Chain::follow(&store);
        let deletes = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.delete(&Key("a"), "uid", "1");
                assert!(store.get(&Key("a")).is_none());
            })
        };
        store.set(entry("a", 2).into());
        store.remove(&entry("a", 3));
        deletes.join().unwrap();
        assert!(store.get(&Key("a")).is_none());
        assert!(!store.is_ahead(), "the watch has passed the deletion");
    });
}

#[test]
fn of_two_responses_the_later_state_stays_in_whatever_order_they_come() {
    model(|| {
        let store = listed();
        Chain::follow(&store);
        let other = {
            let store = Arc::clone(&store);
            thread::spawn(move || store.write(&entry("a", 3).into(), true))
        };
        store.write(&entry("a", 2).into(), true);
        assert!(store.get(&Key("a")).unwrap().version >= 2);
        other.join().unwrap();
        assert_eq!(store.get(&Key("a")).unwrap().version, 3);
    });
}

/// An index by the version of objects, kept up to date by a store.
fn by_version(store: &Store) -> std::sync::Arc<Postings<u32>> {
    let postings = std::sync::Arc::new(Postings::new(|entry: &Entry| Ok(vec![entry.version])));
    let index: std::sync::Arc<dyn Indexed> = std::sync::Arc::clone(&postings) as _;
    store.index(&index);
    postings
}

/// The versions of the objects that an index has under a version.
fn found(store: &Store, index: &Postings<u32>, version: u32) -> Vec<u32> {
    let found = store.at(|| index.places(&version, |_| true));
    found.iter().map(|entry| entry.version).collect()
}

#[test]
fn an_index_agrees_with_the_objects_whoever_writes_lists_and_looks() {
    model(|| {
        let store = listed();
        let index = by_version(&store);
        let writes = {
            let (store, index) = (Arc::clone(&store), std::sync::Arc::clone(&index));
            thread::spawn(move || {
                store.write(&entry("a", 3).into(), true);
                assert_eq!(found(&store, &index, 3), [3], "the writer finds its write");
                assert!(!found(&store, &index, 1).contains(&3));
            })
        };
        let looks = {
            let (store, index) = (Arc::clone(&store), std::sync::Arc::clone(&index));
            thread::spawn(move || {
                for version in [1, 2] {
                    assert!(
                        found(&store, &index, version)
                            .iter()
                            .all(|found| *found == version)
                    );
                }
            })
        };
        let mut snapshot = store.begin_list(false);
        store.collect(&mut snapshot, entry("b", 2), |entry| entry);
        // A list that is older than the write is refused, or the write is kept.
        drop(store.replace(snapshot, "2"));
        writes.join().unwrap();
        looks.join().unwrap();
        assert_eq!(found(&store, &index, 3), [3]);
        for version in [1, 2] {
            let all = store.select(|_| true);
            let scanned = all.iter().filter(|entry| entry.version == version).count();
            assert_eq!(found(&store, &index, version).len(), scanned);
        }
    });
}

#[test]
fn an_index_that_comes_amid_changes_misses_none() {
    model(|| {
        let store = Arc::new(Store::new(false));
        let changes = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.set(entry("a", 1).into());
                store.set(entry("a", 2).into());
                store.set(entry("b", 3).into());
            })
        };
        let index = by_version(&store);
        changes.join().unwrap();
        assert!(found(&store, &index, 1).is_empty());
        assert_eq!(found(&store, &index, 2), [2]);
        assert_eq!(found(&store, &index, 3), [3]);
    });
}
