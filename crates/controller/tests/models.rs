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
    }

    impl Entry {
        pub(crate) fn key(&self) -> &super::Key {
            &self.key
        }

        pub(crate) fn version(&self) -> u32 {
            self.version
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(&'static str);

#[path = "../src/informer/delta.rs"]
mod delta;
#[path = "../src/queue/state.rs"]
mod state;
#[path = "../src/informer/store.rs"]
mod store;

use delta::{Delta, Origin};
use entry::Entry;
use state::{Next, Priority, Queue};
use store::{Snapshot, Store};

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
                    queue.add(&"a", Priority::Normal, 0);
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
            queue.done(&key, None);
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
                        queue.done(&key, None);
                        if done.fetch_add(1, Ordering::SeqCst) == 1 {
                            queue.close();
                        }
                    }
                })
            })
            .collect();
        queue.add(&"a", Priority::Normal, 0);
        queue.add(&"b", Priority::Low, 0);
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
        let store = Arc::new(Store::new());
        let changes = {
            let store = Arc::clone(&store);
            thread::spawn(move || {
                store.set(entry("a", 1).into());
                store.set(entry("a", 2).into());
                store.remove(&Key("a"));
                store.set(entry("b", 3).into());
            })
        };
        let told = std::sync::Arc::new(Told::default());
        let listener = std::sync::Arc::clone(&told);
        store.subscribe(std::sync::Arc::new(move |delta| listener.hear(delta)));
        changes.join().unwrap();
        assert_eq!(*told.0.lock().unwrap(), [("b", 3)].into());
    });
}

#[test]
fn a_list_that_replaces_what_is_known_is_seen_whole_and_before_anybody_is_told() {
    model(|| {
        let store = Arc::new(Store::new());
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
        let mut snapshot = Snapshot::default();
        store.collect(&mut snapshot, entry("a", 2), |entry| entry);
        store.collect(&mut snapshot, entry("b", 2), |entry| entry);
        store.replace(snapshot);
        reader.join().unwrap();
        store.unsubscribe(number);
    });
}
