//! Read your writes, in simulated programs: handles write, informers follow, other clients write as well, and everything that can
//! go wrong between them does. A seed is a schedule, and the same seed is the same schedule.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::cluster::{Change, Cluster, State, selects};
use crate::informer::{Delta, Entry, Informer, Informers, Postings, Subscription};
use crate::sync::{Mutex, locked};
use crate::{
    Action, Applier, Connection, CreateOrUpdate, Deleter, Finalizer, Key, Kind, Scope, Writer,
};

/// What a cache does wrong in a schedule on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// Caches learn of writes from their watches alone, as in all other libraries.
    NoOverlay,
    /// A write is put into the cache, and nothing keeps it there.
    NoMarks,
    /// A list undoes writes that are newer.
    NoListRule,
    /// An event undoes a deletion that came after it.
    NoTombstones,
}

#[derive(Clone)]
struct World {
    cluster: Cluster,
    informers: Informers,
    caches: Vec<Informer>,
    /// Of each cache, by the values of its objects.
    indexes: Vec<Arc<Postings<String>>>,
    /// For each object, the version by which an acknowledged write was stored.
    acknowledged: Arc<Mutex<BTreeMap<String, u64>>>,
    wrong: Arc<Mutex<Vec<String>>>,
    planted: Planted,
    is_restored: Arc<Mutex<bool>>,
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// What a finalizer is called.
const FINALIZER: &str = "example.com/simulated";

impl World {
    fn new(seed: u64, planted: Planted) -> Self {
        let informers = Informers::new();
        let scopes = [Scope::all(), Scope::all().labelled("on=yes")];
        let caches = scopes.map(|scope| informers.informer(Kind::of::<ConfigMap>(), scope));
        let indexes = caches.iter().map(|cache| {
            let index = Arc::new(Postings::new(|entry: &Entry| Ok(vec![value(entry)])));
            cache.index(&index);
            index
        });
        let world = Self {
            cluster: Cluster::new(seed),
            indexes: indexes.collect(),
            caches: caches.into(),
            informers,
            acknowledged: Arc::default(),
            wrong: Arc::default(),
            planted,
            is_restored: Arc::default(),
        };
        if planted == Planted::NoListRule {
            let caches = world.caches.clone();
            world.cluster.at_lists(move || {
                for cache in &caches {
                    cache.store().forget(|is_deletion| !is_deletion);
                }
            });
        }
        world
    }

    /// Records what a schedule must not do.
    fn object(&self, what: String) {
        locked(self.wrong.lock()).push(what);
    }

    fn key(name: &str) -> Key {
        Key::new(Some("default"), name)
    }

    /// Does to a cache what a planted mistake does.
    fn spoil(&self) {
        for cache in &self.caches {
            match self.planted {
                Planted::NoMarks => cache.store().forget(|_| true),
                Planted::NoTombstones => cache.store().forget(|is_deletion| is_deletion),
                _ => {}
            }
        }
    }

    /// Checks that every cache shows every object as it was at the last acknowledged write or later.
    fn check(&self) {
        self.check_indexes();
        if *locked(self.is_restored.lock()) {
            return;
        }
        let log = self.cluster.with(|state| state.log.clone());
        for (name, by) in locked(self.acknowledged.lock()).iter() {
            for cache in self.caches.iter().filter(|cache| cache.is_synced()) {
                let labels = cache.scope().labels.as_deref().unwrap_or_default();
                let shown = cache.get(&Self::key(name));
                if !states(&log, name, *by, labels).contains(&shown.as_deref().map(version)) {
                    let shown = shown.as_deref().map(version);
                    self.object(format!(
                        "{name} is read as {shown:?} after a write by version {by}"
                    ));
                }
            }
        }
    }

