//! Elections on an embedded API server, in virtual time: who leads, since when, and never two at once.

use std::convert::Infallible;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use kubewright_controller::{
    Action, Context, Controller, LeaderElection, LeaderElector, LeaderGuard,
};
use kubewright_manager::{App, Needs, Program, StartError};
use kubewright_testing::{TestCluster, yaml};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

const LEASE: Duration = Duration::from_secs(15);
const HAND_OVERS: usize = 200;

/// Who leads, as all candidates of a test tell it.
#[derive(Clone)]
struct Ledger {
    leading: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    elected: mpsc::UnboundedSender<(String, Instant)>,
}

/// Counts a leader until it is dropped.
struct Leading(Ledger);

/// A candidate at work. It is killed when this is dropped.
struct Candidate {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

type Elected = mpsc::UnboundedReceiver<(String, Instant)>;

impl Ledger {
    fn new() -> (Self, Elected) {
        let (elected, receiver) = mpsc::unbounded_channel();
        let ledger = Self {
            leading: Arc::default(),
            most: Arc::default(),
            elected,
        };
        (ledger, receiver)
    }

    fn lead(&self, identity: &str) -> Leading {
        let now = self.leading.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        drop(self.elected.send((identity.to_owned(), Instant::now())));
        Leading(self.clone())
    }

    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.leading.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Candidate {
    fn start(ledger: &Ledger, client: Client, identity: &str) -> Self {
        let election = LeaderElection::by_lease("gardens").identity(identity);
        let elector = LeaderElector::new(&election, client);
        let (stop, stopped) = oneshot::channel::<()>();
        let stopped = futures::FutureExt::shared(async { drop(stopped.await) });
        let (ledger, identity) = (ledger.clone(), identity.to_owned());
        let lead = {
            let stopped = stopped.clone();
            move |guard: LeaderGuard| {
                let (ledger, identity, stopped) =
                    (ledger.clone(), identity.clone(), stopped.clone());
                async move {
                    let _leading = ledger.lead(&identity);
                    tokio::select! {
                        () = stopped => {}
                        () = guard.lost() => {}
                    }
                }
            }
        };
        Self {
            task: tokio::spawn(elector.run(stopped, lead)),
            stop: Some(stop),
        }
    }

    async fn stop(mut self) {
        self.stop.take();
        (&mut self.task).await.unwrap();
    }

    async fn kill(mut self) {
        self.task.abort();
        let killed = (&mut self.task).await;
        assert!(killed.unwrap_err().is_cancelled());
    }
}

impl Drop for Candidate {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn lease(cluster: &TestCluster) -> Lease {
    cluster.get::<Lease>("gardens").await.expect("a Lease")
}

fn held_by(holder: &str, renewed: &str) -> Lease {
    yaml(&format!(
        "{{metadata: {{name: gardens}}, spec: {{holderIdentity: '{holder}', leaseDurationSeconds: 15, \
         acquireTime: '{renewed}', renewTime: '{renewed}', leaseTransitions: 3}}}}"
    ))
}

#[tokio::test(start_paused = true)]
async fn a_standby_leads_at_once_when_the_leader_stops_and_two_never_lead() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let mut leader = Candidate::start(&ledger, cluster.client(), "0");
    assert_eq!(elected.recv().await.unwrap().0, "0");
    for number in 1..=HAND_OVERS {
        let standby = Candidate::start(&ledger, cluster.client(), &number.to_string());
        sleep(Duration::from_secs(3)).await;
        let stopped = Instant::now();
        leader.stop().await;
        let (identity, at) = elected.recv().await.unwrap();
        assert_eq!(identity, number.to_string());
        assert!(
            at - stopped <= Duration::from_millis(150),
            "{:?}",
            at - stopped
        );
        leader = standby;
    }
    assert_eq!(ledger.most(), 1);
    let spec = lease(&cluster).await.spec.unwrap();
    assert_eq!(
        spec.lease_transitions,
        Some(i32::try_from(HAND_OVERS).unwrap())
    );
}

#[tokio::test(start_paused = true)]
async fn a_standby_leads_after_the_lease_duration_when_the_leader_is_killed_and_two_never_lead() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let mut leader = Candidate::start(&ledger, cluster.client(), "0");
    assert_eq!(elected.recv().await.unwrap().0, "0");
    for number in 1..=HAND_OVERS {
        let standby = Candidate::start(&ledger, cluster.client(), &number.to_string());
        sleep(Duration::from_millis(2_000 + 10 * number as u64)).await;
        let killed = Instant::now();
        leader.kill().await;
        let (identity, at) = elected.recv().await.unwrap();
        assert_eq!(identity, number.to_string());
        assert!(
            at - killed <= LEASE + Duration::from_millis(100),
            "{:?}",
            at - killed
        );
        leader = standby;
    }
    assert_eq!(ledger.most(), 1);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_day_in_a_lease_decides_nothing() {
    for renewed in ["2000-01-01T00:00:00.000000Z", "2999-01-01T00:00:00.000000Z"] {
        let cluster = TestCluster::start().await;
        cluster
            .create(&held_by("other", renewed))
            .await
            .expect_allowed();
        let (ledger, mut elected) = Ledger::new();
        let begun = Instant::now();
        let _candidate = Candidate::start(&ledger, cluster.client(), "me");
        let (_, at) = elected.recv().await.unwrap();
        assert!(at - begun >= LEASE, "{renewed}: {:?}", at - begun);
        assert!(
            at - begun <= LEASE + Duration::from_millis(100),
            "{renewed}: {:?}",
            at - begun
        );
        let spec = lease(&cluster).await.spec.unwrap();
        assert_eq!(spec.holder_identity.as_deref(), Some("me"));
        assert_eq!(
            (spec.lease_transitions, spec.lease_duration_seconds),
            (Some(4), Some(15))
        );
    }
}

#[tokio::test(start_paused = true)]
async fn what_client_go_has_released_is_taken_at_once() {
    let cluster = TestCluster::start().await;
    cluster
        .create(&held_by("other", "2026-01-01T00:00:00.000000Z"))
        .await
        .expect_allowed();
    let (ledger, mut elected) = Ledger::new();
    let _candidate = Candidate::start(&ledger, cluster.client(), "me");
    sleep(Duration::from_secs(5)).await;
    let released = Instant::now();
    let patch = json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}});
    cluster
        .merge::<Lease>("gardens", &patch)
        .await
        .expect_allowed();
    let (_, at) = elected.recv().await.unwrap();
    assert!(
        at - released <= Duration::from_millis(150),
        "{:?}",
        at - released
    );
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_is_taken_stops_at_once_and_stands_again() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let _candidate = Candidate::start(&ledger, cluster.client(), "me");
    elected.recv().await.unwrap();
    let patch = json!({"spec": {"holderIdentity": "thief"}});
    cluster
        .merge::<Lease>("gardens", &patch)
        .await
        .expect_allowed();
    let stolen = Instant::now();
    while ledger.leading.load(Ordering::SeqCst) > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(
        stolen.elapsed() <= Duration::from_millis(150),
        "{:?}",
        stolen.elapsed()
    );
    let (_, at) = elected.recv().await.unwrap();
    assert!(at - stolen >= LEASE, "{:?}", at - stolen);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_deleted_is_made_again_by_its_leader() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let _leader = Candidate::start(&ledger, cluster.client(), "leader");
    elected.recv().await.unwrap();
    let _standby = Candidate::start(&ledger, cluster.client(), "standby");
    sleep(Duration::from_secs(3)).await;
    cluster.delete::<Lease>("gardens").await.expect_allowed();
    sleep(LEASE * 3).await;
    assert_eq!(ledger.most(), 1);
    let spec = lease(&cluster).await.spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("leader"));
    assert!(elected.try_recv().is_err(), "another candidate led");
}

