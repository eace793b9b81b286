//! OpenAPI as clients ask for it (spec section C.3).

use crate::cluster::Cluster;

#[tokio::test]
async fn the_index_leads_to_documents_that_may_be_kept() {
    let cluster = Cluster::start();
    let index = cluster.get("/openapi/v3").await.expect(200);
    let address = index["paths"]["apis/apps/v1"]["serverRelativeURL"]
        .as_str()
        .unwrap();
    let answer = cluster.get(address).await;
    assert_eq!(answer.header("cache-control"), "public, immutable");
    assert_eq!(answer.header("content-type"), "application/json");
    let tag = answer.header("etag").to_owned();
    let document = answer.expect(200);
    assert_eq!(document["openapi"], "3.0.0");
    let known = cluster
        .send(http::Method::GET, address, &[("if-none-match", &*tag)], "")
        .await;
    assert_eq!(known.code, 304);
}

#[tokio::test]
async fn an_address_with_an_old_hash_leads_to_the_current_one() {
    let cluster = Cluster::start();
    let answer = cluster.get("/openapi/v3/api/v1?hash=OLD").await;
    assert_eq!(answer.code, 301);
    let address = answer.header("location");
    assert!(address.starts_with("/openapi/v3/api/v1?hash="));
    let document = cluster.get(address).await.expect(200);
    assert!(document["components"]["schemas"]["io.k8s.api.core.v1.Pod"].is_object());
}

#[tokio::test]
async fn what_is_not_served_has_no_document() {
    let cluster = Cluster::start();
    assert_eq!(cluster.get("/openapi/v3/apis/apps/v1beta1").await.code, 404);
    let document = "/openapi/v3/apis/apps/v1";
    assert_eq!(cluster.get_as(document, "application/yaml").await.code, 406);
}

#[tokio::test]
async fn documents_are_there_in_protobuf_too() {
    let cluster = Cluster::start();
    let protobuf = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let answer = cluster.get_as("/openapi/v2", protobuf).await;
    assert_eq!(answer.code, 200);
    assert_eq!(
        answer.header("content-type"),
        "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
    );
    let document = cluster.get("/openapi/v2").await.expect(200);
    assert_eq!(document["swagger"], "2.0");
    let protobuf = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf";
    let answer = cluster.get_as("/openapi/v3/apis/apps/v1", protobuf).await;
    assert_eq!(answer.code, 200);
}
