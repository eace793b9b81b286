//! Handles and controllers of kinds that are values.

use std::error::Error as _;
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event as StoredEvent;
use kube::api::ListParams;
use kube::core::DynamicObject;
use kube::{Api, ResourceExt};
use kubewright_controller::{
    Action, Applier, Cached, Connection, Context, Controller, CreateOrUpdate, Deleter, Error,
    Finalizer, Informers, Kind, ObjectRef, OperationResult, Owned, Reader, Recorder, Related,
    Scope, StatusWriter, Writer, finalizer,
};
use kubewright_testing::{TestCluster, eventually};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::kinds::{define, embedded, widget, widgets};

/// A widget that does not know its kind, as one from a list.
fn untyped(name: &str, size: u32) -> DynamicObject {
    let mut object = DynamicObject::new(name, widgets("v1").resource()).within("default");
    object.types = None;
    object.data(json!({"spec": {"size": size}}))
}

async fn connected() -> (TestCluster, Connection) {
    let cluster = embedded().await;
    define(&cluster, &["v1"]).await;
    // Its kind is served when this is created.
    widget(&cluster, &widgets("v1"), "first").await;
    let connection = Connection::new();
    connection.open(cluster.client(), "gardener");
    (cluster, connection)
}

#[tokio::test]
async fn handles_of_a_kind_that_is_a_value_do_what_those_of_a_type_do() {
    let (cluster, connection) = connected().await;
    let (kind, all) = (widgets("v1"), Scope::all);
    let informers = Informers::new();
    let cached: Cached<DynamicObject> = Cached::dynamic(&informers, &kind, all());
    let reader: Reader<DynamicObject> = Reader::dynamic(&connection, &kind, all());
    let writer: Writer<DynamicObject> = Writer::dynamic(&connection, &kind, all());
    let applier: Applier<DynamicObject> = Applier::dynamic(&connection, &kind, all());
    let status: StatusWriter<DynamicObject> = StatusWriter::dynamic(&connection, &kind, all());
    let deleter: Deleter<DynamicObject> = Deleter::dynamic(&connection, &kind, all());
    let ensured: CreateOrUpdate<DynamicObject> =
        CreateOrUpdate::dynamic(&informers, &connection, &kind, all());
    let mut tasks = JoinSet::new();
    let client = cluster.client();
    tasks.spawn(async move { informers.run(client).await });

    let created = writer.create(&untyped("a", 1)).await.unwrap();
    assert_eq!(created.types.as_ref().unwrap().kind, "Widget");
    let mut wanted = untyped("a", 2);
    wanted.metadata.resource_version = created.metadata.resource_version.clone();
    assert_eq!(
        writer.replace(&wanted).await.unwrap().data["spec"]["size"],
        2
    );
    assert_eq!(
        applier.apply(&untyped("b", 3)).await.unwrap().data["spec"]["size"],
        3
    );
    let state = status
        .merge(("default", "b"), &json!({"phase": "Ready"}))
        .await
        .unwrap();
    assert_eq!(state.data["status"]["phase"], "Ready");
    let read = reader.get(("default", "b")).await.unwrap().unwrap();
    assert_eq!(read.data, state.data);
    assert_eq!(reader.list().await.unwrap().len(), 3);

    assert_eq!(
        ensured.create_or_update(&untyped("c", 4)).await.unwrap(),
        OperationResult::Created
    );
    eventually("c in the cache", async || {
        cached.get(("default", "c")).await.unwrap()
    })
    .await;
    for (size, result) in [
        (4, OperationResult::Unchanged),
        (5, OperationResult::Updated),
    ] {
        assert_eq!(
            ensured.create_or_update(&untyped("c", size)).await.unwrap(),
            result
        );
    }

    let recorder = Recorder::new(&connection, all());
    recorder
        .normal(&read, "Grown", "it has grown")
        .await
        .unwrap();
    let events: Api<StoredEvent> = Api::all(cluster.client());
    let events = events.list(&ListParams::default()).await.unwrap().items;
    let about = events.iter().find_map(|event| {
        (event.reason.as_deref() == Some("Grown")).then(|| event.regarding.clone().unwrap())
    });
    let about = about.unwrap();
    assert_eq!(
        (about.kind.as_deref(), about.api_version.as_deref()),
        (Some("Widget"), Some("example.com/v1"))
    );
    let error = recorder
        .normal(&untyped("a", 1), "Grown", "it has grown")
        .await
        .unwrap_err();
    assert!(
        error
            .source()
            .unwrap()
            .to_string()
            .contains("set its `types`"),
        "{error}"
    );

    deleter.delete(&read).await.unwrap();
    assert!(reader.get(("default", "b")).await.unwrap().is_none());
}