/// A client whose requests and answers are lost while it is cut off.
fn through(client: Client, is_cut: &Arc<AtomicBool>) -> Client {
    let is_cut = Arc::clone(is_cut);
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, is_cut) = (client.clone(), Arc::clone(&is_cut));
        async move {
            if is_cut.load(Ordering::SeqCst) {
                return std::future::pending().await;
            }
            client.send(request).await
        }
    });
    Client::new(service, namespace)
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_cut_off_stops_before_another_begins_and_stands_by_afterwards() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let is_cut = Arc::new(AtomicBool::new(false));
    let _cut_off = Candidate::start(&ledger, through(cluster.client(), &is_cut), "first");
    elected.recv().await.unwrap();
    let second = Candidate::start(&ledger, cluster.client(), "second");
    sleep(Duration::from_secs(7)).await;
    is_cut.store(true, Ordering::SeqCst);
    let cut = Instant::now();
    while ledger.leading.load(Ordering::SeqCst) > 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert!(
        cut.elapsed() <= Duration::from_millis(10_010),
        "{:?}",
        cut.elapsed()
    );
    let (identity, at) = elected.recv().await.unwrap();
    assert_eq!(identity, "second");
    assert!(
        at - cut <= LEASE + Duration::from_millis(100),
        "{:?}",
        at - cut
    );
    is_cut.store(false, Ordering::SeqCst);
    sleep(LEASE * 2).await;
    second.stop().await;
    assert_eq!(elected.recv().await.unwrap().0, "first");
    assert_eq!(ledger.most(), 1);
}

