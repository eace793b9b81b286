//! Read your writes: caches show at once what handles write.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kubewright_controller::{
    Action, AnyController, Applier, Cached, Connection, Controller, CreateOrUpdate, Deleter,
    Finalizer, Informers, OperationResult, Scope, Writer,
};
use kubewright_testing::{TestCluster, yaml};
use serde_json::json;
use tokio::task::JoinSet;

type Metadata = PartialObjectMeta<ConfigMap>;

/// A program with caches and handles on ConfigMaps.
struct Program {
    cluster: TestCluster,
    informers: Informers,
    connection: Connection,
    cached: Cached<ConfigMap>,
    loud: Cached<ConfigMap>,
    _tasks: JoinSet<()>,
}

impl Program {
    async fn start() -> Self {
        let cluster = TestCluster::start().await;
        let informers = Informers::new();
        let connection = Connection::with_informers(&informers);
        connection.open(cluster.client(), "gardener");
        let scope = Scope::all().in_namespace(cluster.namespace());
        let cached = Cached::new(&informers, scope.clone());
        let loud = Cached::new(&informers, scope.labelled("mode in (loud,shrill),!secret"));
        let mut tasks = JoinSet::new();
        let (all, client) = (informers.clone(), cluster.client());
        tasks.spawn(async move { all.run(client).await });
        informers.synced().await;
        Self {
            cluster,
            informers,
            connection,
            cached,
            loud,
            _tasks: tasks,
        }
    }

    fn map(&self, name: &str, mode: &str) -> ConfigMap {
        let namespace = self.cluster.namespace();
        yaml(&format!(
            "{{metadata: {{namespace: {namespace}, name: {name}, labels: {{mode: {mode}}}}}, data: {{mode: {mode}}}}}"
        ))
    }

    /// What a cache shows of an object without a pause.
    async fn mode(&self, cache: &Cached<ConfigMap>, name: &str) -> Option<String> {
        let map = cache.get((self.cluster.namespace(), name)).await.unwrap();
        map.map(|map| map.data.unwrap()["mode"].clone())
    }

    async fn modes(&self, name: &str) -> [Option<String>; 2] {
        [
            self.mode(&self.cached, name).await,
            self.mode(&self.loud, name).await,
        ]
    }
}

fn shown(all: &str, loud: Option<&str>) -> [Option<String>; 2] {
    [Some(all.to_owned()), loud.map(str::to_owned)]
}

#[tokio::test]
async fn a_cache_shows_what_any_handle_has_written() {
    let program = Program::start().await;
    let (connection, scope) = (&program.connection, Scope::all);
    let writer: Writer<ConfigMap> = Writer::new(connection, scope());
    let applier: Applier<ConfigMap> = Applier::new(connection, scope());
    let deleter: Deleter<ConfigMap> = Deleter::new(connection, scope());
    let here = Scope::all().in_namespace(program.cluster.namespace());
    let wanted = CreateOrUpdate::new(&program.informers, connection, here);
    let finalizer: Finalizer<ConfigMap> = Finalizer::new(connection, "example.com/tidy");
    let reference = (program.cluster.namespace(), "map");
    for _ in 0..50 {
        writer.create(&program.map("map", "quiet")).await.unwrap();
        assert_eq!(program.modes("map").await, shown("quiet", None));
        applier.apply(&program.map("map", "loud")).await.unwrap();
        assert_eq!(program.modes("map").await, shown("loud", Some("loud")));
        let patch = json!({"metadata": {"labels": {"secret": "yes"}}});
        writer.merge(reference, &patch).await.unwrap();
        assert_eq!(program.modes("map").await, shown("loud", None));
        let result = wanted.create_or_update(&program.map("map", "shrill")).await;
        assert_eq!(result.unwrap(), OperationResult::Updated);
        assert_eq!(program.modes("map").await, shown("shrill", None));

        let read = async || program.cached.get(reference).await.unwrap();
        let run = async || {
            let map = Arc::new(read().await.unwrap());
            let reconcile = async |_| Ok(Action::await_change());
            assert!(finalizer.run(map, reconcile).await.is_ok());
        };
        run().await;
        let finalizers = read().await.unwrap().metadata.finalizers;
        assert_eq!(finalizers, Some(vec!["example.com/tidy".to_owned()]));
        deleter.delete(&read().await.unwrap()).await.unwrap();
        assert!(read().await.unwrap().metadata.deletion_timestamp.is_some());
        // Removes the finalizer, and with it the object.
        run().await;
        assert!(read().await.is_none());

        writer.create(&program.map("map", "loud")).await.unwrap();
        deleter.delete(&program.map("map", "loud")).await.unwrap();
        assert_eq!(program.modes("map").await, [None, None]);
    }
}

