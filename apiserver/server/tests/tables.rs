//! Tables and metadata-only answers (spec section C.15).

use crate::cluster::{Cluster, map, pod};
use serde_json::json;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
const PARTIAL: &str =
    "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io,application/json;q=0.9";
const PARTIAL_LIST: &str = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io";

#[tokio::test]
async fn a_list_can_be_a_table() {
    let cluster = Cluster::start();
    cluster
        .post("/api/v1/namespaces/default/pods", &pod("x"))
        .await
        .expect(201);
    let table = cluster
        .get_as("/api/v1/namespaces/default/pods", TABLE)
        .await
        .expect(200);
    assert_eq!(
        (&table["kind"], &table["apiVersion"]),
        (&json!("Table"), &json!("meta.k8s.io/v1"))
    );
    let columns: Vec<_> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|column| column["priority"] == 0)
        .map(|column| column["name"].as_str().unwrap())
        .collect();
    assert_eq!(columns, ["Name", "Ready", "Status", "Restarts", "Age"]);
    let row = &table["rows"][0];
    assert_eq!(row["cells"][0], "x");
    assert_eq!(row["cells"][1], "0/1");
    assert_eq!(row["cells"][2], "Pending");
    assert_eq!(row["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(row["object"]["metadata"]["name"], "x");
    assert!(table["metadata"]["resourceVersion"].is_string());
}

#[tokio::test]
async fn a_single_object_is_a_table_of_one_row() {
    let cluster = Cluster::start();
    cluster.post(MAPS, &map("x")).await.expect(201);
    for (include, kind) in [
        ("Object", json!("ConfigMap")),
        ("Metadata", json!("PartialObjectMetadata")),
        ("None", json!(null)),
    ] {
        let path = format!("{MAPS}/x?includeObject={include}");
        let table = cluster.get_as(&path, TABLE).await.expect(200);
        assert_eq!(table["rows"].as_array().unwrap().len(), 1);
        assert_eq!(table["rows"][0]["object"]["kind"], kind);
    }
}

#[tokio::test]
async fn a_failure_is_never_a_table() {
    let cluster = Cluster::start();
    let status = cluster
        .get_as(&format!("{MAPS}/x"), TABLE)
        .await
        .expect(404);
    assert_eq!(status["kind"], "Status");
}

#[tokio::test]
async fn metadata_alone_can_be_asked_for() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    let partial = cluster
        .get_as(&format!("{MAPS}/x"), PARTIAL)
        .await
        .expect(200);
    assert_eq!(
        partial,
        json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": made["metadata"]})
    );
    let list = cluster.get_as(MAPS, PARTIAL_LIST).await.expect(200);
    assert_eq!(list["kind"], "PartialObjectMetadataList");
    assert_eq!(list["items"][0]["metadata"], made["metadata"]);
    let message = cluster
        .get_as(MAPS, PARTIAL)
        .await
        .refused(406, "NotAcceptable");
    assert!(
        message.starts_with(
            "you requested PartialObjectMetadata, but the requested object is a list ("
        ),
        "{message}"
    );
}
