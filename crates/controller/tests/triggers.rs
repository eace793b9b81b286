//! Triggers on an embedded API server: what they reach, and that none is lost.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kubewright_controller::{
    Action, Context, Controller, Error, LeaderElection, Predicate, Reconcile, Scope, Trigger,
};
use kubewright_manager::{App, Program};
use kubewright_testing::{TestCluster, yaml};
use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::sleep;

const LEASE: Duration = Duration::from_secs(15);

fn map(name: &str) -> ConfigMap {
    yaml(&format!("metadata: {{name: {name}}}"))
}

type Reconciles = mpsc::UnboundedReceiver<String>;

/// A reconciler that tells what it was called for.
fn telling() -> (impl Reconcile<ConfigMap> + Clone, Reconciles) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let tell = move |map: Arc<ConfigMap>, _: Context| {
        drop(sender.send(map.name_any()));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    (tell, receiver)
}

fn controller(
    cluster: &TestCluster,
    reconcile: impl Reconcile<ConfigMap>,
) -> Controller<ConfigMap> {
    let here = Scope::all().in_namespace(cluster.namespace());
    Controller::new("maps", reconcile).within(here)
}

/// What is reconciled until nothing is any more.
async fn rest(reconciles: &mut Reconciles) -> BTreeMap<String, usize> {
    sleep(Duration::from_secs(1)).await;
    let mut counts = BTreeMap::new();
    while let Ok(name) = reconciles.try_recv() {
        *counts.entry(name).or_default() += 1;
    }
    counts
}

fn counts<const N: usize>(counts: [(&str, usize); N]) -> BTreeMap<String, usize> {
    BTreeMap::from(counts.map(|(name, count)| (name.to_owned(), count)))
}

#[tokio::test(start_paused = true)]
async fn a_trigger_reaches_each_of_its_controllers_and_only_objects_that_they_know() {
    let cluster = TestCluster::start().await;
    for name in ["a", "b"] {
        cluster.create(&map(name)).await.expect_allowed();
    }
    let trigger = Trigger::new();
    let (one, mut ones) = telling();
    let (other, mut others) = telling();
    let narrow = Scope::all().in_namespace(cluster.namespace()).named("b");
    let controllers = [
        controller(&cluster, one).triggered_by(&trigger),
        Controller::new("b", other)
            .within(narrow)
            .triggered_by(&trigger),
    ];
    for controller in controllers {
        tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    }
    assert_eq!(rest(&mut ones).await, counts([("a", 1), ("b", 1)]));
    assert_eq!(rest(&mut others).await, counts([("b", 1)]));

    let fire = |name: &str| trigger.reconcile((cluster.namespace(), name));
    fire("a");
    assert_eq!(rest(&mut ones).await, counts([("a", 1)]));
    fire("b");
    assert_eq!(rest(&mut ones).await, counts([("b", 1)]));
    // It is out of the scope of the other one, as is what was never made, or is deleted.
    assert_eq!(rest(&mut others).await, counts([("b", 1)]));
    cluster.delete::<ConfigMap>("a").await.expect_allowed();
    rest(&mut ones).await;
    fire("a");
    fire("never-made");
    trigger.reconcile(("elsewhere", "b"));
    assert_eq!(rest(&mut ones).await, counts([]));
    trigger.reconcile_all();
    assert_eq!(rest(&mut ones).await, counts([("b", 1)]));
}

#[tokio::test(start_paused = true)]
async fn many_triggers_of_an_object_that_waits_are_one_reconcile_and_those_during_it_one_more() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let (sender, mut reconciles) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let reconcile = {
        let gate = Arc::clone(&gate);
        move |map: Arc<ConfigMap>, _: Context| {
            let (gate, sender) = (Arc::clone(&gate), sender.clone());
            async move {
                drop(sender.send(map.name_any()));
                gate.acquire().await.unwrap().forget();
                Ok(Action::await_change())
            }
        }
    };
    let trigger = Trigger::new();
    let controller = controller(&cluster, reconcile)
        .within(Scope::all().in_namespace(cluster.namespace()).named("a"))
        .triggered_by(&trigger);
    tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    assert_eq!(reconciles.recv().await.unwrap(), "a");
    for _ in 0..10_000 {
        trigger.reconcile((cluster.namespace(), "a"));
    }
    gate.add_permits(100);
    assert_eq!(rest(&mut reconciles).await, counts([("a", 1)]));
}

#[tokio::test(start_paused = true)]
async fn a_trigger_heeds_a_predicate_as_the_first_list_does() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let trigger = Trigger::new();
    let (tell, mut reconciles) = telling();
    let controller = controller(&cluster, tell)
        .within(Scope::all().in_namespace(cluster.namespace()).named("a"))
        .filter(Predicate::labels_changed())
        .triggered_by(&trigger);
    tokio::spawn(controller.run(cluster.client(), std::future::pending()));
    assert_eq!(reconciles.recv().await.unwrap(), "a");
    let change = json!({"data": {"mode": "loud"}});
    cluster
        .merge::<ConfigMap>("a", &change)
        .await
        .expect_allowed();
    assert_eq!(
        rest(&mut reconciles).await,
        counts([]),
        "no label has changed"
    );
    trigger.reconcile((cluster.namespace(), "a"));
    assert_eq!(rest(&mut reconciles).await, counts([("a", 1)]));
}

