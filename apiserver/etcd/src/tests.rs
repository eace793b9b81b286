//! Stores on a real etcd: alone, several at once, and when the connection or etcd itself is gone.

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use kubewright_storage::conformance::{Lifetime, Suite};
use kubewright_storage::{At, CommitError, Draft, OutOfRange, Raced, SharedBackend as _, Store};
use serde_json::json;
use tokio::time::{Duration, sleep, timeout};

use crate::client::Client;
use crate::connect::Members;
use crate::message::{Compare, Then};
use crate::{EtcdBackend, EtcdOptions, LocalEtcd};

const TABLE: &str = "configmaps";

/// Starts an etcd, or ends the test if there is none.
macro_rules! etcd {
    () => {
        match LocalEtcd::start() {
            Some(etcd) => etcd,
            None => {
                println!(
                    "there is no etcd: set KUBEBUILDER_ASSETS, or run tests/kube-apiserver/build"
                );
                return;
            }
        }
    };
}

fn open(url: &str, prefix: &str) -> Arc<Store> {
    let backend = EtcdBackend::connect(EtcdOptions::new([url]).prefix(prefix)).unwrap();
    Arc::new(Store::open_shared(backend).unwrap())
}

fn draft(name: &str, data: &str) -> Draft {
    Draft::new(&json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": data},
    }))
}

fn client(url: &str) -> Client {
    Client::new(Members::new(&EtcdOptions::new([url])).unwrap())
}

/// A way to etcd that can be cut and mended.
struct Proxy {
    url: String,
    is_cut: Arc<AtomicBool>,
    streams: Arc<Mutex<Vec<TcpStream>>>,
}

impl Proxy {
    fn to(url: &str) -> Self {
        let target: u16 = url.rsplit(':').next().unwrap().parse().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (is_cut, streams) = (
            Arc::<AtomicBool>::default(),
            Arc::<Mutex<Vec<TcpStream>>>::default(),
        );
        let (cut, all) = (is_cut.clone(), streams.clone());
        thread::spawn(move || {
            for near in listener.incoming().flatten() {
                if cut.load(Ordering::Relaxed) {
                    continue;
                }
                let Ok(far) = TcpStream::connect((Ipv4Addr::LOCALHOST, target)) else {
                    continue;
                };
                let mut all = all.lock().unwrap();
                all.extend([near.try_clone().unwrap(), far.try_clone().unwrap()]);
                for (mut from, mut to) in [
                    (near.try_clone().unwrap(), far.try_clone().unwrap()),
                    (far, near),
                ] {
                    thread::spawn(move || {
                        let mut buffer = [0; 16384];
                        while let Ok(read @ 1..) = from.read(&mut buffer) {
                            if to.write_all(&buffer[..read]).is_err() {
                                break;
                            }
                        }
                        let _ = to.shutdown(Shutdown::Both);
                    });
                }
            }
        });
        Self {
            url,
            is_cut,
            streams,
        }
    }

