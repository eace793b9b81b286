//! Caches and controllers of metadata alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::client::Body;
use kube::core::{DynamicObject, PartialObjectMeta};
use kube::{Client, ResourceExt};
use kubewright_controller::{
    Action, AnyController, Cached, Connection, Context, Controller, Error, Informers, Kind,
    ObjectRef, Scope, Writer, related,
};
use kubewright_testing::{TestCluster, eventually, yaml};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower::service_fn;

use crate::kinds::{define, embedded, widget, widgets};

type Metadata = PartialObjectMeta<ConfigMap>;

fn map(name: &str) -> ConfigMap {
    let mut map: ConfigMap = yaml(&format!(
        "{{metadata: {{name: {name}, labels: {{app: web}}}}}}"
    ));
    map.data = Some(BTreeMap::from([("page".to_owned(), "x".repeat(8192))]));
    map
}

/// A client of the cluster, and the bytes that it receives.
fn counted(client: Client) -> (Client, Arc<AtomicUsize>) {
    let bytes = Arc::new(AtomicUsize::new(0));
    let received = Arc::clone(&bytes);
    let service = service_fn(move |request: Request<Body>| {
        let (client, received) = (client.clone(), Arc::clone(&received));
        async move {
            let answer: Response<Body> = client.send(request).await?;
            Ok::<_, kube::Error>(answer.map(|body| {
                body.map_frame(move |frame| {
                    let length = frame.data_ref().map_or(0, bytes::Bytes::len);
                    received.fetch_add(length, Ordering::Relaxed);
                    frame
                })
            }))
        }
    });
    (Client::new(service, "default"), bytes)
}

#[tokio::test]
async fn metadata_alone_takes_fewer_bytes_on_the_wire_and_in_the_cache() {
    let cluster = embedded().await;
    for number in 0..20 {
        cluster
            .create(&map(&format!("map-{number}")))
            .await
            .expect_allowed();
    }
    let scope = || Scope::all().in_namespace("default").labelled("app=web");
    for is_streamed in [true, false] {
        if !is_streamed {
            cluster.faults().refuse_streamed_lists();
        }
        let (mut received, mut kept) = (Vec::new(), Vec::new());
        for is_metadata in [false, true] {
            let informers = Informers::new();
            let (client, bytes) = counted(cluster.client_under_test());
            let mut tasks = JoinSet::new();
            let entries = if is_metadata {
                let cached: Cached<Metadata> = Cached::new(&informers, scope());
                tasks.spawn(async move { informers.run(client).await });
                assert_eq!(cached.list().await.unwrap()[0].labels()["app"], "web");
                let change =
                    json!({"metadata": {"annotations": {"streamed": is_streamed.to_string()}}});
                cluster
                    .merge::<ConfigMap>("map-0", &change)
                    .await
                    .expect_allowed();
                eventually("the change", async || {
                    let first = cached.get(("default", "map-0")).await.unwrap().unwrap();
                    let value = first.annotations().get("streamed")?;
                    (*value == is_streamed.to_string()).then_some(())
                })
                .await;
                cached.entries()
            } else {
                let cached: Cached<ConfigMap> = Cached::new(&informers, scope());
                tasks.spawn(async move { informers.run(client).await });
                assert_eq!(cached.list().await.unwrap()[0].labels()["app"], "web");
                cached.entries()
            };
            assert_eq!(entries.len(), 20);
            let lengths = entries.iter().map(|entry| entry.json().len());
            kept.push(lengths.sum::<usize>());
            received.push(bytes.load(Ordering::Relaxed));
        }
        assert!(
            received[1] * 5 < received[0],
            "{received:?}, streamed: {is_streamed}"
        );
        assert!(kept[1] * 5 < kept[0], "{kept:?}, streamed: {is_streamed}");
    }
}

#[tokio::test]
async fn a_controller_works_with_the_metadata_of_its_objects_and_of_what_it_watches() {
    let cluster = embedded().await;
    define(&cluster, &["v1"]).await;
    let uid = widget(&cluster, &widgets("v1"), "a").await;
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let reconcile = move |object: Arc<PartialObjectMeta>, context: Context| {
        drop(sender.send((object, context.owner_reference())));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    let concerned = |map: &Metadata| -> Option<ObjectRef<PartialObjectMeta>> {
        let name = map.labels().get("widget")?;
        Some(("default", name.as_str()).into())
    };
    let controller: Controller<PartialObjectMeta> =
        Controller::dynamic("widgets", &widgets("v1"), reconcile).watch(related(concerned));
    let controller = AnyController::from(controller);
    let watched = controller.watched();
    assert!(
        watched.iter().all(|(kind, _)| kind.is_metadata()),
        "{watched:?}"
    );
    let (informers, client) = (Informers::new(), cluster.client());
    let running = controller.attach(&informers);
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { running.run(std::future::pending()).await });
    tasks.spawn(async move { informers.run(client).await });
    let (object, owner) = reconciled.recv().await.unwrap();
    assert_eq!(object.metadata.uid.as_ref(), Some(&uid));
    assert_eq!(
        (&*owner.kind, &*owner.api_version),
        ("Widget", "example.com/v1")
    );
    let mut map = map("settings");
    map.labels_mut().insert("widget".to_owned(), "a".to_owned());
    cluster.create(&map).await.expect_allowed();
    let (object, _) = reconciled.recv().await.unwrap();
    assert_eq!(object.name_any(), "a");
}

#[tokio::test]
async fn metadata_is_patched_and_deleted_and_never_replaces_the_object() {
    let cluster = TestCluster::start().await;
    cluster.create(&map("settings")).await.expect_allowed();
    let connection = Connection::new();
    connection.open(cluster.client(), "gardener");
    let writer: Writer<Metadata> = Writer::new(&connection, Scope::all());
    let patch = json!({"metadata": {"labels": {"app": "mail"}}});
    let settings = (cluster.namespace(), "settings");
    let patched = writer.merge(settings, &patch).await.unwrap();
    assert_eq!(patched.labels()["app"], "mail");
    for error in [
        writer.replace(&patched).await.unwrap_err(),
        writer.create(&patched).await.unwrap_err(),
    ] {
        let why = std::error::Error::source(&error).unwrap().to_string();
        assert!(
            why.contains("its metadata alone is known"),
            "{error}: {why}"
        );
    }
    let stored: ConfigMap = cluster.get("settings").await.unwrap();
    assert_eq!(stored.data.unwrap()["page"].len(), 8192);
    writer.delete(&patched).await.unwrap();
    assert!(cluster.get::<ConfigMap>("settings").await.is_none());
}

#[tokio::test]
async fn metadata_and_whole_objects_of_one_kind_have_a_cache_each() {
    let informers = Informers::new();
    let kind = Kind::namespaced("v1", "ConfigMap", "configmaps").unwrap();
    let _whole: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
    let _same: Cached<DynamicObject> = Cached::dynamic(&informers, &kind, Scope::all());
    assert_eq!(
        informers.missing(),
        ["configmaps"],
        "a type and a value may be one kind"
    );
    let _metadata: Cached<Metadata> = Cached::new(&informers, Scope::all());
    let _same: Cached<PartialObjectMeta> = Cached::dynamic(&informers, &kind, Scope::all());
    assert_eq!(informers.missing(), ["configmaps", "configmaps"]);
}
