//! A store on a backend: what comes back after the process has ended, and what a failure leaves as it was.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use super::*;
use crate::backend::{Contents, Write};
use crate::object::ReadBack;
use crate::state::Raced;

type Entries = BTreeMap<String, Vec<u8>>;

/// A backend that outlives its stores, and fails after so many commits.
#[derive(Clone, Debug)]
struct Shelf {
    contents: Arc<Mutex<(u64, Entries)>>,
    commits_left: Arc<AtomicUsize>,
}

impl Shelf {
    fn new() -> Self {
        Self {
            contents: Arc::default(),
            commits_left: Arc::new(AtomicUsize::new(usize::MAX)),
        }
    }

    fn open(&self) -> Arc<Store> {
        Arc::new(Store::open(self.clone()).unwrap())
    }

    fn fails_after(&self, commits: usize) {
        self.commits_left.store(commits, Ordering::Relaxed);
    }
}

impl Backend for Shelf {
    fn load(&self) -> Result<Contents, BackendError> {
        let (revision, entries) = self.contents.lock().unwrap().clone();
        Ok(Contents {
            revision,
            entries: entries.into_iter().collect(),
        })
    }

    fn commit(&self, writes: &[Write], revision: u64) -> Result<(), BackendError> {
        let take = |left: usize| left.checked_sub(1);
        let left = &self.commits_left;
        left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take)
            .map_err(|_| BackendError::new("writing to the shelf", "it is full"))?;
        let mut contents = self.contents.lock().unwrap();
        contents.0 = revision;
        for Write { key, value } in writes.iter().cloned() {
            match value {
                Some(value) => drop(contents.1.insert(key, value)),
                None => drop(contents.1.remove(&key)),
            }
        }
        Ok(())
    }
}

/// Three namespaces, from revision 2 on.
#[derive(Debug)]
struct Namespaces;

impl InitialObjects for Namespaces {
    fn revision(&self) -> u64 {
        FIRST_REVISION + 3
    }

    fn resources(&self) -> Vec<&str> {
        vec!["namespaces"]
    }

    fn has(&self, resource: &str) -> bool {
        resource == "namespaces"
    }

    fn of(&self, resource: &str) -> Vec<(u64, String, Draft)> {
        assert_eq!(resource, "namespaces");
        let names = ["a", "b", "c"].into_iter().zip(FIRST_REVISION + 1..);
        names
            .map(|(name, revision)| (revision, name.to_owned(), config_map(name, "")))
            .collect()
    }
}

fn config_map(name: &str, data: &str) -> Draft {
    Draft::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}}, "data": {"k": data},
    }))
}

#[test]
fn objects_and_revisions_go_on_where_the_last_store_ended() {
    let shelf = Shelf::new();
    let store = shelf.open();
    let first = store
        .create("configmaps", "a/x", config_map("x", "1"))
        .unwrap();
    let mut changed = config_map("x", "2");
    changed.read_back = ReadBack::WithDefaults;
    let changed = store.replace("configmaps", "a/x", first.revision, changed);
    let changed = changed.unwrap();
    let gone = store.create("secrets", "y", config_map("y", "")).unwrap();
    store
        .delete("secrets", "y", gone.revision, config_map("y", ""))
        .unwrap();
    let ended_at = store.revision();
    drop(store);

    let store = shelf.open();
    assert_eq!(store.revision(), ended_at);
    let read = store.get("configmaps", "a/x").unwrap();
    assert_eq!(read.body(), changed.body());
    assert_eq!(read.revision, changed.revision);
    assert_eq!(read.labels().get("app"), Some("x"));
    assert!(store.get("secrets", "y").is_none());
    assert_eq!(store.changed("configmaps"), changed.revision);
    // Clients of the object as it was stored are told apart from those of another text.
    assert!(!config_map("x", "2").says_the_same_as(&read));
    let next = store.create("secrets", "y", config_map("y", "")).unwrap();
    assert_eq!(next.revision, ended_at + 1);
}

#[tokio::test]
async fn a_watch_from_before_the_start_has_to_list_again() {
    let shelf = Shelf::new();
    let store = shelf.open();
    let first = store.create("t", "x", config_map("x", "1")).unwrap();
    store
        .delete("t", "x", first.revision, config_map("x", "1"))
        .unwrap();
    let ended_at = store.revision();
    drop(store);

    let store = shelf.open();
    let too_old = OutOfRange::TooOld { oldest: ended_at };
    let mut late = store.watch("t", first.revision);
    assert_eq!(late.next().await.unwrap_err(), too_old);
    let past = store.list("t", "", "", usize::MAX, At::Exactly(first.revision));
    assert_eq!(past.unwrap_err(), too_old);

    let mut watcher = store.watch("t", ended_at);
    let created = store.create("t", "x", config_map("x", "2")).unwrap();
    let events = watcher.next().await.unwrap();
    assert_eq!(events[0].object.revision, created.revision);
}

