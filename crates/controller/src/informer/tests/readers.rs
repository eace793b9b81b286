//! What a cache holds is what its readers read.

use k8s_openapi::api::core::v1::Pod;
use kubewright_testing::yaml;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::*;
use crate::informer::Entry;
use crate::{Cached, Connection, Writer};

#[derive(Deserialize)]
struct Mode {
    #[expect(dead_code, reason = "it is read by serde")]
    data: ModeData,
}

#[derive(Deserialize)]
struct ModeData {
    #[expect(dead_code, reason = "it is read by serde")]
    mode: Option<String>,
}

#[derive(Deserialize)]
struct Immutable {
    #[expect(dead_code, reason = "it is read by serde")]
    immutable: Option<bool>,
}

fn handle<T: DeserializeOwned + 'static>(informers: &Informers) -> Cached<ConfigMap, T> {
    Cached::new(informers, Scope::all().named("settings"))
}

/// A map of which the readers read this or that.
const SETTINGS: &str = "{metadata: {name: settings, labels: {app: web}}, immutable: false, data: {mode: quiet, page: long}}";

/// What a cache holds of the settings.
async fn held(informers: &Informers, cluster: &TestCluster) -> Vec<Value> {
    let (all, client) = (informers.clone(), cluster.client());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { all.run(client).await });
    informers.synced().await;
    informers.all().iter().map(only).collect()
}

fn only(informer: &Informer) -> Value {
    informer.select(|_| true)[0].decode().unwrap()
}

#[tokio::test]
async fn one_cache_holds_what_its_readers_read_together_and_everything_for_a_reader_of_objects() {
    let cluster = TestCluster::start().await;
    cluster
        .create::<ConfigMap>(&yaml(SETTINGS))
        .await
        .expect_allowed();
    let mode = json!({"data": {"mode": "quiet"}});
    let both = json!({"data": {"mode": "quiet"}, "immutable": false});
    for (asked, expected) in [
        (&["mode"][..], Some(&mode)),
        (&["mode", "mode"], Some(&mode)),
        (&["mode", "immutable"], Some(&both)),
        (&["immutable", "mode"], Some(&both)),
        (&["mode", "whole"], None),
        (&["whole", "mode"], None),
        (&["mode", "informer"], None),
    ] {
        let informers = Informers::new();
        for asked in asked {
            match *asked {
                "mode" => drop(handle::<Mode>(&informers)),
                "immutable" => drop(handle::<Immutable>(&informers)),
                "whole" => drop(handle::<ConfigMap>(&informers)),
                _ => drop(
                    informers.informer(Kind::of::<ConfigMap>(), Scope::all().named("settings")),
                ),
            }
        }
        let held = held(&informers, &cluster).await;
        assert_eq!(held.len(), 1, "{asked:?}: one list and watch");
        match expected {
            Some(expected) => assert_eq!(held[0], *expected, "{asked:?}"),
            None => assert_eq!(held[0]["data"]["page"], "long", "{asked:?}"),
        }
    }
}

#[tokio::test]
async fn a_reader_that_comes_late_and_reads_more_has_a_cache_of_its_own() {
    let cluster = TestCluster::start().await;
    cluster
        .create::<ConfigMap>(&yaml(SETTINGS))
        .await
        .expect_allowed();
    let informers = Informers::new();
    drop(handle::<Mode>(&informers));
    held(&informers, &cluster).await;
    let known = handle::<Mode>(&informers);
    assert!(known.get(("default", "settings")).await.unwrap().is_some());
    drop(handle::<ConfigMap>(&informers));
    let held = held(&informers, &cluster).await;
    let pages = held.iter().map(|held| held["data"]["page"].is_string());
    assert_eq!(pages.collect::<Vec<_>>(), [false, true]);
}

#[tokio::test]
async fn metadata_that_predicates_look_at_is_that_of_the_whole_object() {
    let cluster = TestCluster::start().await;
    cluster
        .create::<ConfigMap>(&yaml(SETTINGS))
        .await
        .expect_allowed();
    let (small, whole) = (Informers::new(), Informers::new());
    drop(handle::<Mode>(&small));
    drop(handle::<ConfigMap>(&whole));
    held(&small, &cluster).await;
    held(&whole, &cluster).await;
    let facts = |informers: &Informers| {
        let entry = informers.all()[0].select(|_| true).remove(0);
        let metadata = entry.metadata();
        (
            metadata.content(),
            metadata.labels().len(),
            metadata.annotations(),
            metadata.uid().to_owned(),
        )
    };
    assert_eq!(facts(&small), facts(&whole));
}

