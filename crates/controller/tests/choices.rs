//! What the author of a controller chooses: which changes cause a reconcile, in what order and how often.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::ResourceExt;
use kubewright_controller::{
    Action, AnyController, Context, Controller, Error, Informers, Meter, ObjectRef, Outcome,
    Predicate, RateLimit, Scope, owned, related,
};
use kubewright_testing::{TestCluster, eventually, yaml};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::Instant;

/// Controllers at work on the informers of one program. They end with this.
struct Program {
    cluster: TestCluster,
    informers: Arc<Informers>,
    tasks: JoinSet<()>,
}

impl Program {
    async fn start() -> Self {
        Self {
            cluster: TestCluster::start().await,
            informers: Arc::new(Informers::new()),
            tasks: JoinSet::new(),
        }
    }

    /// Attaches a controller, and returns its meter and how its reconciles end.
    fn attach<K>(&mut self, controller: Controller<K>) -> (Meter, mpsc::UnboundedReceiver<Outcome>)
    where
        K: kubewright_controller::Object,
    {
        let mut running = AnyController::from(controller).attach(&self.informers);
        let (sender, outcomes) = mpsc::unbounded_channel();
        running.observe(move |reconciled| sender.send(reconciled.outcome).unwrap_or_default());
        let meter = running.meter();
        self.tasks
            .spawn(async move { running.run(std::future::pending()).await });
        (meter, outcomes)
    }

    /// Starts the informers of all controllers that are attached.
    fn run(&mut self) {
        let (informers, client) = (Arc::clone(&self.informers), self.cluster.client());
        self.tasks.spawn(async move { informers.run(client).await });
    }

    async fn create(&self, name: &str, labels: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "data": {"value": "0"},
            "metadata": {"name": name, "labels": labels},
        });
        let map: ConfigMap = serde_json::from_value(map).unwrap();
        self.cluster.create(&map).await.expect_allowed();
    }

    async fn set(&self, name: &str, value: &str) {
        let change = json!({"data": {"value": value}});
        self.cluster
            .merge::<ConfigMap>(name, &change)
            .await
            .expect_allowed();
    }
}

fn mine() -> Scope {
    Scope::all().labelled("mine")
}

/// A reconciler that says which object it was called for, with its value.
fn reporting() -> (
    impl kubewright_controller::Reconcile<ConfigMap>,
    mpsc::UnboundedReceiver<String>,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let report = move |map: Arc<ConfigMap>, _: Context| {
        drop(sender.send(format!("{} {}", map.name_any(), value(&map))));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    (report, receiver)
}

fn value(map: &ConfigMap) -> &str {
    &map.data.as_ref().unwrap()["value"]
}

#[tokio::test]
async fn closures_over_the_old_and_the_new_object_decide() {
    let mut program = Program::start().await;
    let (report, mut reports) = reporting();
    let grows = Predicate::updated(|old: &ConfigMap, new| value(old) < value(new));
    let is_paused = Predicate::object(|map: &ConfigMap| map.labels().contains_key("paused"));
    let predicate = Predicate::content_changed().and(grows).and(is_paused.not());
    program.attach(
        Controller::new("maps", report)
            .within(mine())
            .filter(predicate),
    );
    program.run();
    program
        .create("paused", json!({"mine": "", "paused": ""}))
        .await;
    program.create("a", json!({"mine": ""})).await;
    assert_eq!(reports.recv().await.unwrap(), "a 0");
    program.set("paused", "1").await;
    program.set("a", "5").await;
    assert_eq!(reports.recv().await.unwrap(), "a 5");
    program.set("a", "4").await;
    program.create("b", json!({"mine": ""})).await;
    assert_eq!(reports.recv().await.unwrap(), "b 0");

    // Whatever the predicate says, the start of a deletion is heeded.
    let finalizers = json!({"metadata": {"finalizers": ["example.com/clean-up"]}});
    let cluster = &program.cluster;
    cluster
        .merge::<ConfigMap>("paused", &finalizers)
        .await
        .expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "paused 1");
    cluster.delete::<ConfigMap>("paused").await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "paused 1");
}

