//! What every store has to do, whatever keeps its objects: one suite for the memory, a file and etcd.
//!
//! The backend of a store that outlives its process runs it in its tests:
//!
//! ```
//! use std::sync::Arc;
//!
//! use kubewright_storage::conformance::{Lifetime, Suite};
//! use kubewright_storage::{FileBackend, Store};
//!
//! let folder = tempfile::tempdir()?;
//! let suite = Suite::new(Lifetime::Lasts, |name| {
//!     let backend = FileBackend::open(folder.path().join(name)).unwrap();
//!     Arc::new(Store::open(backend).unwrap())
//! });
//! suite.run();
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::thread;

use serde_json::{Value, json};

use crate::event::{Change, Event};
use crate::object::{Draft, Object, ReadBack};
use crate::state::{CommitError, Raced};
use crate::store::{At, OutOfRange, Store};

/// Whether objects are still there when a store is opened again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "they are, or they are not")]
pub enum Lifetime {
    /// They are gone with the store.
    OfStore,
    /// They are there when it is opened again.
    Lasts,
}

/// The suite for one kind of store. A failure is a panic, as of any test.
pub struct Suite<F> {
    lifetime: Lifetime,
    open: F,
}

const TABLE: &str = "configmaps";

impl<F> fmt::Debug for Suite<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Suite")
            .field("lifetime", &self.lifetime)
            .finish_non_exhaustive()
    }
}

impl<F: Fn(&str) -> Arc<Store>> Suite<F> {
    /// A suite that opens stores by a name: the same name is the same store, opened again. Two stores of one name are never open
    /// at the same time.
    pub fn new(lifetime: Lifetime, open: F) -> Self {
        Self { lifetime, open }
    }

    /// Runs every check.
    pub fn run(&self) {
        self.each_write_has_the_next_revision();
        self.a_writer_that_is_not_the_first_hears_who_was();
        self.each_change_is_seen_once_and_in_order();
        self.no_write_of_racing_writers_is_lost();
        self.pages_show_the_state_of_their_revision();
        self.what_is_compacted_is_out_of_range();
        for seed in 0..8 {
            self.a_store_is_what_its_changes_make_it(seed);
        }
        if self.lifetime == Lifetime::Lasts {
            self.a_store_that_is_opened_again_goes_on();
        }
    }

    fn open(&self, name: &str) -> Arc<Store> {
        (self.open)(name)
    }

    fn each_write_has_the_next_revision(&self) {
        let store = self.open("revisions");
        let before = store.revision();
        let a = create(&store, "a/x", "1");
        let other = store
            .create("pods", "a/x", draft("x", "1"))
            .expect("a new object");
        assert!(before < a.revision && a.revision < other.revision);
        let b = replace(&store, &a, "2");
        assert!(other.revision < b.revision);
        let gone = delete(&store, &b);
        assert!(b.revision < gone.revision);
        assert_eq!(version(&gone.value()), gone.revision);
        assert_eq!(store.revision(), gone.revision);
        assert_eq!(store.changed(TABLE), gone.revision);
        assert_eq!(store.changed("pods"), other.revision);
        assert!(store.get(TABLE, "a/x").is_none());
    }

    fn a_writer_that_is_not_the_first_hears_who_was(&self) {
        let store = self.open("races");
        let first = create(&store, "a/x", "1");
        let second = replace(&store, &first, "2");
        let lost = [
            store.create(TABLE, "a/x", draft("x", "3")),
            store.replace(TABLE, "a/x", first.revision, draft("x", "3")),
            store.delete(TABLE, "a/x", first.revision, draft("x", "3")),
        ];
        for outcome in lost {
            let Err(CommitError::Raced(Raced(Some(winner)))) = outcome else {
                panic_with("it lost the race", &outcome);
                return;
            };
            assert_eq!(winner.body(), second.body());
        }
        delete(&store, &second);
        let lost = [
            store.replace(TABLE, "a/x", second.revision, draft("x", "3")),
            store.delete(TABLE, "a/x", second.revision, draft("x", "3")),
            store.replace(TABLE, "a/never", second.revision, draft("x", "3")),
        ];
        for outcome in lost {
            let is_gone = matches!(outcome, Err(CommitError::Raced(Raced(None))));
            assert!(is_gone, "{outcome:?}");
        }
        // A name may be taken again.
        let again = create(&store, "a/x", "4");
        assert_eq!(
            store.get(TABLE, "a/x").expect("an object").body(),
            again.body()
        );
    }

