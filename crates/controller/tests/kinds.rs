//! Kinds whose definitions come late, go away and come again.

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use kube::core::DynamicObject;
use kubewright_controller::{
    Action, AnyController, Cached, Context, Controller, Error, Informers, Kind, Reconcile, Scope,
};
use kubewright_manager::App;
use kubewright_testing::{Refusal, Requests, Server, TestCluster, eventually};
use serde_json::json;
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};
use tracing::subscriber::set_default;
use tracing_subscriber::layer::SubscriberExt as _;

pub(crate) async fn embedded() -> TestCluster {
    TestCluster::builder().on(Server::Embedded).start().await
}

pub(crate) fn widgets(version: &str) -> Kind {
    Kind::namespaced(&format!("example.com/{version}"), "Widget", "widgets").unwrap()
}

/// Defines widgets with these versions, of which the last is stored.
pub(crate) async fn define(cluster: &TestCluster, versions: &[&str]) {
    let stored = versions.last().unwrap();
    let versions = versions.iter().map(|version| {
        json!({"name": version, "served": true, "storage": version == stored,
            "subresources": {"status": {}}, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}})
    });
    let versions: Vec<_> = versions.collect();
    let definition: CustomResourceDefinition = serde_json::from_value(json!({
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "versions": versions,
            "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"}},
    }))
    .unwrap();
    cluster.create(&definition).await.expect_allowed();
}

pub(crate) async fn undefine(cluster: &TestCluster) {
    let name = "widgets.example.com";
    let deleted = cluster.delete::<CustomResourceDefinition>(name).await;
    deleted.expect_allowed();
    eventually("the end of the definition", async || {
        let found = cluster.get::<CustomResourceDefinition>(name).await;
        found.is_none().then_some(())
    })
    .await;
}

/// Creates a widget as soon as its kind is served, and returns its UID.
pub(crate) async fn widget(cluster: &TestCluster, kind: &Kind, name: &str) -> String {
    let api: Api<DynamicObject> = Api::default_namespaced_with(cluster.client(), kind.resource());
    let object = DynamicObject::new(name, kind.resource()).data(json!({"spec": {"size": 3}}));
    let created = eventually("a widget", async || {
        api.create(&PostParams::default(), &object).await.ok()
    })
    .await;
    created.metadata.uid.unwrap()
}

/// The watches of widgets that the API server has open.
async fn open_watches(cluster: &TestCluster) -> u64 {
    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let page = String::from_utf8(cluster.send(request).await.into_body()).unwrap();
    let open = page.lines().filter(|line| {
        line.starts_with("apiserver_longrunning_requests{") && line.contains("example.com")
    });
    let count = |line: &str| line.rsplit(' ').next()?.parse::<u64>().ok();
    open.map(|line| count(line).unwrap()).sum()
}

/// Controllers at work. They end with this.
struct Working {
    informers: Informers,
    _tasks: JoinSet<()>,
}

impl Working {
    fn start(cluster: &TestCluster, controllers: Vec<AnyController>) -> Self {
        let informers = Informers::new();
        Self::with(informers, cluster, controllers)
    }

    fn with(informers: Informers, cluster: &TestCluster, controllers: Vec<AnyController>) -> Self {
        let mut tasks = JoinSet::new();
        for controller in controllers {
            let running = controller.attach(&informers);
            tasks.spawn(async move { running.run(std::future::pending()).await });
        }
        let (all, client) = (informers.clone(), cluster.client_under_test());
        tasks.spawn(async move { all.run(client).await });
        Self {
            informers,
            _tasks: tasks,
        }
    }

    async fn not_served(&self) {
        eventually("the end of the kind", async || {
            (self.informers.not_served() == ["widgets.example.com"]).then_some(())
        })
        .await;
    }
}