/// A client whose requests and answers take any time up to a minute, or for ever, as chance has it.
fn by_chance(client: Client, random: &Arc<Mutex<fastrand::Rng>>) -> Client {
    let random = Arc::clone(random);
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, random) = (client.clone(), Arc::clone(&random));
        async move {
            let pause = || {
                let mut random = random.lock().unwrap();
                let longest = [1, 10, 100, 6_000, 20_000, 60_000][random.usize(..6)];
                Duration::from_millis(random.u64(..longest))
            };
            let is_lost = random.lock().unwrap().u8(..10) == 0;
            let (before, after) = (pause(), pause());
            // Who gives up waiting does not take a request back.
            let served = tokio::spawn(async move {
                sleep(if is_lost { Duration::MAX } else { before }).await;
                client.send(request).await
            });
            let answer = served.await.unwrap();
            sleep(after).await;
            answer
        }
    });
    Client::new(service, namespace)
}

#[tokio::test(start_paused = true)]
async fn two_never_lead_however_slow_and_lossy_the_api_server_is() {
    for seed in 0..5 {
        let cluster = TestCluster::start().await;
        let (ledger, mut elected) = Ledger::new();
        let random = Arc::new(Mutex::new(fastrand::Rng::with_seed(seed)));
        let start = |number: usize| {
            let client = by_chance(cluster.client(), &random);
            Candidate::start(&ledger, client, &number.to_string())
        };
        let mut candidates: Vec<Candidate> = (0..3).map(start).collect();
        for number in 3..40 {
            let by_chance = |below| random.lock().unwrap().usize(..below);
            let (pause, victim, is_killed) = (by_chance(60), by_chance(3), by_chance(2) == 0);
            sleep(Duration::from_secs(pause as u64)).await;
            let victim = candidates.swap_remove(victim);
            if is_killed {
                victim.kill().await;
            } else {
                drop(timeout(Duration::from_secs(30), victim.stop()).await);
            }
            candidates.push(start(number));
        }
        drop(candidates);
        let terms = std::iter::from_fn(|| elected.try_recv().ok()).count();
        assert_eq!(ledger.most(), 1, "seed {seed}");
        assert!(terms > 5, "seed {seed}: {terms} terms");
    }
}

#[tokio::test(start_paused = true)]
async fn a_standby_asks_for_nothing_while_it_waits() {
    let cluster = TestCluster::start().await;
    let (ledger, mut elected) = Ledger::new();
    let _leader = Candidate::start(&ledger, cluster.client(), "leader");
    elected.recv().await.unwrap();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let counting = {
        let (client, asked) = (cluster.client(), Arc::clone(&asked));
        let namespace = client.default_namespace().to_owned();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let client = client.clone();
            asked.lock().unwrap().push(request.uri().to_string());
            async move { client.send(request).await }
        });
        Client::new(service, namespace)
    };
    let _standby = Candidate::start(&ledger, counting, "standby");
    sleep(Duration::from_mins(2)).await;
    let asked = asked.lock().unwrap();
    let (watches, others): (Vec<&String>, Vec<&String>) =
        asked.iter().partition(|uri| uri.contains("watch=true"));
    assert_eq!((watches.len(), others.len()), (1, 1), "{asked:?}");
    assert!(watches[0].contains("metadata.name%3Dgardens"), "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_refuses_is_asked_again_every_few_seconds() {
    let asked = Arc::new(AtomicUsize::new(0));
    let client = {
        let asked = Arc::clone(&asked);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            if !request.uri().to_string().contains("watch=true") {
                asked.fetch_add(1, Ordering::SeqCst);
            }
            let refusal: Value = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
                "message": "no", "reason": "Forbidden", "code": 403});
            let answer = http::Response::builder()
                .status(403)
                .body(refusal.to_string());
            async { Ok::<_, Infallible>(answer.unwrap()) }
        });
        Client::new(service, "blue")
    };
    let (ledger, mut elected) = Ledger::new();
    let _candidate = Candidate::start(&ledger, client, "me");
    sleep(Duration::from_mins(1)).await;
    let asked = asked.load(Ordering::SeqCst);
    assert!((13..=31).contains(&asked), "{asked} times in a minute");
    assert!(elected.try_recv().is_err());
}

/// A program whose controller says which replica it is that reconciles.
fn replica(name: &'static str, reconciles: &mpsc::UnboundedSender<&'static str>) -> Program {
    let reconciles = reconciles.clone();
    Program::new(move |_: &mut Needs| {
        let report = move |_: Arc<ConfigMap>, _: Context| {
            let _ = reconciles.send(name);
            async { Ok(Action::await_change()) }
        };
        App::new("gardens")
            .leader_election("gardens")
            .controller(Controller::new("maps", report))
    })
}