    fn each_change_is_seen_once_and_in_order(&self) {
        let store = self.open("changes");
        let before = store.revision();
        let a = create(&store, "a/x", "1");
        let b = replace(&store, &a, "2");
        let other = create(&store, "a/y", "1");
        let gone = delete(&store, &b);
        let events = store.events_after(TABLE, before).expect("the log has them");
        let seen: Vec<(Change, u64)> = events
            .iter()
            .map(|event| (event.change, event.object.revision))
            .collect();
        let made = [
            (Change::Added, a.revision),
            (Change::Modified, b.revision),
            (Change::Added, other.revision),
            (Change::Deleted, gone.revision),
        ];
        assert_eq!(seen, made);
        let previous: Vec<Option<u64>> = events
            .iter()
            .map(|event| event.previous.as_ref().map(|object| object.revision))
            .collect();
        let versions = [None, Some(a.revision), None, Some(b.revision)];
        assert_eq!(previous, versions);
        // The last state, with the revision of the deletion.
        let last = events[3].object.value();
        assert_eq!(
            (version(&last), &last["data"]["k"]),
            (gone.revision, &json!("2"))
        );
        let later = store
            .events_after(TABLE, b.revision)
            .expect("the log has them");
        assert_eq!(later.len(), 2);
    }

    fn no_write_of_racing_writers_is_lost(&self) {
        const WRITERS: usize = 6;
        const STEPS: usize = 15;
        let store = self.open("writers");
        let before = store.revision();
        create(&store, "a/counter", "0");
        thread::scope(|scope| {
            for writer in 0..WRITERS {
                let store = &store;
                scope.spawn(move || {
                    for step in 0..STEPS {
                        increment(store);
                        let path = format!("a/{writer}-{step}");
                        store
                            .create(TABLE, &path, draft(&path[2..], ""))
                            .expect("a new name");
                    }
                });
            }
        });
        let counter = store.get(TABLE, "a/counter").expect("the counter");
        assert_eq!(counter.value()["data"]["k"], (WRITERS * STEPS).to_string());
        let events = store.events_after(TABLE, before).expect("the log has them");
        assert_eq!(events.len(), 1 + 2 * WRITERS * STEPS);
        assert!(events.is_sorted_by(|a, b| a.object.revision < b.object.revision));
    }

    fn pages_show_the_state_of_their_revision(&self) {
        let store = self.open("pages");
        let objects: Vec<Arc<Object>> = ["a/1", "a/2", "b/1", "a/3"]
            .map(|path| create(&store, path, "1"))
            .into();
        let at = store.revision();
        let first = store.list(TABLE, "a", "", 2, At::Now).expect("the present");
        assert_eq!((first.revision, first.remaining), (at, 1));
        delete(&store, &objects[3]);
        replace(&store, &objects[1], "2");
        create(&store, "a/4", "1");
        let rest = store
            .list(TABLE, "a", "a/3", 2, At::Exactly(at))
            .expect("the past");
        let shown: Vec<&[u8]> = rest.objects.iter().map(|object| object.json()).collect();
        assert_eq!(shown, [objects[3].json()]);
        let now = store
            .list(TABLE, "", "", usize::MAX, At::Now)
            .expect("the present");
        let paths: Vec<&str> = now.objects.iter().map(|object| &*object.path).collect();
        assert_eq!(paths, ["a/1", "a/2", "a/4", "b/1"]);
        let beyond = At::Exactly(store.revision() + 1000);
        let beyond = store.list(TABLE, "", "", 1, beyond);
        assert!(
            matches!(beyond, Err(OutOfRange::TooNew { .. })),
            "{beyond:?}"
        );
    }

    fn what_is_compacted_is_out_of_range(&self) {
        let store = self.open("compaction");
        let first = create(&store, "a/x", "1");
        let second = replace(&store, &first, "2");
        let third = replace(&store, &second, "3");
        store.compact(second.revision);
        let oldest = second.revision;
        let too_old = OutOfRange::TooOld { oldest };
        let past = At::Exactly(first.revision);
        assert_eq!(store.list(TABLE, "", "", 1, past).err(), Some(too_old));
        assert_eq!(
            store.events_after(TABLE, first.revision).err(),
            Some(too_old)
        );
        let kept = store.list(TABLE, "", "", 1, At::Exactly(second.revision));
        assert_eq!(kept.expect("what is kept").objects[0].json(), second.json());
        let kept = store
            .events_after(TABLE, second.revision)
            .expect("what is kept");
        assert_eq!(kept[0].object.json(), third.json());
    }

    /// Random writes over few names, checked against a map, and the changes against the state that they lead to.
    fn a_store_is_what_its_changes_make_it(&self, seed: u64) {
        let mut random = fastrand::Rng::with_seed(seed);
        let name = format!("random-{seed}");
        let mut store = self.open(&name);
        let mut model: BTreeMap<String, Arc<Object>> = BTreeMap::new();
        let mut start = store.revision();
        let mut at_start = model.clone();
        for step in 0..60 {
            let path = format!("{}/{}", ["a", "b"][random.usize(..2)], random.usize(..4));
            let data = step.to_string();
            match model.get(&path).cloned() {
                None => drop(model.insert(path.clone(), create(&store, &path, &data))),
                Some(old) if random.u8(..3) == 0 => {
                    delete(&store, &old);
                    model.remove(&path);
                }
                Some(old) => drop(model.insert(path, replace(&store, &old, &data))),
            }
            if self.lifetime == Lifetime::Lasts && random.u8(..20) == 0 {
                drop(store);
                store = self.open(&name);
                start = store.revision();
                at_start.clone_from(&model);
            }
            check(&store, &model);
        }
        let events = store.events_after(TABLE, start).expect("the log has them");
        assert_eq!(json_of(&after(at_start, &events)), json_of(&model));
    }

