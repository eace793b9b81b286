//! What the controllers beside the server do. Time is paused: it goes on when nothing is left to do.

mod autoscalers;
mod budgets;
mod certificates;
mod cluster_roles;
mod collection;
#[cfg(target_os = "linux")]
mod containers;
mod cron_jobs;
mod daemon_sets;
mod deployments;
mod endpoints;
mod jobs;
mod namespaces;
mod pods;
mod quotas;
mod replication_controllers;
mod running;
mod scheduling;
mod stateful_sets;
mod type_checking;
mod volumes;

use std::time::Duration;

use kubewright_apiserver::{ApiServer, Controllers};
use serde_json::{Value, json};

use crate::cluster::Cluster;

/// A server with these controllers, which may do no more than those of a cluster.
pub(crate) fn with(controllers: Controllers) -> Cluster {
    let server = ApiServer::builder().controllers(controllers).rbac();
    Cluster::of(server.start())
}

pub(crate) fn all() -> Cluster {
    with(Controllers::all())
}

/// Waits until nothing is left to do: a paused clock goes on only then.
pub(crate) async fn settled() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

impl Cluster {
    /// Creates an object and waits until nothing is left to do.
    pub(crate) async fn made(&self, path: &str, object: &Value) -> Value {
        let made = self.post(path, object).await.expect(201);
        settled().await;
        made
    }

    pub(crate) async fn read(&self, path: &str) -> Value {
        self.get(path).await.expect(200)
    }

    pub(crate) async fn names(&self, path: &str) -> Vec<String> {
        let list = self.read(path).await;
        let items = list["items"].as_array().unwrap().iter();
        items
            .map(|item| item["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    }
}

pub(crate) const PODS: &str = "/api/v1/namespaces/default/pods";
pub(crate) const MAPS: &str = "/api/v1/namespaces/default/configmaps";
pub(crate) const SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";
pub(crate) const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";

pub(crate) fn template(app: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": app}},
        "spec": {"containers": [{"name": "main", "image": "nginx:1"}]},
    })
}

pub(crate) fn deployment(name: &str, replicas: u32) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": template(name),
        },
    })
}

/// The condition of a type.
pub(crate) fn condition<'a>(object: &'a Value, what: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.and_then(|all| all.iter().find(|one| one["type"] == what));
    found.unwrap_or(&Value::Null)
}
