//! API aggregation: APIServices that name a Service, and who answers the requests of their groups.

mod availability;
mod configuration;
mod discovery;
mod extension;
mod forwarding;
mod namespaces;

use kubewright_apiserver::ApiServer;
use serde_json::Value;
use tokio::time::{Duration, timeout};

use crate::cluster::Cluster;
use extension::{Extension, NAME};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const API_SERVICES: &str = "/apis/apiregistration.k8s.io/v1/apiservices";

/// A cluster with an aggregated API server that is available.
async fn with_extension() -> (Cluster, Extension) {
    let cluster = Cluster::of(ApiServer::start());
    let extension = Extension::start(&cluster).await;
    register(&cluster, &extension).await;
    (cluster, extension)
}

async fn register(cluster: &Cluster, extension: &Extension) {
    let [service, registration] = extension.objects();
    cluster.post(SERVICES, &service).await.expect(201);
    cluster.post(API_SERVICES, &registration).await.expect(201);
    becomes(cluster, NAME, "Passed").await;
}

/// Waits until the condition of an APIService has a reason, and returns the condition.
async fn becomes(cluster: &Cluster, name: &str, reason: &str) -> Value {
    let path = format!("{API_SERVICES}?watch=true&fieldSelector=metadata.name={name}");
    let mut watch = cluster.watch(&path).await;
    let found = async {
        loop {
            let event = watch.next().await.expect("an event");
            let condition = event["object"]["status"]["conditions"][0].clone();
            if condition["reason"] == reason {
                return condition;
            }
        }
    };
    let found = timeout(Duration::from_secs(30), found).await;
    found.unwrap_or_else(|_| panic!("the reason of {name} does not become {reason}"))
}