    fn a_store_that_is_opened_again_goes_on(&self) {
        let store = self.open("again");
        let mut plain = create(&store, "a/x", "1");
        let mut stored = Vec::new();
        for (path, read_back) in [
            ("a/1", ReadBack::AsStored),
            ("a/2", ReadBack::WithDefaults),
            ("a/3", ReadBack::WithoutEmpties),
        ] {
            let mut draft = draft(&path[2..], "\u{e9}\n\"\\ \u{1f680}");
            draft.read_back = read_back;
            stored.push(store.create(TABLE, path, draft).expect("a new object"));
        }
        let gone = create(&store, "a/gone", "1");
        delete(&store, &gone);
        let ended_at = store.revision();
        drop(store);
        for round in 0..3 {
            let store = self.open("again");
            assert!(store.revision() >= ended_at, "revisions never go back");
            assert!(store.get(TABLE, "a/gone").is_none());
            for object in &stored {
                let read = store.get(TABLE, &object.path).expect("what was stored");
                assert_eq!(
                    (read.body(), read.revision),
                    (object.body(), object.revision)
                );
                assert_eq!(read.labels(), object.labels());
                assert_eq!(read.read_back(), object.read_back());
            }
            let past = store.events_after(TABLE, gone.revision);
            assert!(matches!(past, Err(OutOfRange::TooOld { .. })), "{past:?}");
            let next = replace(&store, &plain, &format!("again {round}"));
            assert!(next.revision > ended_at);
            plain = next;
        }
    }
}

fn draft(name: &str, data: &str) -> Draft {
    Draft::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"app": name}}, "data": {"k": data},
    }))
}

fn create(store: &Store, path: &str, data: &str) -> Arc<Object> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let created = store.create(TABLE, path, draft(name, data));
    created.expect("no one else writes")
}

fn replace(store: &Store, old: &Object, data: &str) -> Arc<Object> {
    let draft = draft(old.name(), data);
    let replaced = store.replace(TABLE, &old.path, old.revision, draft);
    replaced.expect("no one else writes")
}

fn delete(store: &Store, old: &Object) -> Arc<Object> {
    let last = Draft::new(&old.value());
    let deleted = store.delete(TABLE, &old.path, old.revision, last);
    deleted.expect("no one else writes")
}

/// Adds one to the counter, as often as it takes.
fn increment(store: &Store) {
    loop {
        let counter = store.get(TABLE, "a/counter").expect("the counter");
        let value = counter.value()["data"]["k"]
            .as_str()
            .and_then(|k| k.parse().ok());
        let next: u64 = value.map_or(1, |value: u64| value + 1);
        let draft = draft("counter", &next.to_string());
        match store.replace(TABLE, "a/counter", counter.revision, draft) {
            Ok(_) => return,
            Err(CommitError::Raced(_)) => {}
            Err(CommitError::Backend(error)) => {
                panic_with("the backend is sound", &error);
                return;
            }
        }
    }
}

fn check(store: &Store, model: &BTreeMap<String, Arc<Object>>) {
    for namespace in ["", "a", "b"] {
        let listed = store.list(TABLE, namespace, "", usize::MAX, At::Now);
        let listed = listed.expect("the present").objects;
        let shown: Vec<&[u8]> = listed.iter().map(|object| object.json()).collect();
        let expected = model
            .values()
            .filter(|object| namespace.is_empty() || object.namespace() == namespace);
        let expected: Vec<&[u8]> = expected.map(|object| object.json()).collect();
        assert_eq!(shown, expected);
    }
}

fn after(
    mut state: BTreeMap<String, Arc<Object>>,
    events: &[Arc<Event>],
) -> BTreeMap<String, Arc<Object>> {
    for event in events {
        let path = event.object.path.clone();
        let before = match event.change {
            Change::Deleted => state.remove(&path),
            Change::Added | Change::Modified => state.insert(path, event.object.clone()),
        };
        let revision = |object: &Option<Arc<Object>>| object.as_ref().map(|object| object.revision);
        assert_eq!(revision(&before), revision(&event.previous));
    }
    state
}

fn json_of(state: &BTreeMap<String, Arc<Object>>) -> Vec<&[u8]> {
    state.values().map(|object| object.json()).collect()
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version
        .and_then(|text| text.parse().ok())
        .expect("a revision")
}

fn panic_with(expected: &str, found: &dyn fmt::Debug) {
    assert!(
        expected.is_empty(),
        "expected that {expected}, but: {found:?}"
    );
}
