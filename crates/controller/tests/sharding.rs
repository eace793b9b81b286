//! Sharded controllers on an embedded API server, in virtual time: who reconciles what, and never two at once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kubewright_controller::{
    Action, Connection, Context, Controller, Error, LeaderElection, Scope, Sharding, Trigger,
    Writer,
};
use kubewright_manager::{App, Needs, Program, StartError};
use kubewright_testing::{TestCluster, yaml};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const LEASE: Duration = Duration::from_secs(15);
const SHARDS: u16 = 8;

/// One reconcile that has ended or was cut off.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Done {
    object: String,
    replica: &'static str,
    at: Instant,
    is_whole: bool,
}

/// What all replicas do.
#[derive(Clone, Default)]
struct Ledger {
    done: Arc<Mutex<Vec<Done>>>,
    working: Arc<Mutex<BTreeMap<String, &'static str>>>,
    overlaps: Arc<Mutex<Vec<String>>>,
}

/// Notes that a replica reconciles an object, until it is dropped.
struct Working {
    ledger: Ledger,
    object: String,
    replica: &'static str,
    is_whole: bool,
}

impl Ledger {
    fn begin(&self, object: &str, replica: &'static str) -> Working {
        let object = object.to_owned();
        let mut working = self.working.lock().unwrap();
        if let Some(other) = working.insert(object.clone(), replica) {
            let text = format!("{object}: {replica} and {other}");
            self.overlaps.lock().unwrap().push(text);
        }
        Working {
            ledger: self.clone(),
            object,
            replica,
            is_whole: false,
        }
    }

    /// What was done since the last call.
    fn take(&self) -> Vec<Done> {
        std::mem::take(&mut *self.done.lock().unwrap())
    }

    /// The replica that reconciled each of the objects since the last call, which each was once.
    fn holders(&self) -> BTreeMap<String, &'static str> {
        let mut holders = BTreeMap::new();
        for done in self.take() {
            let before = holders.insert(done.object.clone(), done.replica);
            assert_eq!(before, None, "{} was reconciled twice", done.object);
        }
        holders
    }

    fn assert_no_overlap(&self) {
        assert_eq!(*self.overlaps.lock().unwrap(), Vec::<String>::new());
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.ledger.working.lock().unwrap().remove(&self.object);
        self.ledger.done.lock().unwrap().push(Done {
            object: self.object.clone(),
            replica: self.replica,
            at: Instant::now(),
            is_whole: self.is_whole,
        });
    }
}

/// A replica at work. It is killed when this is dropped.
struct Replica {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Replica {
    fn of(client: Client, controller: Controller<ConfigMap>) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let run = controller.run(client, async { drop(stopped.await) });
        Self {
            task: tokio::spawn(run),
            stop: Some(stop),
        }
    }

    /// One whose reconciles take a time.
    fn start(cluster: &TestCluster, ledger: &Ledger, name: &'static str, takes: Duration) -> Self {
        let ledger = ledger.clone();
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            let ledger = ledger.clone();
            async move {
                let mut working = ledger.begin(map.metadata.name.as_deref().unwrap(), name);
                sleep(takes).await;
                working.is_whole = true;
                Ok(Action::await_change())
            }
        };
        let controller = Controller::new("maps", reconcile).concurrency(100);
        Self::of(cluster.client(), sharded(controller, name, SHARDS))
    }

    async fn stop(mut self) {
        self.stop.take();
        (&mut self.task).await.unwrap();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn sharded(controller: Controller<ConfigMap>, name: &str, shards: u16) -> Controller<ConfigMap> {
    let lease = LeaderElection::by_lease("maps").identity(name);
    controller
        .within(Scope::all().labelled("mine"))
        .sharded(Sharding::among(shards).lease(lease))
}

async fn create(cluster: &TestCluster, names: impl IntoIterator<Item = String>) {
    for name in names {
        let map = format!("metadata: {{name: {name}, labels: {{mine: 'yes'}}}}");
        cluster
            .create::<ConfigMap>(&yaml(&map))
            .await
            .expect_allowed();
    }
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count)
        .map(|number| format!("{prefix}-{number}"))
        .collect()
}