    /// Checks that every index finds every object, and finds it as it is.
    fn check_indexes(&self) {
        for (cache, index) in self.caches.iter().zip(&self.indexes) {
            let all = cache.select(|_| true);
            let found = all.iter().flat_map(|entry| {
                let value = value(entry);
                let found = cache.at(|| index.places(&value, |_| true));
                found.into_iter().filter(|found| found.key() == entry.key())
            });
            let found: Vec<_> = found.map(|entry| version(&entry)).collect();
            let shown: Vec<_> = all.iter().map(|entry| version(entry)).collect();
            let held = index.len();
            if found != shown || held != shown.len() {
                self.object(format!("an index of {held} finds {found:?} of {shown:?}"));
            }
        }
    }

    /// Follows the changes that a subscriber hears of, which lead from one state to the next.
    fn listen(&self, cache: &Informer) -> Subscription {
        let told: Mutex<BTreeMap<Key, (Option<String>, u64)>> = Mutex::default();
        let world = self.clone();
        let informer = cache.clone();
        cache.subscribe(move |delta: &Delta| {
            let entry = delta
                .new
                .as_ref()
                .or(delta.old.as_ref())
                .expect("an object");
            let mut told = locked(told.lock());
            let (last, newest) = told.entry(entry.key().clone()).or_default();
            let text = |entry: &Option<Arc<Entry>>| entry.as_deref().map(version);
            let (old, new) = (text(&delta.old), text(&delta.new));
            if *last != old {
                world.object(format!("{old:?} becomes {new:?}, after {last:?}"));
            }
            let is_same = old == new;
            let number = delta.new.as_ref().map_or(*newest, |new| number(new));
            let is_restored = *locked(world.is_restored.lock());
            if !is_restored && (number < *newest || is_same) {
                world.object(format!("{old:?} becomes {new:?}: older than {newest}"));
            }
            // A reader sees what a subscriber hears of.
            if informer.get(entry.key()).as_deref().map(version) != new {
                world.object(format!("{new:?} is reported before it can be read"));
            }
            (*last, *newest) = (new, number);
        })
    }

    async fn run(self, restores: bool) -> Vec<String> {
        let mut tasks = JoinSet::new();
        let listening: Vec<_> = self.caches.iter().map(|cache| self.listen(cache)).collect();
        let mut following = self.follow(&mut tasks);
        let mut actors = JoinSet::new();
        for actor in 1..=2 {
            actors.spawn(self.clone().act(actor));
        }
        actors.spawn(self.clone().others());
        let reader = self.clone();
        let reading = tasks.spawn(async move {
            loop {
                reader.check();
                reader.cluster.pause(10).await;
            }
        });
        for step in 0..8 {
            self.cluster.pause(60).await;
            match self.cluster.with(|state| state.random.u8(..6)) {
                0 | 1 => self.cluster.with(State::compact),
                2 | 3 => self.cluster.with(State::end_watches),
                4 if step > 1 => {
                    following.abort();
                    self.cluster.pause(30).await;
                    following = self.follow(&mut tasks);
                }
                _ => {}
            }
        }
        while actors.join_next().await.is_some() {}
        reading.abort();
        self.cluster.with(|state| state.has_faults = false);
        if restores {
            // An API server that has caught up with the versions of its other history before a watch goes on cannot be told from
            // the one before: it is quiet for a while.
            *locked(self.is_restored.lock()) = true;
            self.cluster.with(State::restore);
            sleep(Duration::from_mins(5)).await;
            self.clone().others().await;
        }
        self.calm_down().await;
        drop(listening);
        locked(self.wrong.lock()).clone()
    }

    /// Waits until the caches are what is stored, and remember no write any more.
    async fn calm_down(&self) {
        for _ in 0..40 {
            sleep(Duration::from_secs(30)).await;
            if self.differs().is_none() {
                return;
            }
        }
        self.object(self.differs().unwrap_or_default());
    }

