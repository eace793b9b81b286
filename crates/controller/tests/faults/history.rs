//! All that has become of the objects of a kind, as the store has it.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, ResourceExt};
use kubewright_controller::Object;
use kubewright_testing::{TestCluster, eventually};
use tokio::task::JoinHandle;

/// What was written, in the order in which it was stored. It ends with this.
pub(crate) struct History<K> {
    states: Arc<Mutex<Vec<K>>>,
    task: JoinHandle<()>,
}

impl<K: Object> History<K> {
    /// Watches all objects of the cluster's namespace.
    pub(crate) fn of(cluster: &TestCluster) -> Self
    where
        K: kube::Resource<Scope = kube::core::NamespaceResourceScope>,
    {
        let states: Arc<Mutex<Vec<K>>> = Arc::default();
        let kept = Arc::clone(&states);
        let api: Api<K> = Api::namespaced(cluster.client(), cluster.namespace());
        let task = tokio::spawn(async move {
            let mut events = Box::pin(watcher(api, watcher::Config::default()));
            while let Some(event) = events.next().await {
                if let Event::Apply(state) | Event::InitApply(state) = event.unwrap() {
                    kept.lock().unwrap().push(state);
                }
            }
        });
        Self { states, task }
    }

    pub(crate) fn states(&self) -> Vec<K> {
        self.states.lock().unwrap().clone()
    }

    /// Waits until a state is part of it.
    pub(crate) async fn reaches(&self, state: &K) {
        let version = state.resource_version();
        eventually("the state in the history", async || {
            let states = self.states.lock().unwrap();
            let is_it = |known: &K| known.resource_version() == version;
            states.iter().any(is_it).then_some(())
        })
        .await;
    }
}

impl<K> Drop for History<K> {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The place of a state in the one order of all that is stored.
pub(crate) fn version(object: &impl ResourceExt) -> u64 {
    object.resource_version().unwrap().parse().unwrap()
}