#[tokio::test]
async fn caches_of_metadata_and_of_whole_objects_show_what_either_kind_of_handle_has_written() {
    let cluster = TestCluster::start().await;
    let informers = Informers::new();
    let connection = Connection::with_informers(&informers);
    connection.open(cluster.client(), "gardener");
    let scope = Scope::all().in_namespace(cluster.namespace());
    let whole: Cached<ConfigMap> = Cached::new(&informers, scope.clone());
    let metadata: Cached<Metadata> = Cached::new(&informers, scope);
    let mut tasks = JoinSet::new();
    let (all, client) = (informers.clone(), cluster.client());
    tasks.spawn(async move { all.run(client).await });
    informers.synced().await;
    let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    let of_metadata: Writer<Metadata> = Writer::new(&connection, Scope::all());
    let reference = (cluster.namespace(), "map");
    let shown = async || {
        let whole = whole.get(reference).await.unwrap();
        let metadata = metadata.get(reference).await.unwrap();
        let versions = [
            whole.as_ref().and_then(ResourceExt::resource_version),
            metadata.as_ref().and_then(ResourceExt::resource_version),
        ];
        assert_eq!(versions[0], versions[1]);
        whole.map(|whole| (whole.labels().clone(), whole.data))
    };
    for round in 0..50 {
        let map: ConfigMap = yaml("{metadata: {name: map}, data: {a: a}}");
        let map = ConfigMap {
            metadata: kube::core::ObjectMeta {
                namespace: Some(cluster.namespace().to_owned()),
                ..map.metadata
            },
            ..map
        };
        writer.create(&map).await.unwrap();
        assert_eq!(shown().await, Some((BTreeMap::new(), map.data.clone())));
        let labels = BTreeMap::from([("round".to_owned(), round.to_string())]);
        let patch = json!({"metadata": {"labels": labels}});
        let patched = of_metadata.merge(reference, &patch).await.unwrap();
        assert_eq!(patched.labels(), &labels);
        assert_eq!(shown().await, Some((labels, map.data)));
        of_metadata.delete(&patched).await.unwrap();
        assert_eq!(shown().await, None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_reconcile_that_writes_is_called_once_more_and_not_twice() {
    let cluster = TestCluster::start().await;
    let informers = Informers::new();
    let connection = Connection::with_informers(&informers);
    connection.open(cluster.client(), "gardener");
    let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    let scope = Scope::all().in_namespace(cluster.namespace()).named("map");
    let calls: Arc<AtomicUsize> = Arc::default();
    let controller = {
        let calls = Arc::clone(&calls);
        Controller::new("maps", move |map: Arc<ConfigMap>, _| {
            let (writer, calls) = (writer.clone(), Arc::clone(&calls));
            async move {
                calls.fetch_add(1, Ordering::SeqCst);
                let mut map = (*map).clone();
                // What it has read is what it has written before: never a conflict.
                let count = map.data.get_or_insert_with(BTreeMap::new).len();
                if count < 5 {
                    map.data
                        .as_mut()
                        .unwrap()
                        .insert(count.to_string(), String::new());
                    writer.replace(&map).await?;
                }
                Ok(Action::await_change())
            }
        })
        .within(scope)
    };
    cluster
        .create::<ConfigMap>(&yaml("metadata: {name: map}"))
        .await
        .expect_allowed();
    let running = AnyController::from(controller).attach(&informers);
    tokio::select! {
        () = informers.run(cluster.client()) => {}
        () = running.run(std::future::pending()) => {}
        () = tokio::time::sleep(Duration::from_mins(10)) => {}
    }
    assert_eq!(
        calls.load(Ordering::SeqCst),
        6,
        "five writes, and a look at the last"
    );
}
