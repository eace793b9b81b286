//! Discovery (spec section C.2).

use http::Method;
use serde_json::{Value, json};

use crate::cluster::Cluster;

const V2: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

fn find<'a>(list: &'a Value, key: &str, name: &str) -> &'a Value {
    let items = list.as_array().unwrap().iter();
    items
        .into_iter()
        .find(|item| item[key] == name)
        .unwrap_or_else(|| panic!("no {name}"))
}

#[tokio::test]
async fn groups_versions_and_resources_are_listed() {
    let cluster = Cluster::start();
    let api = cluster.get("/api").await.expect(200);
    assert_eq!(
        (&api["kind"], &api["versions"]),
        (&json!("APIVersions"), &json!(["v1"]))
    );
    let groups = cluster.get("/apis").await.expect(200);
    assert_eq!(groups["kind"], "APIGroupList");
    let scaling = find(&groups["groups"], "name", "autoscaling");
    assert_eq!(
        scaling["preferredVersion"],
        json!({"groupVersion": "autoscaling/v2", "version": "v2"})
    );
    let group = cluster.get("/apis/apps").await.expect(200);
    assert_eq!(
        (&group["kind"], &group["name"]),
        (&json!("APIGroup"), &json!("apps"))
    );

    let core = cluster.get("/api/v1").await.expect(200);
    assert_eq!(core["groupVersion"], "v1");
    let pods = find(&core["resources"], "name", "pods");
    assert_eq!(pods["shortNames"], json!(["po"]));
    assert_eq!(pods["categories"], json!(["all"]));
    // The first 8 bytes of SHA-256("/v1/Pod"), a constant of every Kubernetes cluster.
    assert_eq!(pods["storageVersionHash"], "xPOwRZ+Yhw8=");
    assert_eq!(
        pods["verbs"],
        json!([
            "create",
            "delete",
            "deletecollection",
            "get",
            "list",
            "patch",
            "update",
            "watch"
        ])
    );
    let eviction = find(&core["resources"], "name", "pods/eviction");
    assert_eq!(
        (&eviction["group"], &eviction["version"]),
        (&json!("policy"), &json!("v1"))
    );
    let apps = cluster.get("/apis/apps/v1").await.expect(200);
    let scale = find(&apps["resources"], "name", "deployments/scale");
    assert_eq!(
        (&scale["kind"], &scale["group"]),
        (&json!("Scale"), &json!("autoscaling"))
    );
}

#[tokio::test]
async fn aggregated_discovery_says_it_all_at_once() {
    let cluster = Cluster::start();
    let answer = cluster.get_as("/apis", V2).await;
    assert_eq!(
        answer.header("content-type"),
        "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList",
    );
    assert_eq!(answer.header("vary"), "Accept");
    let tag = answer.header("etag").to_owned();
    assert_eq!(tag.len(), 130);
    let list = answer.expect(200);
    assert_eq!(
        (&list["kind"], &list["apiVersion"]),
        (
            &json!("APIGroupDiscoveryList"),
            &json!("apidiscovery.k8s.io/v2")
        )
    );
    let apps = list["items"]
        .as_array()
        .unwrap()
        .iter()
        .find(|item| item["metadata"]["name"] == "apps")
        .unwrap();
    let deployments = find(&apps["versions"][0]["resources"], "resource", "deployments");
    assert_eq!(
        deployments["responseKind"],
        json!({"group": "", "version": "", "kind": "Deployment"})
    );
    assert_eq!(deployments["scope"], "Namespaced");
    let scale = find(&deployments["subresources"], "subresource", "scale");
    assert_eq!(
        scale["responseKind"],
        json!({"group": "autoscaling", "version": "v1", "kind": "Scale"})
    );

    let headers = [("accept", V2), ("if-none-match", tag.as_str())];
    let again = cluster.send(Method::GET, "/apis", &headers, "").await;
    assert_eq!(again.code, 304);
    assert!(again.text.is_empty());

    let older = V2.replace("v=v2", "v=v2beta1");
    let list = cluster.get_as("/api", &older).await.expect(200);
    assert_eq!(list["kind"], "APIVersions", "v1.36 has no v2beta1 any more");
}

#[tokio::test]
async fn every_listed_resource_can_be_listed() {
    let cluster = Cluster::start();
    let groups = cluster.get_as("/apis", V2).await.expect(200);
    let core = cluster.get_as("/api", V2).await.expect(200);
    let items = [
        groups["items"].as_array().unwrap().clone(),
        core["items"].as_array().unwrap().clone(),
    ]
    .concat();
    let mut listed = 0;
    for group in &items {
        for version in group["versions"].as_array().unwrap() {
            for resource in version["resources"].as_array().unwrap() {
                if !resource["verbs"]
                    .as_array()
                    .unwrap()
                    .contains(&json!("list"))
                {
                    continue;
                }
                let (name, version) = (
                    group["metadata"]["name"].as_str(),
                    version["version"].as_str().unwrap(),
                );
                let root = name.map_or(format!("/api/{version}"), |name| {
                    format!("/apis/{name}/{version}")
                });
                let path = format!("{root}/{}", resource["resource"].as_str().unwrap());
                let list = cluster.get(&path).await.expect(200);
                let kind = resource["responseKind"]["kind"].as_str().unwrap();
                assert_eq!(list["kind"], format!("{kind}List"), "{path}");
                listed += 1;
            }
        }
    }
    assert!(listed > 60, "{listed}");
}

#[tokio::test]
async fn the_root_lists_every_path() {
    let cluster = Cluster::start();
    let root = cluster.get("/").await.expect(200);
    let paths = root["paths"].as_array().unwrap();
    for path in [
        "/api/v1",
        "/apis/apps/v1",
        "/healthz",
        "/openapi/v3",
        "/version",
    ] {
        assert!(paths.contains(&json!(path)), "{path}");
        assert_ne!(cluster.get(path).await.code, 404, "{path}");
    }
    let _ = cluster
        .post("/version", &json!({}))
        .await
        .refused(405, "MethodNotAllowed");
    assert_eq!(cluster.get("/metrics").await.code, 200);
}