    fn differs(&self) -> Option<String> {
        for cache in &self.caches {
            let labels = cache.scope().labels.as_deref().unwrap_or_default();
            let shown: Vec<Value> = cache
                .select(|_| true)
                .iter()
                .map(|entry| entry.decode().expect("an object"))
                .collect();
            let stored: Vec<Value> = self.cluster.with(|state| {
                let objects = state.objects().values();
                objects
                    .filter(|object| selects(labels, object))
                    .cloned()
                    .collect()
            });
            if shown != stored {
                return Some(format!("{labels:?}: {shown:?} is not {stored:?}"));
            }
            if cache.store().is_ahead() {
                return Some(format!("{labels:?}: a write is remembered for ever"));
            }
        }
        None
    }

    fn follow(&self, tasks: &mut JoinSet<()>) -> AbortHandle {
        let (informers, client) = (self.informers.clone(), self.cluster.client(0));
        tasks.spawn(async move { informers.run(client).await })
    }

    /// Another client, of which the program knows nothing.
    async fn others(self) {
        for _ in 0..10 {
            self.cluster.pause(60).await;
            self.cluster.with(|state| {
                let name = NAMES[state.random.usize(..NAMES.len())];
                let value = state.random.u16(..).to_string();
                let on = ["yes", "no"][state.random.usize(..2)];
                match state.objects().get(name).cloned() {
                    None => drop(state.create(name, object(name, &value, on))),
                    Some(_) if state.random.u8(..4) == 0 => {
                        state.store(name, None);
                    }
                    Some(mut old) => {
                        old["data"] = json!({"value": value});
                        old["metadata"]["labels"] = json!({"on": on});
                        state.store(name, Some(old));
                    }
                }
            });
        }
    }

    /// A part of the program: it writes, and relies on what it reads.
    async fn act(self, actor: usize) {
        let connection = match self.planted {
            Planted::NoOverlay => Connection::new(),
            _ => Connection::with_informers(&self.informers),
        };
        connection.open(self.cluster.client(actor), "simulated");
        for _ in 0..10 {
            self.cluster.pause(50).await;
            drop(self.cluster.with(|state| state.take_applied(actor)));
            let is_done = self.write(&connection).await;
            let applied = self.cluster.with(|state| state.take_applied(actor));
            if let (true, Some((name, by))) = (is_done, applied) {
                self.spoil();
                let mut acknowledged = locked(self.acknowledged.lock());
                let known = acknowledged.entry(name).or_default();
                *known = by.max(*known);
                drop(acknowledged);
                self.check();
            }
        }
    }

    /// Does one write through a handle, and returns whether it is acknowledged.
    async fn write(&self, connection: &Connection) -> bool {
        let scope = Scope::all;
        let (name, value, on, what) = self.cluster.with(|state| {
            let name = NAMES[state.random.usize(..NAMES.len())];
            let on = ["yes", "no"][state.random.usize(..2)];
            (
                name,
                state.random.u16(..).to_string(),
                on,
                state.random.u8(..10),
            )
        });
        let wanted: ConfigMap = serde_json::from_value(object(name, &value, on)).expect("a map");
        let cached = || {
            let entry = self.caches[0].get(&Self::key(name));
            entry.and_then(|entry| entry.decode::<ConfigMap>().ok())
        };
        // What a client reads that has no cache, or had a look a while ago.
        let stored = || {
            let object = self
                .cluster
                .with(|state| state.objects().get(name).cloned());
            object.and_then(|object| serde_json::from_value::<ConfigMap>(object).ok())
        };
        let writer: Writer<ConfigMap> = Writer::new(connection, scope());
        match what {
            0 => writer.create(&wanted).await.is_ok(),
            1 | 2 => {
                let Some(mut map) = cached() else {
                    return false;
                };
                map.data = wanted.data;
                map.metadata.labels = wanted.metadata.labels;
                if what == 2 {
                    map.metadata.resource_version = None;
                }
                writer.replace(&map).await.is_ok()
            }
            3 => {
                let patch = json!({"data": {"value": value}, "metadata": {"labels": {"on": on}}});
                writer.merge(("default", name), &patch).await.is_ok()
            }
            4 | 5 => {
                let found = if what == 4 { cached() } else { stored() };
                let Some(map) = found else { return false };
                let deleter: Deleter<ConfigMap> = Deleter::new(connection, scope());
                deleter.delete(&map).await.is_ok()
            }
            6 => {
                let Some(map) = cached() else { return false };
                let finalizer = Finalizer::new(connection, FINALIZER);
                let reconcile = async |_| Ok(Action::await_change());
                finalizer.run(Arc::new(map), reconcile).await.is_ok()
            }
            7 => {
                let applier: Applier<ConfigMap> = Applier::new(connection, scope());
                applier.apply(&wanted).await.is_ok()
            }
            8 => {
                let Some(map) = stored() else { return false };
                self.cluster.pause(60).await;
                writer.delete(&map).await.is_ok()
            }
            _ => {
                // Its own informers are those of the program, or it would not compare with what it has written.
                let handle: CreateOrUpdate<ConfigMap> = match self.planted {
                    Planted::NoOverlay => return false,
                    _ => CreateOrUpdate::new(&self.informers, connection, scope()),
                };
                handle.create_or_update(&wanted).await.is_ok()
            }
        }
    }
}

fn object(name: &str, value: &str, on: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"value": value},
        "metadata": {"name": name, "namespace": "default", "labels": {"on": on}}})
}

