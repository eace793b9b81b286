//! The life of an object: create, get, list, update, patch, delete.

use serde_json::json;

use crate::cluster::Cluster;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";

fn map(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"k": "v"}})
}

#[tokio::test]
async fn an_object_lives_from_create_to_delete() {
    let cluster = Cluster::start();
    let made = cluster.post(MAPS, &map("x")).await.expect(201);
    assert!(made["metadata"]["uid"].is_string());
    assert!(made["metadata"]["creationTimestamp"].is_string());
    assert_eq!(made["metadata"]["namespace"], "default");

    let path = format!("{MAPS}/x");
    assert_eq!(cluster.get(&path).await.expect(200), made);

    let list = cluster.get(MAPS).await.expect(200);
    assert_eq!(list["kind"], "ConfigMapList");
    assert_eq!(list["items"][0]["metadata"], made["metadata"]);
    assert!(list["items"][0].get("kind").is_none());

    let mut changed = made.clone();
    changed["data"]["k"] = "w".into();
    let updated = cluster.put(&path, &changed).await.expect(200);
    assert_ne!(
        updated["metadata"]["resourceVersion"],
        made["metadata"]["resourceVersion"]
    );
    let message = cluster.put(&path, &changed).await.refused(409, "Conflict");
    assert_eq!(
        message,
        "Operation cannot be fulfilled on configmaps \"x\": the object has been modified; please \
         apply your changes to the latest version and try again",
    );

    let patched = cluster
        .patch("merge", &path, &json!({"data": {"k": null, "n": "1"}}))
        .await
        .expect(200);
    assert_eq!(patched["data"], json!({"n": "1"}));

    let gone = cluster.delete(&path).await.expect(200);
    assert_eq!(gone["status"], "Success");
    assert_eq!(gone["details"]["name"], "x");
    assert_eq!(gone["details"]["kind"], "configmaps");
    assert_eq!(gone["details"]["uid"], made["metadata"]["uid"]);
    let message = cluster.get(&path).await.refused(404, "NotFound");
    assert_eq!(message, "configmaps \"x\" not found");
}
