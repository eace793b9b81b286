//! Controllers on an embedded API server.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Backoff, Context, Controller, Error, ObjectRef, Predicate, Scope, owned, related,
};
use kubewright_testing::{TestCluster, eventually, yaml};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// When each object was reconciled, and after how many failures.
type Calls = BTreeMap<String, Vec<(Instant, u32)>>;

/// A controller at work. It ends, at once, with this.
struct Running {
    task: JoinHandle<()>,
    stop: Option<oneshot::Sender<()>>,
}

impl Running {
    fn start(cluster: &TestCluster, controller: Controller<ConfigMap>) -> Self {
        let (stop, stopped) = oneshot::channel();
        let client = cluster.client();
        let controller = controller.within(Scope::all().in_namespace(cluster.namespace()));
        let run = controller.run(client, async { drop(stopped.await) });
        Self {
            task: tokio::spawn(run),
            stop: Some(stop),
        }
    }

    async fn stop(mut self) {
        self.stop.take();
        (&mut self.task).await.unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn map(name: &str) -> ConfigMap {
    yaml(&format!(
        "{{metadata: {{name: {name}, labels: {{mine: 'yes'}}}}, data: {{value: '0'}}}}"
    ))
}

/// A reconciler that says what it was called for, and what to do then.
fn reporting() -> (impl AsyncReporter, mpsc::UnboundedReceiver<String>) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let report = move |map: Arc<ConfigMap>, _: Context| {
        let name = map.name_any();
        if map.labels().contains_key("mine") {
            drop(sender.send(name));
        }
        async { Ok::<_, Error>(Action::await_change()) }
    };
    (report, receiver)
}

trait AsyncReporter: kubewright_controller::Reconcile<ConfigMap> {}
impl<R: kubewright_controller::Reconcile<ConfigMap>> AsyncReporter for R {}

#[tokio::test]
async fn every_object_is_reconciled_at_the_start_and_when_it_changes() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("first")).await.expect_allowed();
    let (report, mut reports) = reporting();
    let _running = Running::start(&cluster, Controller::new("maps", report));
    assert_eq!(reports.recv().await.unwrap(), "first");
    cluster.create(&map("second")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "second");
    let change = json!({"data": {"value": "1"}});
    cluster
        .merge::<ConfigMap>("first", &change)
        .await
        .expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "first");
}

#[tokio::test]
async fn an_owner_is_reconciled_when_what_it_owns_changes_or_goes() {
    let cluster = TestCluster::start().await;
    let owner = cluster.create(&map("owner")).await.expect_allowed();
    let (report, mut reports) = reporting();
    let _running = Running::start(
        &cluster,
        Controller::new("maps", report).watch(owned::<Secret>()),
    );
    assert_eq!(reports.recv().await.unwrap(), "owner");
    let mut child: Secret = yaml("{metadata: {name: child}}");
    let mut reference = kube::Resource::controller_owner_ref(&owner, &()).unwrap();
    child.metadata.owner_references = Some(vec![reference.clone()]);
    cluster.create(&child).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "owner");

    // An owner that is not the controller has no say, and is none of this controller's business.
    reference.controller = None;
    let mut other: Secret = yaml("{metadata: {name: other}}");
    other.metadata.owner_references = Some(vec![reference]);
    cluster.create(&other).await.expect_allowed();
    cluster.delete::<Secret>("child").await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "owner");
    cluster.create(&map("last")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "last");
}

#[tokio::test]
async fn a_function_says_which_objects_something_else_has_to_do_with() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let (report, mut reports) = reporting();
    let mapped = related(|secret: &Secret| {
        assert!(!secret.name_any().contains("panic"), "it panics");
        secret
            .labels()
            .get("for")
            .map(|name| ObjectRef::from((secret.namespace().unwrap().as_str(), name.as_str())))
    });
    let _running = Running::start(&cluster, Controller::new("maps", report).watch(mapped));
    assert_eq!(reports.recv().await.unwrap(), "a");
    let panics: Secret = yaml("{metadata: {name: panic}}");
    cluster.create(&panics).await.expect_allowed();
    let unknown: Secret = yaml("{metadata: {name: unknown, labels: {for: no-map}}}");
    cluster.create(&unknown).await.expect_allowed();
    let secret: Secret = yaml("{metadata: {name: tls, labels: {for: a}}}");
    cluster.create(&secret).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "a");
}