/// Triggers at all times, of objects that are there: before the controller runs, while it starts, while another replica leads,
/// and when leadership is handed over. After each there is a reconcile that began later than the trigger.
#[tokio::test(start_paused = true)]
async fn no_trigger_is_lost_whichever_replica_leads() {
    let cluster = TestCluster::start().await;
    for name in ["a", "b", "c"] {
        cluster.create(&map(name)).await.expect_allowed();
    }
    let trigger = Trigger::new();
    // What each object owes, and what it was when it was last reconciled.
    let wanted: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let done: Arc<Mutex<BTreeMap<String, u64>>> = Arc::default();
    let fire = |name: &str| {
        *wanted.lock().unwrap().entry(name.to_owned()).or_default() += 1;
        trigger.reconcile((cluster.namespace(), name));
    };
    let start = |identity: &str| {
        let (wanted, done) = (Arc::clone(&wanted), Arc::clone(&done));
        let reconcile = move |map: Arc<ConfigMap>, _: Context| {
            let (wanted, done) = (Arc::clone(&wanted), Arc::clone(&done));
            let seen = wanted.lock().unwrap().get(&map.name_any()).copied();
            async move {
                // A replica that loses leadership meanwhile has done nothing.
                sleep(Duration::from_millis(fastrand::u64(..300))).await;
                if let Some(seen) = seen {
                    done.lock().unwrap().insert(map.name_any(), seen);
                }
                Ok::<_, Error>(Action::await_change())
            }
        };
        let controller = controller(&cluster, reconcile).triggered_by(&trigger);
        let election = LeaderElection::by_lease("maps").identity(identity);
        let app = App::new("maps")
            .leader_election(election)
            .controller(controller);
        let program = Program::new(|_| app).client(cluster.client());
        let (stop, stopped) = oneshot::channel::<()>();
        let running = tokio::spawn(async move {
            let started = program.start().await.unwrap();
            started.run(async { drop(stopped.await) }).await.unwrap();
        });
        (stop, running)
    };
    fire("a");
    let mut replicas = vec![start("0"), start("1")];
    for number in 2..30 {
        for _ in 0..fastrand::usize(1..20) {
            fire(["a", "b", "c"][fastrand::usize(..3)]);
            sleep(Duration::from_millis(fastrand::u64(..200))).await;
        }
        // The Lease is stolen, a replica is killed, or it stops.
        match fastrand::u8(..3) {
            0 => {
                let patch = json!({"spec": {"holderIdentity": "thief"}});
                let lease =
                    cluster.merge::<k8s_openapi::api::coordination::v1::Lease>("maps", &patch);
                lease.await.expect_allowed();
            }
            1 => replicas.swap_remove(0).1.abort(),
            _ => drop(replicas.swap_remove(0).0),
        }
        if replicas.len() < 2 {
            replicas.push(start(&number.to_string()));
        }
    }
    // The thief lets the Lease expire.
    sleep(LEASE * 3).await;
    let (wanted, done) = (wanted.lock().unwrap().clone(), done.lock().unwrap().clone());
    assert_eq!(wanted.len(), 3);
    assert_eq!(done, wanted);
}

#[tokio::test]
async fn a_webhook_triggers_the_controller_of_its_program() {
    let trigger: Trigger<ConfigMap> = Trigger::new();
    let (tell, mut reconciles) = telling();
    let refresh = {
        let trigger = trigger.clone();
        move |change: Change<k8s_openapi::api::core::v1::Secret>, _: Review| {
            if let Some(namespace) = &change.object().metadata.namespace {
                trigger.reconcile((&**namespace, "settings"));
            }
            async { Validated::Ok(()) }
        }
    };
    let cluster = TestCluster::builder()
        .app(|_| {
            let named = Scope::all().named("settings");
            let controller = Controller::new("maps", tell)
                .within(named)
                .triggered_by(&trigger);
            let webhooks = Webhooks::new("example.com").with(validating("refresh", refresh));
            App::new("settings")
                .controller(controller)
                .webhooks(webhooks)
        })
        .start()
        .await;
    cluster.create(&map("settings")).await.expect_allowed();
    assert_eq!(reconciles.recv().await.unwrap(), "settings");
    let secret: k8s_openapi::api::core::v1::Secret = yaml("metadata: {name: password}");
    cluster.create(&secret).await.expect_allowed();
    assert_eq!(reconciles.recv().await.unwrap(), "settings");
}