fn version(entry: &Entry) -> String {
    let (uid, version) = entry.version();
    format!("{uid}@{version}")
}

fn value(entry: &Entry) -> String {
    let object: Value = entry.decode().expect("an object");
    object["data"]["value"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

fn number(entry: &Entry) -> u64 {
    entry
        .metadata()
        .resource_version()
        .parse()
        .expect("a number")
}

/// The states of an object since a version, in the scope of a cache.
fn states(log: &[Change], name: &str, since: u64, labels: &str) -> Vec<Option<String>> {
    let all = log.iter().filter(|change| change.name == name);
    let (before, after): (Vec<_>, Vec<_>) = all.partition(|change| change.revision <= since);
    let text = |object: &Option<Value>| {
        let object = object.as_ref().filter(|object| selects(labels, object))?;
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        Some(format!("{}@{}", text("uid"), text("resourceVersion")))
    };
    let first = before.last().and_then(|change| text(&change.new));
    std::iter::once(first)
        .chain(after.iter().map(|change| text(&change.new)))
        .collect()
}

fn run(seed: u64, planted: Planted) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    fastrand::seed(seed);
    // Every eighth API server is restored from a backup at some time.
    runtime.block_on(World::new(seed, planted).run(seed % 8 == 7))
}

/// The schedules of a run: the first ones, or those that the variable names, such as `0..100000`.
fn schedules(usual: u64) -> std::ops::Range<u64> {
    let said = std::env::var("KUBEWRIGHT_SCHEDULES").ok();
    let said = said.as_deref().and_then(|said| said.split_once(".."));
    let said = said.and_then(|(from, to)| Some(from.parse().ok()?..to.parse().ok()?));
    said.unwrap_or(0..usual)
}

#[test]
fn no_cached_read_is_older_than_a_write_whatever_happens() {
    for seed in FAILED.into_iter().chain(schedules(300)) {
        let wrong = run(seed, Planted::Nothing);
        assert!(wrong.is_empty(), "schedule {seed}: {wrong:#?}");
    }
}

#[test]
fn a_cache_that_forgets_any_of_its_rules_is_found_out() {
    for planted in [
        Planted::NoOverlay,
        Planted::NoMarks,
        Planted::NoListRule,
        Planted::NoTombstones,
    ] {
        let found = (0..100).find(|seed| !run(*seed, planted).is_empty());
        assert!(found.is_some(), "{planted:?} is not found out");
    }
}

/// Schedules that have failed before a mistake was corrected: a list from before the creation of an object that was deleted; the
/// version of a bad replica, by which an object ought to have been gone; a list of such a replica, from before a deleted object had
/// entered the scope.
const FAILED: [u64; 3] = [146, 937, 10600];
