//! The store: races, ranges, the past, and watchers.

use serde_json::{Value, json};

use super::*;
use crate::state::Raced;

fn draft(name: &str, data: &str) -> Draft {
    Draft::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": data},
    }))
}

fn store() -> Arc<Store> {
    Arc::new(Store::new(Limits::default()))
}

/// The object that another writer has committed first, if it exists.
fn winner(outcome: Result<Arc<Object>, CommitError>) -> Option<Arc<Object>> {
    match outcome {
        Err(CommitError::Raced(Raced(winner))) => winner,
        other => panic!("a lost race, not {other:?}"),
    }
}

fn names(listed: &Listed) -> Vec<&str> {
    listed
        .objects
        .iter()
        .map(|object| object.path.as_str())
        .collect()
}

#[test]
fn revisions_count_across_resources() {
    let store = store();
    let first = store.create("configmaps", "a/x", draft("x", "1")).unwrap();
    let second = store.create("secrets", "a/x", draft("x", "1")).unwrap();
    assert_eq!(second.revision, first.revision + 1);
    assert_eq!(store.revision(), second.revision);
}

#[test]
fn a_write_that_lost_the_race_sees_the_winner() {
    let store = store();
    let first = store.create("t", "a/x", draft("x", "1")).unwrap();
    let second = store
        .replace("t", "a/x", first.revision, draft("x", "2"))
        .unwrap();
    let first_writer = winner(store.replace("t", "a/x", first.revision, draft("x", "3")));
    assert_eq!(first_writer.unwrap().revision, second.revision);
    let present = winner(store.create("t", "a/x", draft("x", "4")));
    assert_eq!(present.unwrap().value()["data"]["k"], "2");
    let absent = winner(store.delete("t", "a/y", 1, draft("y", "")));
    assert!(absent.is_none());
}

#[test]
fn a_namespace_is_not_a_prefix_of_another() {
    let store = store();
    for path in ["a/1", "a-b/1", "ab/1", "a/2"] {
        store.create("t", path, draft("x", "")).unwrap();
    }
    let listed = store.list("t", "a", "", usize::MAX, At::Now).unwrap();
    assert_eq!(names(&listed), ["a/1", "a/2"]);
    let all = store.list("t", "", "", usize::MAX, At::Now).unwrap();
    assert_eq!(names(&all), ["a-b/1", "a/1", "a/2", "ab/1"]);
    let page = store.list("t", "", "a/1\0", 1, At::Now).unwrap();
    assert_eq!((names(&page), page.remaining), (vec!["a/2"], 1));
    let outside = store.list("t", "a", "z/1", usize::MAX, At::Now).unwrap();
    assert!(outside.objects.is_empty());
}

#[test]
fn an_old_revision_is_read_as_it_was() {
    let store = store();
    let x = store.create("t", "a/x", draft("x", "1")).unwrap();
    let y = store.create("t", "a/y", draft("y", "1")).unwrap();
    let then = store.revision();
    store
        .replace("t", "a/x", x.revision, draft("x", "2"))
        .unwrap();
    store
        .delete("t", "a/y", y.revision, draft("y", "1"))
        .unwrap();
    store.create("t", "a/z", draft("z", "1")).unwrap();
    store.create("t", "b/z", draft("z", "1")).unwrap();
    let listed = store
        .list("t", "a", "", usize::MAX, At::Exactly(then))
        .unwrap();
    assert_eq!(names(&listed), ["a/x", "a/y"]);
    assert_eq!(listed.objects[0].value()["data"]["k"], "1");
    assert_eq!(listed.revision, then);
    store.compact(store.revision());
    let gone = store
        .list("t", "a", "", usize::MAX, At::Exactly(then))
        .unwrap_err();
    assert!(matches!(gone, OutOfRange::TooOld { .. }));
    let future = store
        .list("t", "a", "", usize::MAX, At::NotOlderThan(1000))
        .unwrap_err();
    assert_eq!(
        future,
        OutOfRange::TooNew {
            current: store.revision()
        }
    );
}

#[tokio::test]
async fn a_watcher_sees_every_change_once_and_in_order() {
    let store = store();
    let mut watcher = store.watch("t", store.revision());
    let made = store.create("t", "a/x", draft("x", "1")).unwrap();
    store.create("other", "a/x", draft("x", "1")).unwrap();
    let events = watcher.next().await.unwrap();
    assert_eq!(events.len(), 1);
    assert_eq!(events[0].change, Change::Added);
    assert_eq!(watcher.progress(), Some(store.revision()));
    let removed = store
        .delete("t", "a/x", made.revision, draft("x", "1"))
        .unwrap();
    assert_eq!(watcher.progress(), None);
    let events = watcher.next().await.unwrap();
    let line: Value = serde_json::from_slice(&events[0].line()).unwrap();
    assert_eq!(line["type"], "DELETED");
    assert_eq!(
        line["object"]["metadata"]["resourceVersion"],
        removed.revision.to_string()
    );
}

#[tokio::test]
async fn a_watcher_that_is_too_slow_is_told_so() {
    let limits = Limits {
        events: 2,
        bytes: usize::MAX,
    };
    let store = Arc::new(Store::new(limits));
    let mut watcher = store.watch("t", store.revision());
    for name in ["1", "2", "3"] {
        store.create("t", name, draft(name, "")).unwrap();
    }
    assert_eq!(
        watcher.next().await.unwrap_err(),
        OutOfRange::TooOld { oldest: 2 }
    );
    let mut later = store.watch("t", 2);
    assert_eq!(later.next().await.unwrap().len(), 2);
}

#[test]
fn a_store_in_memory_passes_the_suite() {
    use crate::conformance::{Lifetime, Suite};
    let suite = Suite::new(Lifetime::OfStore, |_: &str| {
        Arc::new(Store::new(Limits::default()))
    });
    suite.run();
}

#[tokio::test]
async fn a_watch_of_a_namespace_sees_its_changes_alone_and_outlives_the_log_of_the_others() {
    let limits = Limits {
        events: 10,
        bytes: usize::MAX,
    };
    let store = Arc::new(Store::new(limits));
    let object = || Draft::new(&json!({"kind": "ConfigMap", "metadata": {"name": "x"}}));
    let mut here = store.watch_in("t", "here", store.revision());
    let mut late = store.watch_in("t", "here", store.revision());
    let mut all = store.watch("t", store.revision());
    for number in 0..25 {
        store
            .create("t", &format!("there/{number}"), object())
            .unwrap();
    }
    let first = store.create("t", "here/a", object()).unwrap();
    store.create("t", "there/z", object()).unwrap();
    let second = store.create("t", "here/b", object()).unwrap();
    let seen: Vec<u64> = here
        .next()
        .await
        .unwrap()
        .iter()
        .map(|event| event.object.revision)
        .collect();
    assert_eq!(seen, [first.revision, second.revision]);
    assert_eq!(here.progress(), Some(second.revision));
    assert!(matches!(all.next().await, Err(OutOfRange::TooOld { .. })));
    // Once a change of its own is forgotten, it has to begin again, too.
    for number in 0..25 {
        store
            .create("t", &format!("elsewhere/{number}"), object())
            .unwrap();
    }
    let oldest = second.revision;
    assert_eq!(
        late.next().await.unwrap_err(),
        OutOfRange::TooOld { oldest }
    );
    let third = store.create("t", "here/c", object()).unwrap();
    let events = here.next().await.unwrap();
    assert_eq!(events[0].object.revision, third.revision);
}
