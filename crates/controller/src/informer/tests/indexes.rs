//! An index is what a scan of all objects would find, at each moment.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use serde_json::Value;

use super::*;
use crate::Key;
use crate::informer::index::Indexed;
use crate::informer::store::{Snapshot, Store};
use crate::informer::{Entry, Postings, Unknown};

/// The index keys of an object: its words; of an object with too many, nothing is known.
fn words(entry: &Entry) -> Result<Vec<String>, Unknown> {
    let object: Value = entry.decode().unwrap();
    let words = object["data"]["words"].as_str().unwrap_or_default();
    let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
    if words.len() > 3 {
        return Err(Arc::new(std::fmt::Error));
    }
    Ok(words)
}

/// An object in a state. An API server that was restored gives the version of one state to another one.
fn entry(history: u64, state: State) -> Entry {
    let (name, uid, version) = state;
    let first = version.wrapping_mul(7) + u64::from(uid) + history;
    let words: Vec<String> = (0..first % 5)
        .map(|word| format!("w{}", (first / 5 + word * u64::from(uid)) % 3))
        .collect();
    let namespace = if name % 2 == 0 { "blue" } else { "red" };
    let object = json!({"data": {"words": words.join(" ")}, "metadata": {
        "namespace": namespace, "name": format!("n{name}"), "uid": format!("u{uid}"), "resourceVersion": version.to_string(),
    }});
    Entry::read(&object.to_string()).unwrap()
}

/// Name, UID and version of an object.
type State = (usize, u8, u64);

/// What happens to a cache. The state that it is about may be one of the past.
#[derive(Clone, Copy, Debug)]
enum Step {
    Set(State),
    Remove(State),
    Write(State, bool),
    Delete(State),
    BeginList(bool),
    Listed(State),
    Replace(u64),
    Bookmark(u64),
    Clear,
}

fn step() -> impl Strategy<Value = Step> {
    let state = || (0..4_usize, 0..2_u8, 1..40_u64);
    prop_oneof![
        6 => state().prop_map(Step::Set),
        3 => state().prop_map(Step::Remove),
        6 => (state(), any::<bool>()).prop_map(|(state, is_within)| Step::Write(state, is_within)),
        3 => state().prop_map(Step::Delete),
        1 => any::<bool>().prop_map(Step::BeginList),
        4 => state().prop_map(Step::Listed),
        2 => (1..40_u64).prop_map(Step::Replace),
        1 => (1..40_u64).prop_map(Step::Bookmark),
        1 => Just(Step::Clear),
    ]
}

/// A cache, and the API server that it follows.
struct World {
    store: Store,
    list: Option<Snapshot>,
    history: u64,
}

impl World {
    fn new() -> Self {
        let store = Store::new(false);
        Self {
            list: Some(store.begin_list(false)),
            store,
            history: 0,
        }
    }

    fn take(&mut self, step: Step) {
        let Self {
            store,
            list,
            history,
        } = self;
        let is_listing = list.is_some();
        match step {
            // While a list is read there is no watch.
            Step::Set(_) | Step::Remove(_) | Step::Bookmark(_) if is_listing => {}
            Step::Set(state) => store.set(Arc::new(entry(*history, state))),
            Step::Remove(state) => store.remove(&entry(*history, state)),
            Step::Bookmark(version) => drop(store.reach(&version.to_string())),
            Step::Write(state, is_within) => {
                store.write(&Arc::new(entry(*history, state)), is_within);
            }
            Step::Delete(state) => {
                let gone = entry(*history, state);
                let (uid, version) = gone.version();
                store.delete(gone.key(), uid, version);
            }
            Step::BeginList(is_another) => {
                *history += u64::from(is_another);
                *list = Some(store.begin_list(is_another));
            }
            Step::Listed(state) => {
                if let Some(list) = list {
                    store.collect(list, entry(*history, state), |entry| entry);
                }
            }
            Step::Replace(version) => {
                if let Some(whole) = list.take()
                    && store.replace(whole, &version.to_string()).is_err()
                {
                    *list = Some(store.begin_list(true));
                }
            }
            Step::Clear => store.clear(),
        }
    }
}

