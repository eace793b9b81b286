//! Statuses that are kept, on an API server.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;
use kube::{CustomResource, ResourceExt};
use kubewright_controller::{
    ConditionStatus, Connection, OperationResult, Scope, StatusWriter, set_condition,
};
use kubewright_testing::{Requests, TestCluster, yaml};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, CustomResource, Serialize, Deserialize, JsonSchema)]
#[kube(
    group = "example.com",
    version = "v1",
    kind = "Garden",
    namespaced,
    status = "GardenStatus"
)]
struct GardenSpec {}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
struct GardenStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    beds: Option<i32>,
    #[schemars(schema_with = "kubewright_manifests::conditions")]
    conditions: Vec<Condition>,
}

/// A garden that has just been made, and what may write its status.
async fn garden() -> (TestCluster, Garden, StatusWriter<Garden>) {
    let cluster = TestCluster::builder().crd::<Garden>().start().await;
    let connection = Connection::new();
    connection.open(cluster.client_under_test(), "gardener");
    let garden: Garden = yaml("{metadata: {name: kitchen}, spec: {}}");
    let garden = cluster.create(&garden).await.expect_allowed();
    (
        cluster,
        garden,
        StatusWriter::new(&connection, Scope::all()),
    )
}

fn ready(status: &str) -> Condition {
    Condition {
        type_: "Ready".to_owned(),
        status: status.to_owned(),
        reason: "Watered".to_owned(),
        message: String::new(),
        observed_generation: Some(1),
        last_transition_time: Time(Timestamp::now()),
    }
}

#[tokio::test]
async fn a_status_is_written_if_it_is_another_one_and_only_then() {
    let (cluster, garden, statuses) = garden().await;
    let mut status = GardenStatus {
        beds: Some(3),
        ..GardenStatus::default()
    };
    set_condition(&mut status.conditions, ready("True"));
    let first = statuses.update(&garden, &status).await.unwrap();
    assert_eq!(first, OperationResult::Updated);

    let stored: Garden = cluster.get(&garden.name_any()).await.unwrap();
    assert_eq!(stored.status.as_ref().unwrap().beds, Some(3));
    cluster.forget_sent();
    let mut same = stored.status.clone().unwrap();
    assert!(!set_condition(&mut same.conditions, ready("True")));
    let second = statuses.update(&stored, &same).await.unwrap();
    assert_eq!(second, OperationResult::Unchanged);
    assert_eq!(cluster.sent(&Requests::all().writes()).len(), 0);

    same.beds = None;
    statuses.update(&stored, &same).await.unwrap();
    let stored: Garden = cluster.get(&garden.name_any()).await.unwrap();
    assert_eq!(stored.status, Some(same), "a field that is not wanted goes");
}

#[tokio::test]
async fn a_status_is_not_written_over_what_was_not_read() {
    let (cluster, garden, statuses) = garden().await;
    let mut status = GardenStatus::default();
    set_condition(&mut status.conditions, ready("True"));
    statuses.update(&garden, &status).await.unwrap();
    set_condition(&mut status.conditions, ready("False"));
    let error = statuses.update(&garden, &status).await.unwrap_err();
    assert!(error.is_conflict(), "{error}");
    let stored: Garden = cluster.get(&garden.name_any()).await.unwrap();
    assert_eq!(stored.status.unwrap().conditions[0].status, "True");
}

#[tokio::test]
async fn conditions_that_others_could_not_read_are_refused() {
    let (_cluster, garden, statuses) = garden().await;
    for status in ["Perhaps", "true"] {
        let status = GardenStatus {
            conditions: vec![ready(status)],
            ..GardenStatus::default()
        };
        assert!(statuses.update(&garden, &status).await.is_err());
    }
    let unknown = ready(&ConditionStatus::Unknown.to_string());
    let status = GardenStatus {
        conditions: vec![unknown],
        ..GardenStatus::default()
    };
    statuses.update(&garden, &status).await.unwrap();
}