    fn cut(&self) {
        self.is_cut.store(true, Ordering::Relaxed);
        for stream in self.streams.lock().unwrap().drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    fn mend(&self) {
        self.is_cut.store(false, Ordering::Relaxed);
    }
}

async fn caught_up(store: &Store) {
    for _ in 0..200 {
        if store.catch_up().await.is_ok() {
            return;
        }
        sleep(Duration::from_millis(25)).await;
    }
    store.catch_up().await.unwrap();
}

#[test]
fn a_store_in_etcd_passes_the_suite() {
    let etcd = etcd!();
    let suite = Suite::new(Lifetime::Lasts, |name: &str| {
        open(etcd.url(), &format!("/{name}"))
    });
    suite.run();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_server_has_acknowledged_every_other_lists_and_watches() {
    let etcd = etcd!();
    let (a, b) = (open(etcd.url(), "/registry"), open(etcd.url(), "/registry"));
    let mut watcher = b.watch(TABLE, b.revision());
    let mut written = BTreeMap::new();
    for round in 0..40 {
        let name = format!("x{}", round % 7);
        let path = format!("default/{name}");
        let data = draft(&name, &round.to_string());
        let (writer, reader) = if round % 2 == 0 { (&a, &b) } else { (&b, &a) };
        writer.catch_up().await.unwrap();
        let object = match writer.get(TABLE, &path) {
            None => writer.create(TABLE, &path, data),
            Some(old) if round % 5 == 0 => writer.delete(TABLE, &path, old.revision, data),
            Some(old) => writer.replace(TABLE, &path, old.revision, data),
        };
        let object = object.unwrap();
        written.insert(object.revision, path.clone());
        reader.catch_up().await.unwrap();
        assert_eq!(
            reader.get(TABLE, &path).map(|object| object.body()),
            writer.get(TABLE, &path).map(|object| object.body()),
        );
        assert!(reader.revision() >= object.revision);
    }
    let mut seen = Vec::new();
    while seen.len() < written.len() {
        let events = timeout(Duration::from_secs(5), watcher.next())
            .await
            .unwrap()
            .unwrap();
        seen.extend(
            events
                .iter()
                .map(|event| (event.object.revision, event.object.path.clone())),
        );
    }
    assert_eq!(seen, Vec::from_iter(written));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_writers_on_several_servers_one_wins_and_the_others_hear_who() {
    const STEPS: u64 = 12;
    let etcd = etcd!();
    let stores = [
        open(etcd.url(), "/r"),
        open(etcd.url(), "/r"),
        open(etcd.url(), "/r"),
    ];
    let first = stores[0]
        .create(TABLE, "a/counter", draft("counter", "0"))
        .unwrap();
    let writers = stores.clone().map(|store| {
        tokio::spawn(async move {
            store.catch_up().await.unwrap();
            let mut conflicts = 0;
            for _ in 0..STEPS {
                let mut now = store.get(TABLE, "a/counter").unwrap();
                loop {
                    let count: u64 = now.value()["data"]["k"].as_str().unwrap().parse().unwrap();
                    let next = draft("counter", &(count + 1).to_string());
                    match store.replace(TABLE, "a/counter", now.revision, next) {
                        Ok(_) => break,
                        Err(CommitError::Raced(Raced(winner))) => {
                            conflicts += 1;
                            let winner = winner.unwrap();
                            assert!(winner.revision > now.revision, "the winner is newer");
                            now = winner;
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            conflicts
        })
    });
    let mut conflicts = 0;
    for writer in writers {
        conflicts += writer.await.unwrap();
    }
    assert!(conflicts > 0, "the writers raced");
    for store in &stores {
        store.catch_up().await.unwrap();
        let counter = store.get(TABLE, "a/counter").unwrap();
        assert_eq!(counter.value()["data"]["k"], (3 * STEPS).to_string());
        let events = store.events_after(TABLE, first.revision).unwrap();
        assert_eq!(events.len() as u64, 3 * STEPS);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_loses_and_repeats_nothing_when_the_connection_is_lost() {
    let etcd = etcd!();
    let proxy = Proxy::to(etcd.url());
    let (a, b) = (open(etcd.url(), "/r"), open(&proxy.url, "/r"));
    let mut watcher = b.watch(TABLE, b.revision());
    let mut written = Vec::new();
    for round in 0..5 {
        for step in 0..4 {
            if step == 1 {
                proxy.cut();
            }
            let path = format!("a/{round}-{step}");
            written.push(a.create(TABLE, &path, draft("x", "")).unwrap().revision);
        }
        let lost = b.create(TABLE, "a/lost", draft("lost", ""));
        assert!(matches!(lost, Err(CommitError::Backend(_))), "{lost:?}");
        proxy.mend();
        caught_up(&b).await;
    }
    let mut seen = Vec::new();
    while seen.len() < written.len() {
        let events = timeout(Duration::from_secs(5), watcher.next())
            .await
            .unwrap()
            .unwrap();
        seen.extend(events.iter().map(|event| event.object.revision));
    }
    assert_eq!(seen, written);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_log_that_was_compacted_meanwhile_is_read_anew_and_its_watches_begin_again() {
    let etcd = etcd!();
    let proxy = Proxy::to(etcd.url());
    let (a, b) = (open(etcd.url(), "/r"), open(&proxy.url, "/r"));
    let gone = a.create(TABLE, "a/gone", draft("gone", "1")).unwrap();
    let old = a.create(TABLE, "a/old", draft("old", "1")).unwrap();
    b.catch_up().await.unwrap();
    let mut watcher = b.watch(TABLE, b.revision());
    proxy.cut();
    a.delete(TABLE, "a/gone", gone.revision, draft("gone", "1"))
        .unwrap();
    let old = a
        .replace(TABLE, "a/old", old.revision, draft("old", "2"))
        .unwrap();
    let new = a.create(TABLE, "a/new", draft("new", "1")).unwrap();
    client(etcd.url()).compact(new.revision).await.unwrap();
    proxy.mend();
    caught_up(&b).await;
    let listed = b.list(TABLE, "", "", usize::MAX, At::Now).unwrap();
    let shown: Vec<_> = listed.objects.iter().map(|object| object.body()).collect();
    assert_eq!(shown, [new.body(), old.body()]);
    let ended = timeout(Duration::from_secs(5), watcher.next())
        .await
        .unwrap();
    assert!(matches!(ended, Err(OutOfRange::TooOld { .. })), "{ended:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_the_servers_one_compacts_and_all_forget() {
    let etcd = etcd!();
    let stores = [open(etcd.url(), "/r"), open(etcd.url(), "/r")];
    let first = stores[0].create(TABLE, "a/x", draft("x", "1")).unwrap();
    stores[0]
        .replace(TABLE, "a/x", first.revision, draft("x", "2"))
        .unwrap();
    for store in &stores {
        store.catch_up().await.unwrap();
        let store = Arc::downgrade(store);
        tokio::spawn(kubewright_storage::compact_every(
            Duration::from_millis(100),
            store,
        ));
    }
    for store in &stores {
        let mut is_compacted = false;
        for _ in 0..100 {
            let past = store.list(TABLE, "", "", 1, At::Exactly(first.revision));
            is_compacted |= matches!(past, Err(OutOfRange::TooOld { .. }));
            sleep(Duration::from_millis(20)).await;
            if is_compacted {
                break;
            }
        }
        assert!(is_compacted);
    }
    // etcd itself has forgotten it, too.
    let mut watching = client(etcd.url())
        .watch(b"/r/", b"/r0", first.revision)
        .await
        .unwrap();
    let mut compacted = 0;
    while compacted == 0 {
        compacted = watching.next().await.unwrap().unwrap().compact_revision;
    }
    assert!(compacted > first.revision);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_is_current_although_other_keys_have_moved_the_revision_on() {
    let etcd = etcd!();
    let store = open(etcd.url(), "/r");
    let other = client(etcd.url());
    for _ in 0..5 {
        let written = other
            .txn(b"elsewhere", Compare::Version(0), Then::Put(b"1"))
            .await
            .unwrap();
        let gone = other
            .txn(b"elsewhere", Compare::Version(1), Then::Delete)
            .await
            .unwrap();
        store.catch_up().await.unwrap();
        assert!(store.revision() >= gone.revision.max(written.revision));
    }
    assert_eq!(store.changed(TABLE), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_etcd_that_crashes_has_every_acknowledged_write_and_the_store_goes_on() {
    let mut etcd = etcd!();
    let store = open(etcd.url(), "/r");
    let mut watcher = store.watch(TABLE, store.revision());
    let mut written = Vec::new();
    for round in 0..3 {
        for step in 0..5 {
            let path = format!("a/{round}-{step}");
            written.push(store.create(TABLE, &path, draft("x", "")).unwrap().revision);
        }
        etcd.crash();
        caught_up(&store).await;
    }
    assert!(written.is_sorted());
    let mut seen = Vec::new();
    while seen.len() < written.len() {
        let events = timeout(Duration::from_secs(5), watcher.next())
            .await
            .unwrap()
            .unwrap();
        seen.extend(events.iter().map(|event| event.object.revision));
    }
    assert_eq!(seen, written);
    let again = open(etcd.url(), "/r");
    let listed = again.list(TABLE, "", "", usize::MAX, At::Now).unwrap();
    assert_eq!(listed.objects.len(), written.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_programs_read_the_objects_as_json_and_what_they_write_is_seen() {
    let etcd = etcd!();
    let store = open(etcd.url(), "/r");
    let stored = store.create(TABLE, "a/x", draft("x", "1")).unwrap();
    let other = client(etcd.url());
    let key = b"/r/configmaps/a/x";
    let read = other
        .txn(key, Compare::Version(9), Then::Delete)
        .await
        .unwrap();
    let found = read.found.unwrap();
    let value: serde_json::Value = serde_json::from_slice(&found.value).unwrap();
    assert_eq!(value["data"]["k"], "1");
    assert_eq!(value["metadata"].get("resourceVersion"), None);
    assert_eq!(found.mod_revision, stored.revision);

    let text =
        br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},"data":{"k":"2"}}"#;
    let compare = Compare::ModRevision(stored.revision);
    let written = other.txn(key, compare, Then::Put(text)).await.unwrap();
    store.catch_up().await.unwrap();
    let object = store.get(TABLE, "a/x").unwrap();
    assert_eq!(object.value()["data"]["k"], "2");
    assert_eq!(object.revision, written.revision);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn objects_of_kube_apiserver_are_refused_by_name() {
    let etcd = etcd!();
    let other = client(etcd.url());
    let key = b"/registry/pods/a/x";
    other
        .txn(key, Compare::Version(0), Then::Put(b"k8s\0\x0a"))
        .await
        .unwrap();
    let backend = EtcdBackend::connect(EtcdOptions::new([etcd.url()])).unwrap();
    let error = Store::open_shared(backend).unwrap_err().to_string();
    let expected =
        "reading the entry \"pods/a/x\": it is encoded as protobuf, as kube-apiserver does";
    assert_eq!(error, expected);
}

#[test]
fn a_large_cluster_is_read_in_pages_at_one_revision() {
    let etcd = etcd!();
    let store = open(etcd.url(), "/r");
    let names = 0..300;
    thread::scope(|scope| {
        for part in 0..10 {
            let (store, names) = (&store, names.clone());
            scope.spawn(move || {
                for name in names.filter(|name| name % 10 == part) {
                    let path = format!("a/{name:04}");
                    store
                        .create(TABLE, &path, draft("x", &"y".repeat(20_000)))
                        .unwrap();
                }
            });
        }
    });
    let revision = store.revision();
    drop(store);
    let backend = EtcdBackend::connect(EtcdOptions::new([etcd.url()]).prefix("/r")).unwrap();
    let loaded = backend.load().unwrap();
    assert_eq!((loaded.revision, loaded.entries.len()), (revision, 300));
    assert!(loaded.entries.is_sorted_by(|a, b| a.key < b.key));
}

#[test]
fn a_server_that_does_not_answer_is_named_and_the_next_one_is_asked() {
    let refused = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let dead = format!("http://{}", refused.local_addr().unwrap());
    drop(refused);
    let error = EtcdBackend::connect(EtcdOptions::new([&*dead])).unwrap_err();
    assert_eq!(error.to_string(), format!("connecting to etcd at {dead}"));
    for (url, expected) in [("localhost:2379", "localhost:2379"), ("ftp://a", "ftp://a")] {
        let error = EtcdBackend::connect(EtcdOptions::new([url])).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("reading the URL {expected:?} of an etcd server")
        );
    }
    let missing = EtcdOptions::new(["https://127.0.0.1:1"]).ca_file("/nowhere/ca.crt");
    let error = EtcdBackend::connect(missing).unwrap_err();
    assert_eq!(error.to_string(), "reading /nowhere/ca.crt");

    let etcd = etcd!();
    let options = EtcdOptions::new([&*dead, etcd.url()]);
    EtcdBackend::connect(options).unwrap().load().unwrap();
}