#[tokio::test]
async fn only_the_changes_that_matter_are_heeded() {
    let cluster = TestCluster::start().await;
    let (report, mut reports) = reporting();
    let _running = Running::start(
        &cluster,
        Controller::new("maps", report).filter(Predicate::content_changed()),
    );
    cluster.create(&map("a")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "a");
    let label = json!({"metadata": {"labels": {"a": "b"}}});
    cluster
        .merge::<ConfigMap>("a", &label)
        .await
        .expect_allowed();
    cluster.create(&map("b")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "b");
    let change = json!({"data": {"value": "1"}});
    cluster
        .merge::<ConfigMap>("a", &change)
        .await
        .expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "a");
}

#[tokio::test]
async fn an_object_is_never_reconciled_twice_at_once_and_others_do_not_wait_for_it() {
    let cluster = TestCluster::start().await;
    let gate = Arc::new(Semaphore::new(0));
    let (entered, mut enters) = mpsc::unbounded_channel();
    let reconcile = {
        let gate = Arc::clone(&gate);
        move |map: Arc<ConfigMap>, _: Context| {
            let (gate, entered) = (Arc::clone(&gate), entered.clone());
            async move {
                let value = map
                    .data
                    .as_ref()
                    .map(|data| data["value"].clone())
                    .unwrap_or_default();
                entered.send((map.name_any(), value))?;
                gate.acquire().await?.forget();
                Ok(Action::await_change())
            }
        }
    };
    let controller = Controller::new("maps", reconcile)
        .within(Scope::all().labelled("mine"))
        .concurrency(4);
    let client = cluster.client();
    let task = tokio::spawn(controller.run(client, std::future::pending()));
    let report = |name: &str, value: &str| (name.to_owned(), value.to_owned());

    cluster.create(&map("a")).await.expect_allowed();
    assert_eq!(enters.recv().await.unwrap(), report("a", "0"));
    for value in 1..=9 {
        let change = json!({"data": {"value": value.to_string()}});
        cluster
            .merge::<ConfigMap>("a", &change)
            .await
            .expect_allowed();
    }
    cluster.create(&map("b")).await.expect_allowed();
    assert_eq!(enters.recv().await.unwrap(), report("b", "0"));
    assert!(enters.try_recv().is_err());
    gate.add_permits(2);
    // What nine changes ask for is done once, with the object as it is by then.
    assert_eq!(enters.recv().await.unwrap(), report("a", "9"));
    gate.add_permits(1);
    task.abort();
}

#[tokio::test(start_paused = true)]
async fn an_object_comes_back_when_it_was_asked_for() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let (report, mut reports) = mpsc::unbounded_channel();
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        if map.name_any() == "a" {
            report.send(Instant::now()).unwrap();
        }
        async { Ok(Action::requeue_after(Duration::from_mins(5))) }
    };
    let _running = Running::start(&cluster, Controller::new("maps", reconcile));
    let first = reports.recv().await.unwrap();
    let second = reports.recv().await.unwrap();
    assert_eq!((second - first).as_secs(), 300);
}