#[tokio::test]
async fn a_write_that_the_backend_refuses_is_seen_by_no_reader() {
    let shelf = Shelf::new();
    let store = shelf.open();
    let first = store.create("t", "x", config_map("x", "1")).unwrap();
    let mut watcher = store.watch("t", first.revision);
    shelf.fails_after(0);
    let refused = [
        store.create("t", "y", config_map("y", "")),
        store.replace("t", "x", first.revision, config_map("x", "2")),
        store.delete("t", "x", first.revision, config_map("x", "1")),
    ];
    for outcome in refused {
        let error = outcome.unwrap_err();
        assert!(matches!(error, CommitError::Backend(_)));
        assert_eq!(error.to_string(), "writing to the shelf");
    }
    assert_eq!(store.revision(), first.revision);
    assert_eq!(store.get("t", "x").unwrap().body(), first.body());
    assert!(store.get("t", "y").is_none());

    shelf.fails_after(1);
    let next = store.create("t", "y", config_map("y", "")).unwrap();
    assert_eq!(next.revision, first.revision + 1);
    assert_eq!(watcher.next().await.unwrap().len(), 1);
}

#[test]
fn the_objects_of_a_new_cluster_are_written_once_however_often_the_start_is_interrupted() {
    let shelf = Shelf::new();
    for _ in 0..2 {
        shelf.fails_after(0);
        shelf.open().initialize(&Namespaces).unwrap_err();
    }
    shelf.fails_after(1);
    let store = shelf.open();
    store.initialize(&Namespaces).unwrap();
    let listed = store.list("namespaces", "", "", usize::MAX, At::Now);
    let revisions: Vec<u64> = listed.unwrap().objects.iter().map(|o| o.revision).collect();
    assert_eq!(revisions, [2, 3, 4]);

    shelf.fails_after(1);
    store
        .delete("namespaces", "b", 3, config_map("b", ""))
        .unwrap();
    drop(store);
    let store = shelf.open();
    store.initialize(&Namespaces).unwrap();
    assert!(store.get("namespaces", "b").is_none());
}

#[test]
fn entries_of_another_program_are_refused() {
    for (key, value) in [
        ("configmaps", "={}"),
        ("configmaps/x", "={}"),
        (
            "configmaps/x",
            "?{\"metadata\":{\"resourceVersion\":\"2\"}}",
        ),
        ("configmaps/x", "="),
        ("configmaps/x", ""),
    ] {
        let shelf = Shelf::new();
        let (key, value) = (key.to_owned(), value.as_bytes().to_vec());
        let write = Write {
            key: key.clone(),
            value: Some(value),
        };
        shelf.commit(&[write], 2).unwrap();
        let error = Store::open(shelf).unwrap_err().to_string();
        let expected = format!("reading the entry {key:?}: it is not an object of a store");
        assert_eq!(error, expected);
    }
}

#[test]
fn a_store_on_a_backend_of_anyone_passes_the_suite() {
    use crate::conformance::{Lifetime, Suite};
    let shelves: Mutex<BTreeMap<String, Shelf>> = Mutex::default();
    let suite = Suite::new(Lifetime::Lasts, |name: &str| {
        let mut shelves = shelves.lock().unwrap();
        let shelf = shelves.entry(name.to_owned()).or_insert_with(Shelf::new);
        shelf.open()
    });
    suite.run();
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the other writers have to be waiting, which nothing tells"
)]
fn writes_that_wait_for_a_commit_are_the_next_commit_and_of_one_object_the_first_wins() {
    let shelf = Shelf::new();
    let store = shelf.open();
    let held = shelf.contents.lock().unwrap();
    let outcomes = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..9)
            .map(|writer| {
                let store = &store;
                let path = format!("a/{}", writer % 3);
                scope.spawn(move || store.create("t", &path, config_map("x", "1")))
            })
            .collect();
        // The first one is with the backend, which is busy; reads do not wait for it.
        while shelf.commits_left.load(Ordering::Relaxed) == usize::MAX {
            assert!(store.get("t", "a/0").is_none());
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
        drop(held);
        let joined = writers.into_iter().map(|writer| writer.join().unwrap());
        joined.collect::<Vec<_>>()
    });
    let won = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(won, 3);
    let commits = usize::MAX - shelf.commits_left.load(Ordering::Relaxed);
    assert!(commits <= 2, "{commits} commits");
    let raced = outcomes.into_iter().filter_map(Result::err);
    for error in raced {
        assert!(
            matches!(error, CommitError::Raced(Raced(Some(_)))),
            "{error:?}"
        );
    }
}
