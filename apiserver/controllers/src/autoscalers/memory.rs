//! What the controller remembers of autoscalers between synchronizations.

use std::collections::BTreeMap;

use kubewright_apimachinery::selectors::Labels;
use parking_lot::Mutex;
use serde_json::Value;

use super::limits::History;

/// The autoscalers that exist, by their paths.
#[derive(Debug, Default)]
pub(super) struct Memory(Mutex<BTreeMap<String, Known>>);

/// What is remembered of one autoscaler.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) history: History,
    /// The selector of the target, once it was read.
    pub(super) selector: Option<Labels>,
}

impl Memory {
    pub(super) fn add(&self, path: &str) {
        self.0.lock().entry(path.to_owned()).or_default();
    }

    pub(super) fn remove(&self, path: &str) {
        self.0.lock().remove(path);
    }

    /// Changes what is remembered of an autoscaler; nothing of one that is gone.
    pub(super) fn change<T>(&self, path: &str, change: impl FnOnce(&mut Known) -> T) -> Option<T> {
        self.0.lock().get_mut(path).map(change)
    }

    /// The names of the autoscalers of a namespace whose targets have some of these pods.
    pub(super) fn selecting(&self, namespace: &str, pods: &[Value]) -> Vec<String> {
        let known = self.0.lock();
        let prefix = format!("{namespace}/");
        let all = known.range(prefix.clone()..).map_while(|(path, known)| {
            let name = path.strip_prefix(&prefix)?;
            Some((name, known.selector.as_ref()))
        });
        all.filter(|(_, selector)| {
            selector.is_some_and(|selector| pods.iter().any(|pod| selector.matches_object(pod)))
        })
        .map(|(name, _)| name.to_owned())
        .collect()
    }
}