async fn change_all(cluster: &TestCluster, names: &[String], value: &str) {
    for name in names {
        let patch = json!({"data": {"value": value}});
        cluster
            .merge::<ConfigMap>(name, &patch)
            .await
            .expect_allowed();
    }
}

/// How many shards each replica has beside its name.
async fn shares(cluster: &TestCluster) -> BTreeMap<String, usize> {
    let lease = cluster.get::<Lease>("maps").await.expect("a Lease");
    let annotations = lease.metadata.annotations.unwrap_or_default();
    let roster: serde_json::Value =
        serde_json::from_str(&annotations["kubewright.dev/shards"]).unwrap();
    let members = roster.as_object().unwrap().iter();
    members
        .map(|(name, member)| (name.clone(), member["shards"].as_array().unwrap().len()))
        .collect()
}

#[tokio::test(start_paused = true)]
async fn each_object_is_reconciled_once_by_the_replica_that_holds_its_shard() {
    let (cluster, ledger) = (TestCluster::start().await, Ledger::default());
    let all = names("web", 60);
    create(&cluster, all.clone()).await;
    let at_once = Duration::ZERO;
    let _replicas = ["a", "b", "c"].map(|name| Replica::start(&cluster, &ledger, name, at_once));
    sleep(Duration::from_secs(5)).await;
    let held: Vec<usize> = shares(&cluster).await.into_values().collect();
    assert_eq!(held, [3, 3, 2]);
    ledger.take();

    change_all(&cluster, &all, "new").await;
    sleep(Duration::from_secs(1)).await;
    let holders = ledger.holders();
    assert_eq!(holders.len(), all.len());
    assert_eq!(holders.values().collect::<BTreeSet<_>>().len(), 3);

    // Who holds an object keeps it.
    change_all(&cluster, &all, "newer").await;
    sleep(Duration::from_mins(1)).await;
    assert_eq!(ledger.holders(), holders);
    ledger.assert_no_overlap();
}

