//! Discovery and OpenAPI of groups that aggregated API servers serve.

use serde_json::{Value, json};

use super::extension::{Extension, GROUP, Manner, NAME, ROOT};
use super::{API_SERVICES, SERVICES, becomes, register, with_extension};
use crate::cluster::Cluster;

const V2: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// The aggregated document's entry of the group.
async fn described(cluster: &Cluster) -> Value {
    let list = cluster.get_as("/apis", V2).await.expect(200);
    let mut items = list["items"].as_array().unwrap().iter();
    let found = items.find(|item| item["metadata"]["name"] == GROUP);
    found.cloned().unwrap_or_default()
}

async fn groups(cluster: &Cluster) -> Vec<String> {
    let list = cluster.get("/apis").await.expect(200);
    let groups = list["groups"].as_array().unwrap().iter();
    groups
        .map(|group| group["name"].as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test]
async fn a_group_is_listed_by_its_priority() {
    let (cluster, extension) = with_extension().await;
    let last = groups(&cluster).await.pop();
    assert_eq!(
        last.as_deref(),
        Some(GROUP),
        "every built-in group has a higher priority"
    );
    let mut first = extension.registration("zoo");
    first["metadata"]["name"] = "v1.first.example.com".into();
    first["spec"]["group"] = "first.example.com".into();
    first["spec"]["groupPriorityMinimum"] = 20_000.into();
    cluster.post(API_SERVICES, &first).await.expect(201);
    assert_eq!(
        groups(&cluster).await[..2],
        ["apiregistration.k8s.io", "first.example.com"]
    );

    let mut newer = extension.registration("zoo");
    newer["metadata"]["name"] = "v2.zoo.example.com".into();
    newer["spec"]["version"] = "v2".into();
    cluster.post(API_SERVICES, &newer).await.expect(201);
    let group = cluster.get("/apis/zoo.example.com").await.expect(200);
    assert_eq!(
        group["preferredVersion"]["version"], "v2",
        "the stabler version of equal priorities"
    );
    let preferred = json!({"spec": {"versionPriority": 20}});
    let path = format!("{API_SERVICES}/{NAME}");
    cluster.patch("merge", &path, &preferred).await.expect(200);
    let group = cluster.get("/apis/zoo.example.com").await.expect(200);
    let version = |name: &str| json!({"groupVersion": format!("{GROUP}/{name}"), "version": name});
    assert_eq!(group["preferredVersion"], version("v1"));
    assert_eq!(group["versions"], json!([version("v1"), version("v2")]));
}

#[tokio::test]
async fn aggregated_discovery_has_the_resources_of_a_server_with_plain_discovery() {
    let (cluster, extension) = with_extension().await;
    let versions = described(&cluster).await["versions"].take();
    let kind = json!({"group": "", "version": "", "kind": "Cat"});
    let cats = json!({
        "resource": "cats", "singularResource": "cat", "scope": "Namespaced", "responseKind": kind,
        "verbs": ["create", "delete", "get", "list", "watch"],
    });
    assert_eq!(
        versions,
        json!([{"version": "v1", "freshness": "Current", "resources": [cats]}])
    );
    let plain = cluster.get(ROOT).await.expect(200);
    assert_eq!(plain["resources"][0]["kind"], "Cat");
    assert_eq!(extension.seen()[0].uri, ROOT);
}

#[tokio::test]
async fn aggregated_discovery_has_the_resources_of_a_server_with_aggregated_discovery() {
    let cluster = Cluster::start();
    let extension = Extension::start_as(&cluster, Manner::Aggregated, None).await;
    register(&cluster, &extension).await;
    let versions = described(&cluster).await["versions"].take();
    assert_eq!(versions[0]["resources"][0]["resource"], "dogs");
    assert_eq!(versions[0]["freshness"], "Current");
}

#[tokio::test]
async fn a_server_that_is_gone_leaves_its_resources_as_stale_until_it_is_removed() {
    let (cluster, extension) = with_extension().await;
    drop(extension);
    cluster.delete(&format!("{SERVICES}/zoo")).await.expect(200);
    becomes(&cluster, NAME, "ServiceNotFound").await;
    let versions = described(&cluster).await["versions"].take();
    assert_eq!(versions[0]["freshness"], "Stale");
    assert_eq!(versions[0]["resources"][0]["resource"], "cats");
    assert!(groups(&cluster).await.contains(&GROUP.to_owned()));

    cluster
        .delete(&format!("{API_SERVICES}/{NAME}"))
        .await
        .expect(200);
    assert!(described(&cluster).await.is_null());
    assert!(!groups(&cluster).await.contains(&GROUP.to_owned()));
    assert_eq!(cluster.get(ROOT).await.code, 404);
}

#[tokio::test]
async fn a_server_that_never_answered_has_a_version_without_resources() {
    let cluster = Cluster::start();
    let extension = Extension::start(&cluster).await;
    let registration = extension.registration("zoo");
    cluster.post(API_SERVICES, &registration).await.expect(201);
    becomes(&cluster, NAME, "ServiceNotFound").await;
    let versions = described(&cluster).await["versions"].take();
    assert_eq!(versions, json!([{"version": "v1", "freshness": "Stale"}]));
}

#[tokio::test]
async fn the_index_of_openapi_has_the_documents_of_registered_versions_alone() {
    let (cluster, extension) = with_extension().await;
    let index = cluster.get("/openapi/v3").await.expect(200);
    let place = "/openapi/v3/apis/zoo.example.com/v1?hash=1";
    let entry = &index["paths"]["apis/zoo.example.com/v1"];
    assert_eq!(entry["serverRelativeURL"], place);
    assert!(index["paths"].get("apis/other.example.com/v1").is_none());
    let document = cluster.get(place).await.expect(200);
    assert_eq!(document["openapi"], "3.0.0");
    assert_eq!(extension.seen()[0].uri, place);
}
