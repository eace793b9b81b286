//! What aggregated API servers have in a namespace that is deleted.

use kubewright_apiserver::{ApiServer, Controllers};
use serde_json::{Value, json};

use super::extension::{Extension, NAME};
use super::{API_SERVICES, SERVICES, becomes};
use crate::cluster::{Cluster, Watch};

const DEMO: &str = "/api/v1/namespaces/demo";

fn cluster() -> Cluster {
    let controllers = Controllers::none().namespaces();
    Cluster::of(ApiServer::builder().controllers(controllers).start())
}

async fn delete_demo(cluster: &Cluster) -> Watch {
    let demo = json!({"metadata": {"name": "demo"}});
    cluster.post("/api/v1/namespaces", &demo).await.expect(201);
    let path = "/api/v1/namespaces?watch=true&fieldSelector=metadata.name=demo";
    let watch = cluster.watch(path).await;
    cluster.delete(DEMO).await.expect(200);
    watch
}

/// The next event whose namespace has conditions, or is gone.
async fn condition(watch: &mut Watch, name: &str) -> Value {
    loop {
        let event = watch.next().await.expect("an event");
        assert_ne!(event["type"], "DELETED");
        let conditions = event["object"]["status"]["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        if let Some(found) = conditions.find(|condition| condition["type"] == name) {
            return found.clone();
        }
    }
}

#[tokio::test]
async fn a_namespace_waits_until_all_groups_are_discovered() {
    let cluster = cluster();
    let extension = Extension::start(&cluster).await;
    let [service, registration] = extension.objects();
    cluster.post(API_SERVICES, &registration).await.expect(201);
    becomes(&cluster, NAME, "ServiceNotFound").await;
    let mut watch = delete_demo(&cluster).await;
    let failure = condition(&mut watch, "NamespaceDeletionDiscoveryFailure").await;
    assert_eq!(failure["status"], "True");
    assert_eq!(failure["reason"], "DiscoveryFailed");
    assert_eq!(
        failure["message"],
        "Discovery failed for some groups, 1 failing: unable to retrieve the complete list of server APIs: \
         zoo.example.com/v1: stale GroupVersion discovery: zoo.example.com/v1"
    );

    cluster.post(SERVICES, &service).await.expect(201);
    while watch.next().await.expect("an event")["type"] != "DELETED" {}
}

#[tokio::test]
async fn objects_of_aggregated_api_servers_are_deleted_with_their_namespace() {
    let cluster = cluster();
    let extension = Extension::start(&cluster).await;
    super::register(&cluster, &extension).await;
    let mut watch = delete_demo(&cluster).await;
    while watch.next().await.expect("an event")["type"] != "DELETED" {}
    let deleted = extension
        .seen()
        .into_iter()
        .filter(|seen| seen.method == "DELETE");
    let deleted: Vec<String> = deleted.map(|seen| seen.uri).collect();
    assert_eq!(
        deleted,
        ["/apis/zoo.example.com/v1/namespaces/demo/cats/tom"]
    );
}