#[tokio::test]
async fn closures_over_watched_objects_decide_which_of_their_changes_matter() {
    let mut program = Program::start().await;
    let (report, mut reports) = reporting();
    let kind = |secret: &Secret| secret.labels().get("kind").cloned();
    let of_kind = move |wanted: &'static str| {
        Predicate::object(move |secret: &Secret| kind(secret).as_deref() == Some(wanted))
    };
    let named = related(|secret: &Secret| {
        let name = secret.labels().get("for")?;
        Some(ObjectRef::from((
            secret.namespace()?.as_str(),
            name.as_str(),
        )))
    });
    program.attach(
        Controller::new("maps", report)
            .within(mine())
            .watch(owned::<Secret>().filter(of_kind("owned").and(Predicate::deleted(|_| false))))
            .watch(named.filter(of_kind("related"))),
    );
    program.run();
    program.create("owner", json!({"mine": ""})).await;
    program.create("other", json!({"mine": ""})).await;
    let mut started = [reports.recv().await, reports.recv().await].map(Option::unwrap);
    started.sort();
    assert_eq!(started, ["other 0", "owner 0"]);

    let cluster = &program.cluster;
    let owner: ConfigMap = cluster.get("owner").await.unwrap();
    let secret = async |name: &str, kind: &str| {
        let mut secret: Secret = yaml(&format!(
            "metadata: {{name: {name}, labels: {{kind: {kind}, for: other}}}}"
        ));
        let reference = kube::Resource::controller_owner_ref(&owner, &()).unwrap();
        secret.metadata.owner_references = Some(vec![reference]);
        cluster.create(&secret).await.expect_allowed();
    };
    secret("neither", "neither").await;
    secret("owned", "owned").await;
    assert_eq!(reports.recv().await.unwrap(), "owner 0");
    cluster.delete::<Secret>("owned").await.expect_allowed();
    secret("related", "related").await;
    assert_eq!(reports.recv().await.unwrap(), "other 0");
    cluster.delete::<Secret>("related").await.expect_allowed();
    assert_eq!(reports.recv().await.unwrap(), "other 0");
}

#[tokio::test]
async fn a_closure_that_panics_loses_no_change_and_harms_no_other_controller() {
    let mut program = Program::start().await;
    let (report, mut reports) = reporting();
    let panics = Predicate::object(|map: &ConfigMap| {
        assert!(map.name_any() != "panics", "it panics");
        false
    });
    let bad_priority = |map: &ConfigMap| {
        assert!(map.name_any() != "panics", "it panics");
        0
    };
    program.attach(
        Controller::new("maps", report)
            .within(mine())
            .filter(panics)
            .priority(bad_priority),
    );
    let (report, mut others) = reporting();
    program.attach(Controller::new("others", report).within(mine()));
    program.run();
    program.create("no", json!({"mine": ""})).await;
    assert_eq!(others.recv().await.unwrap(), "no 0");
    program.create("panics", json!({"mine": ""})).await;
    assert_eq!(reports.recv().await.unwrap(), "panics 0");
    assert_eq!(others.recv().await.unwrap(), "panics 0");
    program.set("panics", "1").await;
    assert_eq!(reports.recv().await.unwrap(), "panics 1");
    assert_eq!(others.recv().await.unwrap(), "panics 1");
}

/// A ConfigMap whose values are numbers.
#[derive(Clone, Debug, Serialize, Deserialize, kube::Resource)]
#[resource(inherit = ConfigMap)]
struct Numbers {
    metadata: ObjectMeta,
    #[serde(deserialize_with = "numbers")]
    data: BTreeMap<String, u8>,
}