fn attach(store: &Store, index: &Arc<Postings<String>>) {
    let index: Arc<dyn Indexed> = Arc::clone(index) as _;
    store.index(&index);
}

fn versions(entries: &[Arc<Entry>]) -> Vec<String> {
    let version = |entry: &Arc<Entry>| format!("{} {:?}", entry.key(), entry.version());
    entries.iter().map(version).collect()
}

/// Compares an index with a scan.
fn agrees(store: &Store, index: &Postings<String>) -> Result<(), TestCaseError> {
    let all = store.select(|_| true);
    for word in ["w0", "w1", "w2", "w3"] {
        for namespace in [None, Some("blue"), Some("red")] {
            let is_asked = |key: &Key| namespace.is_none() || key.namespace() == namespace;
            let has =
                |entry: &Entry| words(entry).is_ok_and(|words| words.iter().any(|one| one == word));
            let scanned: Vec<_> = all
                .iter()
                .filter(|entry| is_asked(entry.key()) && has(entry))
                .cloned()
                .collect();
            let found = store.at(|| index.places(word, is_asked));
            prop_assert_eq!(
                versions(&found),
                versions(&scanned),
                "{} in {:?}",
                word,
                namespace
            );
            let unknown: BTreeSet<Key> = all
                .iter()
                .filter(|entry| is_asked(entry.key()) && words(entry).is_err())
                .map(|entry| entry.key().clone())
                .collect();
            let first = index.unknown(is_asked).map(|(key, _)| key);
            prop_assert_eq!(first.as_ref(), unknown.first(), "{:?}", namespace);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn an_index_is_what_a_scan_finds_after_each_event_write_list_and_deletion(
        steps in prop::collection::vec(step(), 1..60),
        late in 0..60_usize,
    ) {
        let mut world = World::new();
        let (index, later) = (Arc::new(Postings::new(words)), Arc::new(Postings::new(words)));
        attach(&world.store, &index);
        for (number, step) in steps.into_iter().enumerate() {
            if number == late {
                attach(&world.store, &later);
            }
            world.take(step);
            agrees(&world.store, &index)?;
            if number >= late {
                agrees(&world.store, &later)?;
            }
        }
    }
}

/// An index that counts the calls of its function.
fn counted() -> (Arc<Postings<String>>, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let find = move |entry: &Entry| {
        counter.fetch_add(1, Ordering::Relaxed);
        words(entry)
    };
    (Arc::new(Postings::new(find)), calls)
}

#[test]
fn the_function_of_an_index_is_called_once_for_each_state_of_an_object() {
    let store = Store::new(false);
    let (index, calls) = counted();
    let called = || calls.swap(0, Ordering::Relaxed);
    let list = |versions: [u64; 2], version: &str| {
        let mut list = store.begin_list(false);
        for (name, of) in versions.into_iter().enumerate() {
            store.collect(&mut list, entry(0, (name, 0, of)), |entry| entry);
        }
        store.replace(list, version).unwrap();
    };
    let set = |state: State| store.set(Arc::new(entry(0, state)));
    list([1, 2], "2");
    attach(&store, &index);
    assert_eq!(called(), 2, "what is there");
    set((0, 0, 3));
    assert_eq!(called(), 1, "a change");
    store.write(&Arc::new(entry(0, (1, 0, 5))), true);
    assert_eq!(called(), 1, "a write");
    set((1, 0, 4));
    assert_eq!(called(), 0, "an event of before the write");
    set((1, 0, 5));
    assert_eq!(called(), 0, "the event of the write");
    list([3, 6], "6");
    assert_eq!(called(), 1, "a list with one change");
    store.remove(&entry(0, (0, 0, 7)));
    store.delete(entry(0, (1, 0, 6)).key(), "u0", "6");
    assert_eq!(called(), 0, "deletions");
    drop(index);
    set((0, 0, 8));
    assert_eq!(called(), 0, "an index without a handle");
}