#[tokio::test]
async fn what_a_handle_writes_is_held_as_what_the_watch_brings() {
    let cluster = TestCluster::start().await;
    cluster
        .create::<ConfigMap>(&yaml(SETTINGS))
        .await
        .expect_allowed();
    let informers = Informers::new();
    let (small, other) = (
        handle::<Mode>(&informers),
        Cached::<ConfigMap>::new(&informers, Scope::all()),
    );
    let connection = Connection::with_informers(&informers);
    connection.open(cluster.client(), "gardener");
    // Nothing but the response of the write changes what is known.
    held(&informers, &cluster).await;
    let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    let patch = json!({"data": {"mode": "loud", "page": "other"}});
    writer.merge(("default", "settings"), &patch).await.unwrap();
    assert_eq!(only(small.informer()), json!({"data": {"mode": "loud"}}));
    let whole = other.get(("default", "settings")).await.unwrap().unwrap();
    assert_eq!(whole.data.unwrap()["page"], "other");
}

/// A pod as a cluster has thousands of.
fn pod(number: usize) -> String {
    let variables = (0..12).map(|line| json!({"name": format!("SETTING_{line}"), "value": format!("value-{number}-{line}")}));
    let container = json!({
        "name": "web", "image": "registry.example.com/team/web@sha256:0123456789abcdef", "env": variables.collect::<Vec<_>>(),
        "resources": {"limits": {"cpu": "2", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "128Mi"}},
        "volumeMounts": [{"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": true}],
        "livenessProbe": {"httpGet": {"path": "/healthz", "port": 8080, "scheme": "HTTP"}, "periodSeconds": 10},
    });
    let name = format!("web-7d4b9c6f5-{number:05}");
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": format!("8c1f2f0e-{number:012}"), "resourceVersion": number.to_string(),
            "labels": {"app": "web", "pod-template-hash": "7d4b9c6f5"}, "annotations": {"checksum/config": "0".repeat(64)}},
        "spec": {"nodeName": format!("node-{}", number % 100), "containers": [container], "serviceAccountName": "web"},
        "status": {"phase": "Running", "podIP": format!("10.0.{}.{}", number / 250, number % 250),
            "conditions": (0..4).map(|kind| json!({"type": format!("Condition{kind}"), "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"})).collect::<Vec<_>>()},
    })
    .to_string()
}

#[derive(Deserialize)]
#[expect(dead_code, reason = "serde reads it")]
struct OnNode {
    spec: Placed,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
#[expect(dead_code, reason = "serde reads it")]
struct Placed {
    node_name: Option<String>,
}

/// A ConfigMap that is like no other.
fn page(number: usize) -> String {
    let mut random = fastrand::Rng::with_seed(number as u64);
    let page: String = (0..8192).map(|_| random.alphanumeric()).collect();
    json!({"metadata": {"name": format!("page-{number:05}"), "namespace": "shop"}, "data": {"mode": "quiet", "page": page}})
        .to_string()
}

/// The mean number of bytes that a cache holds for the JSON of an object.
fn bytes(informers: &Informers, object: impl Fn(usize) -> String) -> usize {
    let informer = informers.all().remove(0);
    let mut packer = crate::informer::text::Packer::default();
    let entries = (0..1000).map(|number| Entry::read(&object(number)).unwrap());
    let held = entries.map(|entry| informer.held(entry).packed(&mut packer).room());
    held.sum::<usize>() / 1000
}

#[test]
fn a_cache_of_a_few_fields_holds_fewer_bytes_of_each_object_whether_objects_are_alike_or_not() {
    let reading = |read: fn(&Informers)| {
        let informers = Informers::new();
        read(&informers);
        informers
    };
    let pods = reading(|all| drop(Cached::<Pod>::new(all, Scope::all())));
    let placed = reading(|all| drop(Cached::<Pod, OnNode>::new(all, Scope::all())));
    let maps = reading(|all| drop(Cached::<ConfigMap>::new(all, Scope::all())));
    let modes = reading(|all| drop(Cached::<ConfigMap, Mode>::new(all, Scope::all())));
    let [pods, placed] = [pods, placed].map(|informers| bytes(&informers, pod));
    let [maps, modes] = [maps, modes].map(|informers| bytes(&informers, page));
    println!(
        "a pod of {} bytes: {pods} -> {placed}; a ConfigMap of {}: {maps} -> {modes}",
        pod(0).len(),
        page(0).len()
    );
    assert!(placed * 4 < pods, "{pods} -> {placed}");
    assert!(modes * 100 < maps, "{maps} -> {modes}");
}