#[tokio::test(start_paused = true)]
async fn errors_and_panics_are_retried_with_growing_pauses_and_terminal_ones_are_not() {
    let cluster = TestCluster::start().await;
    for name in ["fails", "panics", "terminal"] {
        cluster.create(&map(name)).await.expect_allowed();
    }
    let calls: Arc<Mutex<Calls>> = Arc::default();
    let reconcile = {
        let calls = Arc::clone(&calls);
        move |map: Arc<ConfigMap>, context: Context| {
            let name = map.name_any();
            let known = (Instant::now(), context.failures());
            calls
                .lock()
                .unwrap()
                .entry(name.clone())
                .or_default()
                .push(known);
            async move {
                match name.as_str() {
                    "fails" => Err(Error::retry("a database is away")),
                    "panics" => panic!("as it must"),
                    "terminal" => Err(Error::terminal("this name is not allowed")),
                    _ => Ok(Action::await_change()),
                }
            }
        }
    };
    let _running = Running::start(&cluster, Controller::new("maps", reconcile));
    tokio::time::sleep(Duration::from_hours(1)).await;
    let calls = calls.lock().unwrap();
    assert_eq!(calls["terminal"].len(), 1);
    for name in ["fails", "panics"] {
        let calls = &calls[name];
        let failures: Vec<u32> = calls.iter().map(|(_, failures)| *failures).collect();
        let count = u32::try_from(calls.len()).unwrap();
        assert_eq!(failures, (0..count).collect::<Vec<_>>());
        // 5 ms doubled up to 1000 s, halved at the most: 18 calls come before the pauses are longest.
        assert!(
            (18..30).contains(&count),
            "{name}: {count} calls in an hour"
        );
        for (number, pair) in calls.windows(2).enumerate() {
            let longest = Duration::from_millis(5 << number.min(20)).min(Duration::from_secs(1000));
            let pause = pair[1].0 - pair[0].0;
            let tick = Duration::from_millis(1);
            assert!(
                pause + tick >= longest / 2 && pause <= longest + tick,
                "{number}: {pause:?}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn success_ends_a_row_of_failures() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let reconcile = {
        let calls = Arc::clone(&calls);
        move |map: Arc<ConfigMap>, context: Context| {
            let mut calls = calls.lock().unwrap();
            let is_mine = map.name_any() == "a";
            if is_mine {
                calls.push(context.failures());
            }
            let outcome = match calls.len() {
                3 if is_mine => Ok(Action::requeue_after(Duration::from_secs(1))),
                _ if is_mine => Err(Error::retry("not yet")),
                _ => Ok(Action::await_change()),
            };
            std::future::ready(outcome)
        }
    };
    let backoff = Backoff::new(Duration::from_secs(1), Duration::from_secs(1));
    let _running = Running::start(&cluster, Controller::new("maps", reconcile).retry(backoff));
    eventually("five calls", async || {
        (calls.lock().unwrap().len() >= 5).then_some(())
    })
    .await;
    assert_eq!(calls.lock().unwrap()[..5], [0, 1, 2, 0, 1]);
}

#[tokio::test]
async fn a_controller_that_is_told_to_stop_finishes_what_it_has_begun_and_begins_nothing() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let gate = Arc::new(Semaphore::new(0));
    let (entered, mut enters) = mpsc::unbounded_channel();
    let finished = Arc::new(AtomicUsize::new(0));
    let reconcile = {
        let (gate, finished) = (Arc::clone(&gate), Arc::clone(&finished));
        move |_: Arc<ConfigMap>, _: Context| {
            let (gate, finished) = (Arc::clone(&gate), Arc::clone(&finished));
            entered.send(()).unwrap();
            async move {
                gate.acquire().await?.forget();
                finished.fetch_add(1, Ordering::Relaxed);
                Ok(Action::await_change())
            }
        }
    };
    let running = Running::start(&cluster, Controller::new("maps", reconcile));
    enters.recv().await.unwrap();
    cluster.create(&map("b")).await.expect_allowed();
    let stopping = tokio::spawn(running.stop());
    tokio::task::yield_now().await;
    assert!(!stopping.is_finished());
    gate.add_permits(10);
    stopping.await.unwrap();
    assert_eq!(finished.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_object_that_is_gone_is_not_reconciled() {
    let cluster = TestCluster::start().await;
    let (report, mut reports) = reporting();
    let _running = Running::start(&cluster, Controller::new("maps", report));
    cluster.create(&map("a")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "a");
    cluster.delete::<ConfigMap>("a").await.expect_allowed();
    cluster.create(&map("b")).await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "b");
}

#[tokio::test]
async fn an_object_owns_what_refers_to_it_as_its_controller() {
    let cluster = TestCluster::start().await;
    let created = cluster.create(&map("a")).await.expect_allowed();
    let (report, mut reports) = mpsc::unbounded_channel();
    let reconcile = move |map: Arc<ConfigMap>, context: Context| {
        if map.name_any() == "a" {
            drop(report.send(context.owner_reference()));
        }
        async { Ok(Action::await_change()) }
    };
    let _running = Running::start(&cluster, Controller::new("maps", reconcile));
    let reference = reports.recv().await.unwrap();
    assert_eq!(
        serde_json::to_value(reference).unwrap(),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": created.uid().unwrap(),
            "controller": true, "blockOwnerDeletion": true})
    );
}