/// A reconciler that tells which objects it was called for.
fn telling() -> (
    impl Reconcile<DynamicObject>,
    mpsc::UnboundedReceiver<Arc<DynamicObject>>,
) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let reconcile = move |object: Arc<DynamicObject>, _: Context| {
        drop(sender.send(object));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    (reconcile, receiver)
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_comes_and_goes_leaves_nothing_behind() {
    let rounds = std::env::var("KUBEWRIGHT_ROUNDS");
    let rounds: u64 = rounds.map_or(25, |rounds| rounds.parse().unwrap());
    let cluster = embedded().await;
    let (reconcile, mut reconciled) = telling();
    let controller = Controller::dynamic("widgets", &widgets("v1"), reconcile).optional();
    let working = Working::start(&cluster, vec![controller.into()]);
    working.not_served().await;
    sleep(Duration::from_secs(1)).await;
    let tasks = Handle::current().metrics().num_alive_tasks();

    let mut objects: Vec<Weak<DynamicObject>> = Vec::new();
    for round in 0..rounds {
        // Under every other definition the kind has one more version.
        let versions: &[&str] = if round % 2 == 0 {
            &["v1"]
        } else {
            &["v1", "v2"]
        };
        define(&cluster, versions).await;
        let uid = widget(&cluster, &widgets("v1"), "a").await;
        let object = timeout(Duration::from_secs(2), reconciled.recv()).await;
        let object = object.unwrap().unwrap();
        assert_eq!(object.metadata.uid.as_ref(), Some(&uid), "round {round}");
        objects.push(Arc::downgrade(&object));
        drop(object);
        undefine(&cluster).await;
        working.not_served().await;
        let follows = working.informers.follows()["widgets.example.com"];
        assert_eq!((follows.objects, follows.lists), (0, round + 1));
    }
    eventually("the end of all watches", async || {
        (open_watches(&cluster).await == 0).then_some(())
    })
    .await;
    eventually("the end of all tasks", async || {
        (Handle::current().metrics().num_alive_tasks() <= tasks).then_some(())
    })
    .await;
    assert!(objects.iter().all(|object| object.upgrade().is_none()));
    // It was a state, and no failure.
    assert_eq!(
        working.informers.follows()["widgets.example.com"].failures,
        0
    );
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_not_served_holds_up_only_those_that_require_it() {
    let cluster = embedded().await;
    for is_optional in [false, true] {
        let (reconcile, _reconciled) = telling();
        let controller = Controller::dynamic("widgets", &widgets("v1"), reconcile);
        let controller = if is_optional {
            controller.optional()
        } else {
            controller
        };
        let working = Working::start(&cluster, vec![controller.into()]);
        working.not_served().await;
        let synced = timeout(Duration::from_mins(10), working.informers.synced()).await;
        assert_eq!(synced.is_ok(), is_optional);
        let missing = working.informers.missing();
        assert_eq!(missing.is_empty(), is_optional, "{missing:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_is_ready_without_a_kind_that_is_optional() {
    let mut cached: Option<Cached<DynamicObject>> = None;
    let builder = TestCluster::builder().on(Server::Embedded).app(|needs| {
        cached = Some(needs.optional().dynamic(&widgets("v1")).cached());
        App::new("observer")
    });
    // It starts when the program is ready.
    let cluster = builder.start().await;
    let cached = cached.unwrap();
    assert!(cached.list().await.unwrap().is_empty() && !cached.is_served());
    define(&cluster, &["v1"]).await;
    widget(&cluster, &widgets("v1"), "a").await;
    eventually("the widget", async || {
        let list = cached.list().await.unwrap();
        (list.len() == 1 && cached.is_served()).then_some(())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn one_that_requires_a_kind_has_all_of_its_cache_wait() {
    let cluster = embedded().await;
    let informers = Informers::new();
    let (reconcile, _reconciled) = telling();
    let controller = Controller::dynamic("widgets", &widgets("v1"), reconcile).optional();
    let cached: Cached<DynamicObject> = Cached::dynamic(&informers, &widgets("v1"), Scope::all());
    let working = Working::with(informers, &cluster, vec![controller.into()]);
    working.not_served().await;
    assert!(!cached.is_served());
    let read = timeout(Duration::from_mins(1), cached.list()).await;
    assert!(
        read.is_err(),
        "a cache that is required is not read before it is known"
    );
    define(&cluster, &["v1"]).await;
    widget(&cluster, &widgets("v1"), "a").await;
    let list = eventually("the widget", async || {
        let list = cached.list().await.unwrap();
        (!list.is_empty()).then_some(list)
    })
    .await;
    assert_eq!(list[0].data["spec"]["size"], 3);
    assert!(cached.is_served());
}

#[tokio::test(start_paused = true)]
async fn a_version_that_is_no_longer_served_is_a_kind_that_is_not() {
    let cluster = embedded().await;
    define(&cluster, &["v1alpha1", "v1"]).await;
    let (reconcile, mut reconciled) = telling();
    let controller = Controller::dynamic("widgets", &widgets("v1alpha1"), reconcile);
    let working = Working::start(&cluster, vec![controller.into()]);
    widget(&cluster, &widgets("v1"), "a").await;
    assert_eq!(reconciled.recv().await.unwrap().data["spec"]["size"], 3);
    let follows = || working.informers.follows()["widgets.example.com"];
    assert_eq!(follows().objects, 1);
    for is_served in [false, true] {
        let patch =
            json!([{"op": "replace", "path": "/spec/versions/0/served", "value": is_served}]);
        let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client());
        let patch: json_patch::Patch = serde_json::from_value(patch).unwrap();
        let patch = kube::api::Patch::Json::<()>(patch);
        let name = "widgets.example.com";
        definitions
            .patch(name, &kube::api::PatchParams::default(), &patch)
            .await
            .unwrap();
        eventually("the version", async || {
            (follows().not_served == usize::from(!is_served)).then_some(())
        })
        .await;
        assert_eq!(follows().objects, usize::from(is_served));
    }
    assert_eq!(reconciled.recv().await.unwrap().data["spec"]["size"], 3);
}

#[tokio::test(start_paused = true)]
async fn a_kind_is_missed_with_one_line_and_few_requests_and_found_with_one_line() {
    let cluster = embedded().await;
    let told = Lines::default();
    // With a second subscriber, each event is asked for anew: another test's thread, which has none, would switch it off.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    let _listening = set_default(tracing_subscriber::registry().with(told.clone()));
    let (reconcile, mut reconciled) = telling();
    let controller = Controller::dynamic("widgets", &widgets("v1"), reconcile);
    let _working = Working::start(&cluster, vec![controller.into()]);
    sleep(Duration::from_hours(1)).await;
    let begun = "the API server does not serve this kind: what needs it waits until it does";
    assert_eq!(told.take(), [begun]);
    let requests = cluster.sent(&Requests::all()).len();
    assert!((1800..2600).contains(&requests), "{requests} in an hour");

    define(&cluster, &["v1"]).await;
    widget(&cluster, &widgets("v1"), "a").await;
    let since = Instant::now();
    reconciled.recv().await.unwrap();
    assert!(since.elapsed() <= Duration::from_secs(2));
    assert_eq!(
        told.take(),
        ["the API server serves this kind now", "reconciling"]
    );
    undefine(&cluster).await;
    sleep(Duration::from_hours(1)).await;
    assert_eq!(told.take(), [begun]);
}

#[tokio::test(start_paused = true)]
async fn a_404_that_discovery_contradicts_takes_no_object_away() {
    let cluster = embedded().await;
    define(&cluster, &["v1"]).await;
    let (reconcile, mut reconciled) = telling();
    let controller = Controller::dynamic("widgets", &widgets("v1"), reconcile);
    let working = Working::start(&cluster, vec![controller.into()]);
    widget(&cluster, &widgets("v1"), "a").await;
    reconciled.recv().await.unwrap();
    let requests = Requests::all().resource("example.com", "widgets");
    let not_found = Refusal::new(404, "NotFound", "no such page");
    cluster
        .faults()
        .on(requests)
        .lasting(Duration::from_mins(1))
        .answer(not_found);
    cluster.faults().drop_watches();
    sleep(Duration::from_secs(30)).await;
    let follows = working.informers.follows()["widgets.example.com"];
    assert!(follows.failures > 0);
    assert_eq!((follows.objects, follows.not_served), (1, 0));
}

/// The messages of what is logged by controllers, at the levels that a program shows.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl Lines {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        struct Message<'a>(&'a Lines);
        impl tracing::field::Visit for Message<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    let mut lines = (self.0).0.lock().unwrap_or_else(PoisonError::into_inner);
                    lines.push(format!("{value:?}"));
                }
            }
        }
        let metadata = event.metadata();
        let is_own = metadata.target().starts_with("kubewright_controller");
        if is_own && *metadata.level() <= tracing::Level::INFO {
            event.record(&mut Message(self));
        }
    }
}
