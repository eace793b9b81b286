//! The annotation with the time of the change that an endpoint object follows.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use parking_lot::Mutex;

use super::super::object::Item;

/// The changes that a controller has seen, by the path of the Service.
#[derive(Debug, Default)]
pub(super) struct TriggerTimes(Mutex<HashMap<String, Seen>>);

#[derive(Debug)]
struct Seen {
    service: String,
    pods: BTreeMap<String, String>,
}

/// The annotation of Endpoints and EndpointSlices.
pub(super) const ANNOTATION: &str = "endpoints.kubernetes.io/last-change-trigger-time";

impl TriggerTimes {
    /// The earliest of the changes since the last call: when a pod became ready or unready, or when the Service was created.
    pub(super) fn next(&self, service: &Item, pods: &[Arc<Item>]) -> Option<String> {
        let mut seen = self.0.lock();
        let created = &service.meta.creation_timestamp;
        let times: BTreeMap<String, String> = pods
            .iter()
            .filter(|pod| !pod.pod.ready_changed.is_empty())
            .map(|pod| (pod.name().to_owned(), pod.pod.ready_changed.clone()))
            .collect();
        let path = service.object.path.clone();
        let before = seen.insert(
            path,
            Seen {
                service: created.clone(),
                pods: times.clone(),
            },
        );
        let Some(before) = before else {
            return Some(created.clone());
        };
        // Times of one format compare as strings do.
        let changed = times
            .into_iter()
            .filter(|(pod, time)| before.pods.get(pod).is_none_or(|known| time > known))
            .map(|(_, time)| time);
        let created = Some(created.clone()).filter(|created| *created > before.service);
        changed.chain(created).min()
    }

    /// Forgets a Service that is gone.
    pub(super) fn forget(&self, path: &str) {
        self.0.lock().remove(path);
    }
}