#[tokio::test(start_paused = true)]
async fn others_reconcile_the_objects_of_a_replica_that_is_killed_after_the_lease_duration() {
    let (cluster, ledger) = (TestCluster::start().await, Ledger::default());
    let all = names("web", 60);
    create(&cluster, all.clone()).await;
    let at_once = Duration::ZERO;
    let mut replicas: Vec<Replica> = ["a", "b", "c"]
        .map(|name| Replica::start(&cluster, &ledger, name, at_once))
        .into();
    sleep(Duration::from_secs(5)).await;
    ledger.take();
    change_all(&cluster, &all, "before").await;
    sleep(Duration::from_secs(1)).await;
    let before = ledger.holders();

    drop(replicas.remove(1));
    let killed = Instant::now();
    sleep(LEASE + Duration::from_secs(1)).await;
    let taken = ledger.take();
    let lost: BTreeSet<&String> = before
        .iter()
        .filter(|held| *held.1 == "b")
        .map(|held| held.0)
        .collect();
    let found: BTreeSet<&String> = taken.iter().map(|done| &done.object).collect();
    assert_eq!(found, lost);
    for done in &taken {
        let waited = done.at - killed;
        assert!(
            waited + Duration::from_secs(3) >= LEASE,
            "{done:?} after {waited:?}"
        );
    }
    assert_eq!(
        shares(&cluster).await,
        BTreeMap::from([("a".to_owned(), 4), ("c".to_owned(), 4)])
    );
    ledger.assert_no_overlap();
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_finishes_its_reconciles_and_hands_its_shards_over_at_once() {
    let (cluster, ledger) = (TestCluster::start().await, Ledger::default());
    create(&cluster, names("web", 40)).await;
    let takes = Duration::from_millis(300);
    let first = Replica::start(&cluster, &ledger, "first", takes);
    sleep(Duration::from_secs(2)).await;
    let _second = Replica::start(&cluster, &ledger, "second", takes);
    sleep(Duration::from_secs(5)).await;
    ledger.take();
    change_all(&cluster, &names("web", 40), "new").await;
    sleep(Duration::from_millis(100)).await;

    let stopped = Instant::now();
    first.stop().await;
    sleep(Duration::from_secs(1)).await;
    let done = ledger.take();
    assert!(done.iter().all(|done| done.is_whole), "{done:?}");
    let of_first: BTreeSet<&String> = done
        .iter()
        .filter(|done| done.replica == "first")
        .map(|done| &done.object)
        .collect();
    let taken: BTreeSet<&String> = done
        .iter()
        .filter(|done| done.replica == "second" && of_first.contains(&done.object))
        .map(|done| &done.object)
        .collect();
    assert_eq!(taken, of_first);
    let last = done.iter().map(|done| done.at).max().unwrap();
    assert!(
        last - stopped < Duration::from_secs(1),
        "{:?}",
        last - stopped
    );
    assert_eq!(
        shares(&cluster).await,
        BTreeMap::from([("second".to_owned(), 8)])
    );
    ledger.assert_no_overlap();
}

#[tokio::test(start_paused = true)]
async fn a_new_replica_gets_a_shard_when_the_last_reconcile_in_it_has_ended() {
    let (cluster, ledger) = (TestCluster::start().await, Ledger::default());
    create(&cluster, names("web", 40)).await;
    let long = Duration::from_mins(1);
    let _first = Replica::start(&cluster, &ledger, "first", long);
    sleep(Duration::from_secs(2)).await;
    let _second = Replica::start(&cluster, &ledger, "second", Duration::ZERO);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(ledger.take(), [], "every shard has a reconcile at work");
    assert_eq!(shares(&cluster).await["first"], 8);
    sleep(Duration::from_secs(40)).await;
    assert_eq!(
        shares(&cluster).await,
        BTreeMap::from([("first".to_owned(), 4), ("second".to_owned(), 4)])
    );
    let done = ledger.take();
    assert!(done.iter().all(|done| done.is_whole), "{done:?}");
    let by = |replica| done.iter().filter(|done| done.replica == replica).count();
    assert_eq!(by("first"), 40);
    assert!(by("second") > 10, "{}", by("second"));
    ledger.assert_no_overlap();
}

#[tokio::test(start_paused = true)]
async fn an_object_that_fails_is_tried_again_by_its_new_holder_alone() {
    let cluster = TestCluster::start().await;
    create(&cluster, names("web", 20)).await;
    let tried: Arc<Mutex<Vec<(String, &str)>>> = Arc::default();
    let start = |name: &'static str| {
        let tried = Arc::clone(&tried);
        let reconcile = move |map: Arc<ConfigMap>, context: Context| {
            let object = map.metadata.name.clone().unwrap();
            tried.lock().unwrap().push((object, name));
            async move {
                match context.failures() {
                    0..3 => Err(Error::retry("the garden is locked")),
                    _ => Ok(Action::requeue_after(Duration::from_secs(20))),
                }
            }
        };
        Replica::of(
            cluster.client(),
            sharded(Controller::new("maps", reconcile), name, SHARDS),
        )
    };
    let _first = start("first");
    sleep(Duration::from_secs(10)).await;
    let _second = start("second");
    sleep(Duration::from_secs(5)).await;
    tried.lock().unwrap().clear();
    sleep(Duration::from_mins(3)).await;
    let tried = tried.lock().unwrap();
    let pairs: BTreeSet<&(String, &str)> = tried.iter().collect();
    assert_eq!(pairs.len(), 20, "every object has one replica: {pairs:?}");
    assert!(pairs.iter().any(|(_, replica)| *replica == "second"));
}