fn numbers<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, u8>, D::Error> {
    let strings = BTreeMap::<String, String>::deserialize(deserializer)?;
    let number = |(name, value): (String, String)| Ok((name, value.parse()?));
    let numbers: Result<_, std::num::ParseIntError> = strings.into_iter().map(number).collect();
    numbers.map_err(serde::de::Error::custom)
}

#[tokio::test]
async fn the_change_of_an_object_that_cannot_be_decoded_is_heeded() {
    let mut program = Program::start().await;
    let reconcile = |_: Arc<Numbers>, _: Context| async { Ok(Action::await_change()) };
    let small = Predicate::object(|numbers: &Numbers| numbers.data["value"] > 100);
    let (_, mut outcomes) = program.attach(
        Controller::new("numbers", reconcile)
            .within(mine())
            .filter(small)
            .priority(|numbers: &Numbers| numbers.data["value"].into()),
    );
    program.run();
    program.create("a", json!({"mine": ""})).await;
    program.set("a", "not a number").await;
    assert_eq!(outcomes.recv().await.unwrap(), Outcome::Terminal);
    program.set("a", "101").await;
    assert_eq!(outcomes.recv().await.unwrap(), Outcome::Done);
}

/// A reconciler that waits for a permit, and says which object it was called for when it has one. An object with the label
/// `again` comes back once.
fn gated() -> (
    impl kubewright_controller::Reconcile<ConfigMap>,
    Arc<Semaphore>,
    mpsc::UnboundedReceiver<String>,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let gate = Arc::new(Semaphore::new(0));
    let (permits, again) = (Arc::clone(&gate), Arc::new(AtomicBool::new(true)));
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        let (permits, again, sender) = (Arc::clone(&permits), Arc::clone(&again), sender.clone());
        async move {
            permits.acquire().await?.forget();
            let namespace = map.namespace().unwrap_or_default();
            drop(sender.send(format!("{namespace}/{}", map.name_any())));
            if map.labels().contains_key("again") && again.swap(false, Ordering::Relaxed) {
                return Ok(Action::requeue_after(Duration::from_millis(1)));
            }
            Ok(Action::await_change())
        }
    };
    (reconcile, gate, receiver)
}

fn tier(map: &ConfigMap) -> i32 {
    match map.labels().get("tier").map(String::as_str) {
        Some("high") => 500,
        Some("low") => -7,
        _ => 0,
    }
}

#[tokio::test]
async fn what_is_urgent_overtakes_what_waits_also_when_it_comes_back_or_something_else_asks() {
    let mut program = Program::start().await;
    for number in 0..50 {
        program
            .create(&format!("n-{number:02}"), json!({"mine": ""}))
            .await;
    }
    let urgent = json!({"mine": "", "tier": "high", "again": ""});
    program.create("urgent", urgent).await;
    let low = json!({"mine": "", "tier": "low"});
    program.create("low", low.clone()).await;
    program.create("asked", low).await;
    let (reconcile, gate, mut reports) = gated();
    let (sender, mut heard) = mpsc::unbounded_channel();
    let named = related(move |secret: &Secret| {
        sender.send(()).unwrap();
        let name = secret.labels().get("for")?;
        Some(ObjectRef::from((
            secret.namespace()?.as_str(),
            name.as_str(),
        )))
    });
    let controller = Controller::new("maps", reconcile)
        .within(mine())
        .watch(named.within(mine()))
        .priority(tier);
    let (meter, _) = program.attach(controller);
    program.run();
    let added = async |adds: u64| {
        eventually("the objects", async || {
            let load = meter.read();
            (load.adds == adds && load.active == 1).then_some(())
        })
        .await;
    };
    let prefix = format!("{}/", program.cluster.namespace());
    let mut next = async || {
        gate.add_permits(1);
        let name = reports.recv().await.unwrap();
        name.strip_prefix(&prefix).unwrap().to_owned()
    };
    added(53).await;
    // The worker has the first one that there was.
    let mut begun = vec![next().await];
    if begun[0] != "urgent" {
        begun.push(next().await);
    }
    assert_eq!(begun.last().unwrap(), "urgent");
    added(54).await;
    let secret: Secret = yaml("{metadata: {name: asks, labels: {mine: '', for: asked}}}");
    program.cluster.create(&secret).await.expect_allowed();
    heard.recv().await.unwrap();
    // What had begun is not interrupted.
    begun.push(next().await);
    assert_eq!(next().await, "urgent");
    assert_eq!(next().await, "asked");
    for _ in begun.len() - 1..50 {
        let name = next().await;
        assert!(name.starts_with("n-"), "{name}");
    }
    assert_eq!(next().await, "low");
}

