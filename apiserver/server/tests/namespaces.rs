//! Namespaces (spec section C.13).

use serde_json::json;

use crate::cluster::{Cluster, map};

#[tokio::test]
async fn the_first_objects_are_there() {
    let cluster = Cluster::start();
    let list = cluster.get("/api/v1/namespaces").await.expect(200);
    let names: Vec<_> = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["metadata"]["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        ["default", "kube-node-lease", "kube-public", "kube-system"]
    );
    let service = cluster
        .get("/api/v1/namespaces/default/services/kubernetes")
        .await
        .expect(200);
    assert_eq!(service["spec"]["clusterIP"], "10.0.0.1");
}

#[tokio::test]
async fn objects_need_a_namespace_that_exists() {
    let cluster = Cluster::start();
    let path = "/api/v1/namespaces/nowhere/configmaps";
    let status = cluster.post(path, &map("x")).await.expect(404);
    assert_eq!(status["message"], "namespaces \"nowhere\" not found");
    assert_eq!(
        status["details"],
        json!({"name": "nowhere", "kind": "namespaces"})
    );
}

#[tokio::test]
async fn a_namespace_goes_through_its_life() {
    let cluster = Cluster::start();
    let made = cluster
        .post("/api/v1/namespaces", &json!({"metadata": {"name": "demo"}}))
        .await
        .expect(201);
    assert_eq!(made["status"]["phase"], "Active");
    assert_eq!(made["spec"]["finalizers"], json!(["kubernetes"]));
    assert_eq!(
        made["metadata"]["labels"]["kubernetes.io/metadata.name"],
        "demo"
    );
    let maps = "/api/v1/namespaces/demo/configmaps";
    cluster.post(maps, &map("x")).await.expect(201);

    let path = "/api/v1/namespaces/demo";
    let leaving = cluster.delete(path).await.expect(200);
    assert_eq!(leaving["status"]["phase"], "Terminating");
    assert!(leaving["metadata"]["deletionTimestamp"].is_string());
    let status = cluster.post(maps, &map("y")).await.expect(403);
    assert_eq!(
        status["message"],
        "configmaps \"y\" is forbidden: unable to create new content in namespace demo because it \
         is being terminated",
    );
    assert_eq!(
        status["details"]["causes"],
        json!([{
            "reason": "NamespaceTerminating",
            "message": "namespace demo is being terminated",
            "field": "metadata.namespace",
        }])
    );
    cluster
        .patch("merge", &format!("{maps}/x"), &json!({"data": {"a": "1"}}))
        .await
        .expect(200);
    cluster.delete(&format!("{maps}/x")).await.expect(200);

    let mut finalized = leaving.clone();
    finalized["spec"]["finalizers"] = json!([]);
    cluster
        .put(&format!("{path}/finalize"), &finalized)
        .await
        .expect(200);
    let _ = cluster.get(path).await.refused(404, "NotFound");
}

#[tokio::test]
async fn the_first_namespaces_stay() {
    let cluster = Cluster::start();
    for name in ["default", "kube-system", "kube-public"] {
        let message = cluster
            .delete(&format!("/api/v1/namespaces/{name}"))
            .await
            .refused(403, "Forbidden");
        assert_eq!(
            message,
            format!("namespaces \"{name}\" is forbidden: this namespace may not be deleted"),
        );
    }
}