#[tokio::test(start_paused = true)]
async fn one_replica_of_a_program_reconciles_and_every_one_is_ready() {
    let cluster = TestCluster::start().await;
    let (sender, mut reconciles) = mpsc::unbounded_channel();
    let start = async |name| {
        let program = replica(name, &sender).client(cluster.client());
        let started = program.start().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let readiness = started.readiness();
        let running = tokio::spawn(started.run(async { drop(stopped.await) }));
        (readiness, stop, running)
    };
    let (_, stop, first) = start("first").await;
    assert_eq!(reconciles.recv().await, Some("first"));
    let (readiness, _stop, second) = start("second").await;
    while !readiness.is_ready() {
        sleep(Duration::from_millis(1)).await;
    }
    let map: ConfigMap = yaml("{metadata: {name: change}}");
    cluster.create(&map).await.expect_allowed();
    sleep(LEASE * 2).await;
    while let Ok(name) = reconciles.try_recv() {
        assert_eq!(name, "first");
    }
    drop(stop);
    first.await.unwrap().unwrap();
    assert_eq!(reconciles.recv().await, Some("second"));
    second.abort();
}

#[test]
fn an_election_takes_the_lease_of_its_name_and_to_create_it_and_events() {
    let (sender, _) = mpsc::unbounded_channel();
    let roles = replica("one", &sender).permissions();
    let [everywhere, own] = roles.objects() else {
        panic!("{}", roles.to_yaml());
    };
    assert_eq!(everywhere["rules"][0]["resources"], json!(["configmaps"]));
    assert_eq!(own["metadata"], json!({"name": "gardens"}));
    assert_eq!(
        own["rules"],
        json!([
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["create"]},
            {
                "apiGroups": ["coordination.k8s.io"],
                "resources": ["leases"],
                "resourceNames": ["gardens"],
                "verbs": ["get", "list", "update", "watch"],
            },
            {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create"]},
        ])
    );
}

#[tokio::test]
async fn a_program_whose_times_make_two_leaders_does_not_start() {
    let election = LeaderElection::by_lease("gardens").renew_deadline(LEASE);
    let program = Program::new(|_| App::new("gardens").leader_election(election));
    let refused = program.start().await.unwrap_err();
    assert!(matches!(refused, StartError::Election(_)), "{refused:?}");
}

/// A client that notes the requests of a program, but for those about Leases and Events.
fn noting(client: Client, asked: &Arc<Mutex<Vec<String>>>) -> Client {
    let asked = Arc::clone(asked);
    let namespace = client.default_namespace().to_owned();
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let client = client.clone();
        let uri = request.uri().to_string();
        if !uri.contains("/leases") && !uri.contains("/events") {
            asked.lock().unwrap().push(uri);
        }
        async move { client.send(request).await }
    });
    Client::new(service, namespace)
}

/// How many objects there are, unless `KUBEWRIGHT_OBJECTS` says more. With `--nocapture` the test tells how long it took.
const OBJECTS: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_standby_that_wins_reconciles_what_it_has_in_its_caches_and_asks_for_nothing() {
    let said = std::env::var("KUBEWRIGHT_OBJECTS").ok();
    let objects = said.map_or(OBJECTS, |said| said.parse().expect("a number"));
    let cluster = TestCluster::start().await;
    for number in 0..objects {
        let map: ConfigMap = yaml(&format!("metadata: {{name: map-{number}}}"));
        cluster.create(&map).await.expect_allowed();
    }
    let (sender, mut reconciles) = mpsc::unbounded_channel();
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let start = async |name, client| {
        let started = replica(name, &sender).client(client).start().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let readiness = started.readiness();
        let running = tokio::spawn(started.run(async { drop(stopped.await) }));
        (readiness, stop, running)
    };
    let (_, stop, first) = start("first", cluster.client()).await;
    assert_eq!(reconciles.recv().await, Some("first"));
    let (readiness, _stop, _second) = start("second", noting(cluster.client(), &asked)).await;
    while !readiness.is_ready() {
        sleep(Duration::from_millis(1)).await;
    }
    asked.lock().unwrap().clear();
    drop(stop);
    first.await.unwrap().unwrap();
    let released = Instant::now();
    while reconciles.recv().await != Some("second") {}
    let begun = released.elapsed();
    for _ in 1..objects {
        assert_eq!(reconciles.recv().await, Some("second"));
    }
    println!(
        "{objects} objects: the first reconcile came {begun:?} after the release, the last {:?}",
        released.elapsed()
    );
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
}