#[tokio::test(start_paused = true)]
async fn an_object_that_fails_is_not_called_again_at_once_by_what_its_own_reconcile_writes() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let calls = Arc::new(AtomicUsize::new(0));
    let maps: kube::Api<ConfigMap> = kube::Api::default_namespaced(cluster.client());
    let reconcile = {
        let calls = Arc::clone(&calls);
        move |map: Arc<ConfigMap>, _: Context| {
            let (calls, maps) = (Arc::clone(&calls), maps.clone());
            async move {
                if map.name_any() != "a" {
                    return Ok(Action::await_change());
                }
                let count = calls.fetch_add(1, Ordering::Relaxed);
                let change = json!({"data": {"value": count.to_string()}});
                let change = kube::api::Patch::Merge(change);
                maps.patch("a", &kube::api::PatchParams::default(), &change)
                    .await?;
                Err(Error::retry("it never works"))
            }
        }
    };
    let _running = Running::start(&cluster, Controller::new("maps", reconcile));
    tokio::time::sleep(Duration::from_mins(1)).await;
    let calls = calls.load(Ordering::Relaxed);
    // Eight pauses come to less than a second each, and the others are cut to one.
    assert!((55..80).contains(&calls), "{calls} calls in a minute");
}

#[tokio::test]
async fn a_slow_map_function_delays_only_its_own_controller() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("a")).await.expect_allowed();
    let (report, mut reports) = reporting();
    let (gate, open) = std::sync::mpsc::channel::<()>();
    let open = Mutex::new(open);
    let slow = related(move |secret: &Secret| {
        if secret.name_any() == "slow" {
            let _ = open.lock().unwrap().recv();
        }
        secret
            .labels()
            .get("for")
            .map(|name| ObjectRef::from((secret.namespace().unwrap().as_str(), name.as_str())))
    });
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    let informers = kubewright_controller::Informers::new();
    let scope = Scope::all().in_namespace(cluster.namespace());
    let cached = kubewright_controller::Cached::<Secret>::new(&informers, scope.clone());
    let controller = Controller::new("maps", report)
        .within(scope.clone())
        .watch(slow.within(scope));
    let running = kubewright_controller::AnyController::from(controller).attach(&informers);
    let client = cluster.client();
    runtime.spawn(async move { informers.run(client).await });
    runtime.spawn(async move { running.run(std::future::pending()).await });
    assert_eq!(reports.recv().await.unwrap(), "a");
    for name in ["slow", "next"] {
        let secret: Secret = yaml(&format!(
            "{{metadata: {{name: {name}, labels: {{for: a}}}}}}"
        ));
        cluster.create(&secret).await.expect_allowed();
        // The cache that the function's kind is read from goes on.
        let namespace = cluster.namespace().to_owned();
        eventually(name, async || {
            cached.get((namespace.as_str(), name)).await.unwrap()
        })
        .await;
    }
    assert!(reports.try_recv().is_err());
    drop(gate);
    assert_eq!(reports.recv().await.unwrap(), "a");
    runtime.shutdown_background();
}