#[tokio::test]
async fn kinds_that_discovery_finds_are_those_of_their_names() {
    let (cluster, connection) = connected().await;
    let found = kube::discovery::group(&cluster.client(), "example.com")
        .await
        .unwrap();
    let (resource, capabilities) = found.recommended_kind("Widget").unwrap();
    let is_namespaced = capabilities.scope == kube::discovery::Scope::Namespaced;
    let kind = Kind::discovered(&resource, is_namespaced);
    assert_eq!(kind, widgets("v1"));
    assert_eq!(
        kind,
        "namespaced/widgets.v1.example.com/Widget".parse().unwrap()
    );
    let reader: Reader<DynamicObject> = Reader::dynamic(&connection, &kind, Scope::all());
    assert_eq!(reader.list().await.unwrap()[0].name_any(), "first");
}

#[tokio::test]
async fn a_reference_without_the_namespace_that_its_kind_has_is_refused() {
    let (cluster, connection) = connected().await;
    let reader: Reader<DynamicObject> = Reader::dynamic(&connection, &widgets("v1"), Scope::all());
    let error = reader.get("first").await.unwrap_err();
    assert_eq!(error.to_string(), "cannot get Widget first");
    let why = "widgets.example.com live in namespaces, and the reference or object has none: give (\"namespace\", \"name\")";
    assert_eq!(error.source().unwrap().to_string(), why);
    let informers = Informers::new();
    let cached: Cached<DynamicObject> = Cached::dynamic(&informers, &widgets("v1"), Scope::all());
    let mut tasks = JoinSet::new();
    let client = cluster.client();
    tasks.spawn(async move { informers.run(client).await });
    let error = cached.get("first").await.unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), why);

    let nodes = Kind::cluster_scoped("v1", "Namespace", "namespaces").unwrap();
    let reader: Reader<DynamicObject> = Reader::dynamic(&connection, &nodes, Scope::all());
    assert_eq!(
        reader.get("default").await.unwrap().unwrap().name_any(),
        "default"
    );
}

#[tokio::test]
async fn a_controller_of_a_named_kind_owns_watches_and_cleans_up() {
    let (cluster, connection) = connected().await;
    let kind = widgets("v1");
    let maps = Kind::namespaced("v1", "ConfigMap", "configmaps").unwrap();
    let applier: Applier<DynamicObject> = Applier::dynamic(&connection, &maps, Scope::all());
    let cleaned: Finalizer<DynamicObject> =
        Finalizer::dynamic(&connection, &kind, "example.com/clean");
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let reconcile = move |widget: Arc<DynamicObject>, context: Context| {
        let (sender, applier, cleaned) = (sender.clone(), applier.clone(), cleaned.clone());
        async move {
            let run = cleaned.run(widget, async |event| match event {
                finalizer::Event::Apply(widget) => {
                    let mut map =
                        DynamicObject::new(&widget.name_any(), Kind::of::<ConfigMap>().resource());
                    map.data = json!({"data": {"size": widget.data["spec"]["size"].to_string()}});
                    context.apply(&applier, map).await?;
                    sender.send("applied").unwrap_or_default();
                    Ok(Action::await_change())
                }
                finalizer::Event::Cleanup(_) => {
                    sender.send("cleaned up").unwrap_or_default();
                    Ok::<_, Error>(Action::await_change())
                }
            });
            run.await
        }
    };
    let concerned = |map: &DynamicObject| -> Option<ObjectRef<DynamicObject>> {
        let widget = map.labels().get("widget")?;
        Some(("default", widget.as_str()).into())
    };
    let related_maps = Related::dynamic(&maps, concerned).within(Scope::all().labelled("widget"));
    let controller = Controller::dynamic("widgets", &kind, reconcile)
        .within(Scope::all().in_namespace("default"))
        .watch(Owned::<DynamicObject>::dynamic(&maps))
        .watch(related_maps);
    let task = tokio::spawn(controller.run(cluster.client(), std::future::pending()));

    let map = eventually("the owned map", async || {
        cluster.get::<ConfigMap>("first").await
    })
    .await;
    assert_eq!(map.data.unwrap()["size"], "3");
    assert_eq!(map.metadata.owner_references.unwrap()[0].kind, "Widget");
    assert_eq!(reconciled.recv().await, Some("applied"));
    // What is owned is restored.
    cluster.delete::<ConfigMap>("first").await.expect_allowed();
    eventually("the owned map again", async || {
        cluster.get::<ConfigMap>("first").await
    })
    .await;
    // What is related calls for a reconcile.
    while reconciled.try_recv().is_ok() {}
    let other: ConfigMap =
        kubewright_testing::yaml("metadata: {name: other, labels: {widget: first}}");
    cluster.create(&other).await.expect_allowed();
    assert_eq!(reconciled.recv().await, Some("applied"));

    let api: Api<DynamicObject> =
        Api::default_namespaced_with(cluster.client(), widgets("v1").resource());
    api.delete("first", &kube::api::DeleteParams::default())
        .await
        .unwrap();
    while reconciled.recv().await.unwrap() != "cleaned up" {}
    eventually("the end of the widget", async || {
        api.get_opt("first").await.unwrap().is_none().then_some(())
    })
    .await;
    task.abort();
}