#[tokio::test(start_paused = true)]
async fn a_trigger_reaches_the_objects_in_the_shards_of_its_own_replica() {
    let cluster = TestCluster::start().await;
    create(&cluster, names("web", 40)).await;
    let (ledger, trigger) = (Ledger::default(), Trigger::new());
    let start = |name: &'static str| {
        let ledger = ledger.clone();
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            ledger
                .begin(map.metadata.name.as_deref().unwrap(), name)
                .is_whole = true;
            async { Ok(Action::await_change()) }
        };
        let controller = Controller::new("maps", reconcile).triggered_by(&trigger);
        Replica::of(cluster.client(), sharded(controller, name, SHARDS))
    };
    let _replicas = ["a", "b", "c"].map(start);
    sleep(Duration::from_secs(5)).await;
    ledger.take();
    trigger.reconcile_all();
    sleep(Duration::from_secs(1)).await;
    assert_eq!(
        ledger.holders().len(),
        40,
        "each object once, over all replicas"
    );
}

#[tokio::test(start_paused = true)]
async fn another_number_of_shards_begins_when_the_last_replica_of_the_old_version_has_stopped() {
    let cluster = TestCluster::start().await;
    create(&cluster, names("web", 20)).await;
    let ledger = Ledger::default();
    let start = |name: &'static str, shards| {
        let ledger = ledger.clone();
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            ledger
                .begin(map.metadata.name.as_deref().unwrap(), name)
                .is_whole = true;
            async { Ok(Action::await_change()) }
        };
        Replica::of(
            cluster.client(),
            sharded(Controller::new("maps", reconcile), name, shards),
        )
    };
    let olds = [start("old-0", 8), start("old-1", 8)];
    sleep(Duration::from_secs(5)).await;
    let _news = [start("new-0", 5), start("new-1", 5)];
    sleep(Duration::from_mins(1)).await;
    assert!(
        ledger
            .take()
            .iter()
            .all(|done| done.replica.starts_with("old"))
    );
    for old in olds {
        assert_eq!(
            ledger
                .take()
                .iter()
                .filter(|done| done.replica.starts_with("new"))
                .count(),
            0
        );
        old.stop().await;
    }
    sleep(Duration::from_secs(1)).await;
    let by_new = ledger
        .take()
        .into_iter()
        .filter(|done| done.replica.starts_with("new"));
    assert_eq!(
        by_new
            .map(|done| done.object)
            .collect::<BTreeSet<_>>()
            .len(),
        20
    );
    let expected = [("new-0".to_owned(), 3), ("new-1".to_owned(), 2)];
    assert_eq!(shares(&cluster).await, BTreeMap::from(expected));
}

