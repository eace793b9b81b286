//! The objects of a resource that a plugin reads at nearly every request, kept parsed until one of them changes.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::Value;

use crate::cluster::Cluster;

/// The objects of one resource by namespace, as of the last change of any of them.
#[derive(Debug)]
pub(super) struct Remembered {
    group: &'static str,
    plural: &'static str,
    known: Mutex<(u64, HashMap<String, Listed>)>,
}

/// The objects of a namespace, ordered by name.
type Listed = Arc<Vec<Arc<Value>>>;

impl Remembered {
    pub(super) fn new(group: &'static str, plural: &'static str) -> Self {
        Self {
            group,
            plural,
            known: Mutex::default(),
        }
    }

    /// The objects of a namespace.
    pub(super) fn of(&self, cluster: &dyn Cluster, namespace: &str) -> Listed {
        let number = cluster.change_number(self.group, self.plural);
        // Nothing was ever written: nothing is there.
        if number == 0 {
            return Listed::default();
        }
        let mut known = self.known.lock();
        if known.0 != number {
            *known = (number, HashMap::new());
        }
        if let Some(listed) = known.1.get(namespace) {
            return listed.clone();
        }
        let listed = Arc::new(cluster.list(self.group, self.plural, namespace));
        known.1.insert(namespace.to_owned(), listed.clone());
        listed
    }
}
