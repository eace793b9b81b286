//! A program that copies ConfigMaps into Secrets, and what must be true of it whatever goes wrong.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;
use kubewright_controller::{
    Action, Cached, Context, Controller, Error, Reconcile, Scope, Writer, owned,
};
use kubewright_manager::{App, Needs};
use kubewright_testing::{Faults, TestCluster, eventually, yaml};
use serde_json::json;

use super::history::History;

/// Keeps a Secret of the same name and value for every ConfigMap with the label `copied`.
struct Copier {
    secrets: Cached<Secret>,
    writer: Writer<Secret>,
}

impl Reconcile<ConfigMap> for Copier {
    async fn reconcile(&self, map: Arc<ConfigMap>, context: Context) -> Result<Action, Error> {
        let (name, namespace) = (map.name_any(), map.namespace().unwrap_or_default());
        let known = self.secrets.get((&*namespace, &*name)).await?;
        match known {
            Some(secret) if value(&secret) == value(&*map) => {}
            Some(mut secret) => {
                secret.labels_mut().insert("value".to_owned(), value(&*map));
                self.writer.replace(&secret).await?;
            }
            None => {
                let mut secret = Secret::default();
                secret.metadata.name = Some(name);
                secret.metadata.namespace = Some(namespace);
                secret.metadata.owner_references = Some(vec![context.owner_reference()]);
                secret.labels_mut().insert("value".to_owned(), value(&*map));
                self.writer.create(&secret).await?;
            }
        }
        Ok(Action::await_change())
    }
}

pub(crate) fn value(object: &impl ResourceExt) -> String {
    object.labels().get("value").cloned().unwrap_or_default()
}

pub(crate) fn copier(needs: &mut Needs) -> App {
    let copier = Copier {
        secrets: needs.cached(),
        writer: needs.writer(),
    };
    let controller = Controller::new("copies", copier)
        .within(Scope::all().labelled("copied"))
        .watch(owned::<Secret>())
        .concurrency(4);
    App::new("copier").controller(controller)
}

/// A cluster with the program, and the Secrets that the program is expected to write.
pub(crate) struct World {
    pub(crate) cluster: TestCluster,
    wanted: BTreeMap<String, String>,
    secrets: History<Secret>,
}

impl World {
    pub(crate) async fn start(faults: &Faults) -> Self {
        let cluster = TestCluster::builder().faults(faults).app(copier);
        let cluster = cluster.start().await;
        Self {
            secrets: History::of(&cluster),
            cluster,
            wanted: BTreeMap::new(),
        }
    }

    /// Creates or labels a ConfigMap for each of these names, so that its Secret is expected to have the value.
    pub(crate) async fn want(&mut self, names: impl IntoIterator<Item = u32>, value: &str) {
        for name in names {
            let name = format!("map-{name}");
            if self.wanted.insert(name.clone(), value.to_owned()).is_some() {
                let change = json!({"metadata": {"labels": {"value": value}}});
                let changed = self.cluster.merge::<ConfigMap>(&name, &change).await;
                changed.expect_allowed();
            } else {
                let map: ConfigMap = yaml(&format!(
                    "metadata: {{name: {name}, labels: {{copied: 'yes', value: {value}}}}}"
                ));
                self.cluster.create(&map).await.expect_allowed();
            }
        }
    }

    /// Waits until every Secret has its expected value.
    pub(crate) async fn is_good(&self) {
        for (name, wanted) in &self.wanted {
            eventually(&format!("{name} with {wanted}"), async || {
                let secret = self.cluster.get::<Secret>(name).await?;
                (value(&secret) == *wanted).then_some(())
            })
            .await;
        }
    }

    /// Checks that every Secret has its expected value, and that no write repeated the value that was stored.
    pub(crate) async fn is_good_and_nothing_was_written_twice(&self) {
        self.is_good().await;
        for name in self.wanted.keys() {
            let last = self.cluster.get::<Secret>(name).await.unwrap();
            self.secrets.reaches(&last).await;
        }
        let mut last: BTreeMap<String, String> = BTreeMap::new();
        for secret in self.secrets.states() {
            let known = last.insert(secret.name_any(), value(&secret));
            assert_ne!(known, Some(value(&secret)), "{} again", secret.name_any());
        }
    }
}