/// A client whose requests and answers about Leases are lost while it is cut off.
fn through(client: Client, is_cut: &Arc<AtomicBool>) -> Client {
    let is_cut = Arc::clone(is_cut);
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, is_cut) = (client.clone(), Arc::clone(&is_cut));
        async move {
            let is_of_leases = request.uri().path().contains("/leases");
            if is_of_leases && is_cut.load(Ordering::SeqCst) {
                return std::future::pending().await;
            }
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_cannot_renew_writes_nothing_more_before_another_wins_its_shards() {
    let cluster = TestCluster::start().await;
    create(&cluster, names("web", 8)).await;
    let is_cut = Arc::new(AtomicBool::new(false));
    let written: Arc<Mutex<Vec<(&str, Instant)>>> = Arc::default();
    let start = |name: &'static str, client: Client| {
        let connection = Connection::new();
        connection.open(client.clone(), name);
        let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
        let written = Arc::clone(&written);
        // It writes without end, as long as it may.
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            let (writer, written) = (writer.clone(), Arc::clone(&written));
            async move {
                let name_of_map = map.metadata.name.clone().unwrap();
                for number in 0.. {
                    let patch = json!({"data": {name: number.to_string()}});
                    writer
                        .merge(("default", name_of_map.as_str()), &patch)
                        .await?;
                    written.lock().unwrap().push((name, Instant::now()));
                    sleep(Duration::from_millis(500)).await;
                }
                Ok(Action::await_change())
            }
        };
        let controller = Controller::new("maps", reconcile).concurrency(8);
        Replica::of(client, sharded(controller, name, 1))
    };
    let _first = start("first", through(cluster.client(), &is_cut));
    sleep(Duration::from_secs(5)).await;
    let _second = start("second", cluster.client());
    sleep(Duration::from_secs(5)).await;
    is_cut.store(true, Ordering::SeqCst);
    let cut = Instant::now();
    sleep(LEASE * 2).await;
    let written = written.lock().unwrap().clone();
    let (firsts, seconds): (Vec<_>, Vec<_>) = written.into_iter().partition(|one| one.0 == "first");
    let (last, next) = (firsts.last().unwrap().1, seconds[0].1);
    assert!(last > cut, "it writes as long as it may");
    assert!(next - last >= Duration::from_secs(4), "{:?}", next - last);
}

#[tokio::test]
async fn times_that_would_give_a_shard_two_holders_are_refused() {
    let cluster = TestCluster::start().await;
    let lease = LeaderElection::by_lease("a").renew_deadline(Duration::from_mins(1));
    let idle = |_: Arc<ConfigMap>, _: Context| async { Ok(Action::await_change()) };
    let controller = Controller::new("maps", idle).sharded(Sharding::among(8).lease(lease));
    let program = Program::new(|_: &mut Needs| App::new("gardens").controller(controller));
    let started = program.client(cluster.client()).start().await;
    assert!(matches!(started, Err(StartError::Election(_))));
}

#[tokio::test(start_paused = true)]
async fn a_standby_of_an_election_reconciles_its_share_of_a_sharded_controller() {
    let cluster = TestCluster::start().await;
    for number in 0..20 {
        let map = format!("metadata: {{name: map-{number}, labels: {{mine: 'yes'}}}}");
        cluster
            .create::<ConfigMap>(&yaml(&map))
            .await
            .expect_allowed();
    }
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let start = async |replica: &'static str| {
        let reconcile = |controller: &'static str| {
            let sender = sender.clone();
            move |map: Arc<ConfigMap>, _: Context| {
                let name = map.metadata.name.clone().unwrap();
                drop(sender.send((controller, replica, name)));
                async { Ok::<_, Error>(Action::requeue_after(Duration::from_secs(1))) }
            }
        };
        let mine = || Scope::all().labelled("mine");
        let app = App::new("gardens")
            .leader_election("gardens")
            .controller(Controller::new("led", reconcile("led")).within(mine()))
            .controller(
                Controller::new("shared", reconcile("shared"))
                    .within(mine())
                    .sharded(8),
            );
        let program = Program::new(|_| app).client(cluster.client());
        let started = program.start().await.unwrap();
        drop(tokio::spawn(started.run(std::future::pending())));
    };
    start("first").await;
    start("second").await;
    sleep(Duration::from_secs(10)).await;
    while reconciled.try_recv().is_ok() {}
    sleep(Duration::from_secs(3)).await;
    let (mut led, mut shared) = (BTreeSet::new(), BTreeSet::new());
    while let Ok((controller, replica, name)) = reconciled.try_recv() {
        match controller {
            "led" => drop(led.insert(replica)),
            _ => drop(shared.insert((replica, name))),
        }
    }
    assert_eq!(led.len(), 1, "{led:?}");
    assert_eq!(shared.len(), 20, "each object by one replica: {shared:?}");
    let replicas: BTreeSet<&str> = shared.iter().map(|one| one.0).collect();
    assert_eq!(replicas.len(), 2);
}