#[tokio::test]
async fn namespaces_take_turns_if_they_are_to() {
    let mut program = Program::start().await;
    let small = kubewright_testing::unique("small");
    let namespace: Namespace = yaml(&format!("metadata: {{name: {small}}}"));
    program.cluster.create(&namespace).await.expect_allowed();
    let large = program.cluster.namespace().to_owned();
    for number in 0..40 {
        program
            .create(&format!("n-{number:02}"), json!({"mine": ""}))
            .await;
    }
    for number in 0..3 {
        let map: ConfigMap = yaml(&format!(
            "{{metadata: {{namespace: {small}, name: n-{number:02}, labels: {{mine: ''}}}}, data: {{value: '0'}}}}"
        ));
        program.cluster.create(&map).await.expect_allowed();
    }
    let (reconcile, gate, mut reports) = gated();
    let controller = Controller::new("maps", reconcile)
        .within(mine())
        .fair_between_namespaces();
    let (meter, _) = program.attach(controller);
    program.run();
    eventually("the objects", async || {
        (meter.read().adds >= 43).then_some(())
    })
    .await;
    gate.add_permits(43);
    let mut order = Vec::new();
    for _ in 0..43 {
        order.push(reports.recv().await.unwrap());
    }
    let places: Vec<usize> = (0..order.len())
        .filter(|at| order[*at].starts_with(&format!("{small}/")))
        .collect();
    // The first one was taken when it was alone.
    assert!(places.iter().all(|at| *at <= 6), "{order:?}");
    assert_eq!(places.len(), 3);
    let of_large = order
        .iter()
        .filter(|name| name.starts_with(&format!("{large}/")));
    assert!(of_large.is_sorted(), "{order:?}");
}

#[tokio::test(start_paused = true)]
async fn reconciles_begin_at_the_rate_that_is_allowed_whatever_calls_for_them() {
    let mut program = Program::start().await;
    for number in 0..20 {
        program
            .create(&format!("n-{number:02}"), json!({"mine": ""}))
            .await;
    }
    let (sender, mut begun) = mpsc::unbounded_channel();
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        sender.send(Instant::now()).unwrap();
        async move {
            // All come back at once, by time or because they fail.
            match map.name_any().as_str() {
                "n-00" | "n-01" => Err(Error::retry("it never works")),
                _ => Ok(Action::requeue_after(Duration::from_millis(1))),
            }
        }
    };
    let controller = Controller::new("maps", reconcile)
        .within(mine())
        .concurrency(4)
        .rate_limit(RateLimit::per_second(10).burst(5));
    let (meter, _) = program.attach(controller);
    program.run();
    let mut times = Vec::new();
    for _ in 0..200 {
        times.push(begun.recv().await.unwrap());
    }
    for (number, first) in times.iter().enumerate() {
        for (others, last) in times[number..].iter().enumerate() {
            let tokens = (*last - *first).as_millis() / 100 + 5;
            assert!((others as u128) < tokens, "{others} after {number}");
        }
    }
    let passed = *times.last().unwrap() - times[0];
    assert!(passed < Duration::from_millis(19_700), "{passed:?}");
    // There was always something to do.
    let limited = meter.read().rate_limited;
    assert!(limited + Duration::from_secs(1) > passed, "{limited:?}");
}
