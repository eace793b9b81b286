//! What a recorder tells, on an API server.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use k8s_openapi::api::events::v1::Event;
use kube::api::{DeleteParams, ListParams};
use kube::{Api, ResourceExt};
use kubewright_controller::{Connection, Recorder, Scope};
use kubewright_testing::{TestCluster, yaml};

async fn recorder() -> (TestCluster, Recorder, ConfigMap) {
    let cluster = TestCluster::start().await;
    let connection = Connection::new();
    connection.open(cluster.client_under_test(), "gardener");
    let map: ConfigMap = yaml("metadata: {name: kitchen}");
    let map = cluster.create(&map).await.expect_allowed();
    (cluster, Recorder::new(&connection, Scope::all()), map)
}

async fn told(cluster: &TestCluster) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(cluster.client(), cluster.namespace());
    events.list(&ListParams::default()).await.unwrap().items
}

#[tokio::test]
async fn the_same_event_is_counted_and_another_one_is_told() {
    let (cluster, recorder, map) = recorder().await;
    for _ in 0..3 {
        recorder.normal(&map, "Watered", "it is wet").await.unwrap();
    }
    recorder.warning(&map, "Watered", "too wet").await.unwrap();
    let told = told(&cluster).await;
    let mut counts: Vec<_> = told
        .iter()
        .map(|event| {
            let series = event.series.as_ref().map(|series| series.count);
            (event.type_.as_deref().unwrap_or_default(), series)
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, [("Normal", Some(3)), ("Warning", None)]);
    for event in &told {
        let regarding = event.regarding.as_ref().unwrap();
        assert_eq!(regarding.uid, map.uid());
        assert_eq!(event.reporting_controller.as_deref(), Some("gardener"));
    }
}

#[tokio::test]
async fn an_event_that_the_api_server_keeps_no_more_is_told_anew() {
    let (cluster, recorder, map) = recorder().await;
    recorder.normal(&map, "Watered", "it is wet").await.unwrap();
    let first = told(&cluster).await.remove(0).name_any();
    let events: Api<Event> = Api::namespaced(cluster.client(), cluster.namespace());
    events
        .delete(&first, &DeleteParams::default())
        .await
        .unwrap();
    recorder.normal(&map, "Watered", "it is wet").await.unwrap();
    recorder.normal(&map, "Watered", "it is wet").await.unwrap();
    let told = told(&cluster).await;
    assert_eq!(told.len(), 1);
    assert_ne!(told[0].name_any(), first);
    assert_eq!(told[0].series.as_ref().unwrap().count, 2);
}

#[tokio::test]
async fn events_of_objects_without_a_namespace_are_in_the_default_one() {
    let (cluster, recorder, _) = recorder().await;
    let blue: Namespace = yaml("metadata: {name: blue}");
    let blue = cluster.create(&blue).await.expect_allowed();
    recorder
        .normal(&blue, "Painted", "it is blue")
        .await
        .unwrap();
    let events: Api<Event> = Api::namespaced(cluster.client(), "default");
    let told = events.list(&ListParams::default()).await.unwrap();
    let about = told.items.iter().map(|event| event.regarding.as_ref());
    let about: Vec<_> = about
        .map(|object| object.unwrap().name.as_deref())
        .collect();
    assert_eq!(about, [Some("blue")]);
}
