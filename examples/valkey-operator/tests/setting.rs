//! A cluster with the operator, and what is in it.

use std::ffi::OsStr;
use std::fmt::Debug;
use std::time::Duration;

use clap::{Args, Command, FromArgMatches};
use k8s_openapi::api::core::v1::{Pod, Secret};
use k8s_openapi::api::events::v1::Event;
use kube::api::{Api, ListParams};
use kube::core::NamespaceResourceScope;
use kubewright::testing::{Controllers, Server, TestCluster, Workloads, eventually};
use kubewright::{App, Needs};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use valkey_operator::Options;
use valkey_operator::api::v1::{Valkey, ValkeyStatus};

/// Parses the options from these arguments.
pub(crate) fn options(arguments: &[&str]) -> Options {
    let command = Options::augment_args(Command::new("valkey-operator").no_binary_name(true));
    let arguments = arguments.iter().map(OsStr::new);
    Options::from_arg_matches(&command.get_matches_from(arguments)).unwrap()
}

/// The whole program, as it runs in a cluster.
pub(crate) fn program(needs: &mut Needs) -> App {
    valkey_operator::app(options(&[]), needs)
}

/// What it does, for which time may pass.
pub(crate) fn operator(needs: &mut Needs) -> App {
    valkey_operator::operator(options(&[]), needs)
}

/// A cluster that runs pods, with the operator.
pub(crate) struct Setting {
    pub(crate) cluster: TestCluster,
}

impl Setting {
    pub(crate) async fn start() -> Self {
        Self::of(operator, Workloads::default()).await
    }

    pub(crate) async fn with(workloads: Workloads) -> Self {
        Self::of(operator, workloads).await
    }

    pub(crate) async fn of(app: fn(&mut Needs) -> App, workloads: Workloads) -> Self {
        let cluster = TestCluster::builder()
            .on(Server::Embedded)
            .controllers(Controllers::all().workloads(workloads))
            .app(app);
        Self {
            cluster: cluster.start().await,
        }
    }

    pub(crate) async fn create(&self, name: &str, spec: Value) -> Valkey {
        self.cluster
            .create(&valkey(name, spec))
            .await
            .expect_allowed()
    }

    pub(crate) async fn change(&self, name: &str, patch: Value) {
        let changed = self.cluster.merge::<Valkey>(name, &patch).await;
        changed.expect_allowed();
    }

    pub(crate) async fn get(&self, name: &str) -> Option<Valkey> {
        self.cluster.get(name).await
    }

    /// The status, once it is as it should be.
    pub(crate) async fn status(
        &self,
        name: &str,
        what: &str,
        is_it: impl Fn(&ValkeyStatus) -> bool,
    ) -> ValkeyStatus {
        eventually(&format!("{name}: {what}"), async || {
            let status = self.get(name).await?.status?;
            is_it(&status).then_some(status)
        })
        .await
    }

    /// Waits until every instance is there, ready and in the wanted state.
    pub(crate) async fn at_rest(&self, name: &str) -> ValkeyStatus {
        let is_at_rest = |status: &ValkeyStatus| {
            reason(status, "Ready") == Some("InstancesReady")
                && reason(status, "Progressing") == Some("Complete")
        };
        self.status(name, "all instances", is_at_rest).await
    }

    pub(crate) async fn list<K>(&self, selector: &str) -> Vec<K>
    where
        K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + Debug
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.cluster.client(), self.cluster.namespace());
        let list = api.list(&ListParams::default().labels(selector)).await;
        list.unwrap().items
    }

    /// The instances of a Valkey, the primary first.
    pub(crate) async fn pods(&self, name: &str) -> Vec<Pod> {
        let selector =
            format!("valkey.example.com/name={name},app.kubernetes.io/component=instance");
        let mut pods: Vec<Pod> = self.list(&selector).await;
        pods.sort_by_key(|pod| pod.metadata.name.clone());
        pods
    }

    pub(crate) async fn secret(&self, name: &str) -> Secret {
        self.cluster.get(&format!("{name}-password")).await.unwrap()
    }

    /// The notes of the Events with a reason.
    pub(crate) async fn told(&self, reason: &str) -> Vec<String> {
        let events: Vec<Event> = self.list("").await;
        let told = events
            .into_iter()
            .filter(|event| event.reason.as_deref() == Some(reason));
        told.filter_map(|event| event.note).collect()
    }
}

/// Lets time pass for the programs and the cluster, and then go on as ever.
pub(crate) async fn pass(time: Duration) {
    tokio::time::pause();
    tokio::time::advance(time).await;
    tokio::time::resume();
}

/// Asks until there is an answer, and lets time pass each time it asks.
pub(crate) async fn passing<T>(what: &str, time: Duration, ask: impl AsyncFn() -> Option<T>) -> T {
    for _ in 0..500 {
        if let Some(answer) = ask().await {
            return answer;
        }
        pass(time).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("waited in vain for {what}");
}

pub(crate) fn valkey(name: &str, spec: Value) -> Valkey {
    let mut valkey = json!({
        "apiVersion": "valkey.example.com/v1", "kind": "Valkey", "metadata": {"name": name},
    });
    valkey["spec"] = spec;
    serde_json::from_value(valkey).unwrap()
}

pub(crate) fn reason<'a>(status: &'a ValkeyStatus, condition: &str) -> Option<&'a str> {
    let mut conditions = status.conditions.iter();
    let found = conditions.find(|found| found.type_ == condition)?;
    Some(&found.reason)
}

pub(crate) fn image(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref().unwrap();
    spec.containers[0].image.as_deref().unwrap_or_default()
}
