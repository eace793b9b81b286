//! A reader of the watch log: sleeps until there is something, and never skips or repeats a change.

use std::sync::Arc;

use tokio::sync::watch;

use crate::event::Event;
use crate::store::{OutOfRange, Store};
use crate::table::Table;

/// Follows the changes of one resource.
#[derive(Debug)]
pub struct Watcher {
    store: Arc<Store>,
    resource: String,
    /// Empty for all of them.
    namespace: String,
    seen: u64,
    changed: watch::Receiver<u64>,
}

impl Store {
    /// Follows the changes of a resource after a revision.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use std::sync::Arc;
    ///
    /// use kubewright_storage::{Change, Draft, Limits, Store};
    /// use serde_json::json;
    ///
    /// let store = Arc::new(Store::new(Limits::default()));
    /// let mut watcher = store.watch("configmaps", store.revision());
    /// let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
    /// store.create("configmaps", "default/web", Draft::new(&object))?;
    /// assert_eq!(watcher.next().await?[0].change, Change::Added);
    /// # Ok(())
    /// # }
    /// ```
    pub fn watch(self: &Arc<Self>, resource: &str, after: u64) -> Watcher {
        self.watch_in(resource, "", after)
    }

    /// Follows the changes of a resource in a namespace after a revision; in all of them if it is empty.
    ///
    /// Changes in other namespaces do not wake the reader, and it need not begin again because they are forgotten.
    pub fn watch_in(self: &Arc<Self>, resource: &str, namespace: &str, after: u64) -> Watcher {
        let changed = {
            let mut state = self.write(resource);
            let table = state.tables.entry(resource.to_owned());
            table.or_insert_with(Table::new).subscribe(namespace)
        };
        Watcher {
            store: self.clone(),
            resource: resource.to_owned(),
            namespace: namespace.to_owned(),
            seen: after,
            changed,
        }
    }
}

impl Watcher {
    /// Waits for the next changes, oldest first.
    ///
    /// # Errors
    /// The log no longer holds what this reader has not seen yet.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Result<Vec<Arc<Event>>, OutOfRange> {
        loop {
            self.changed.mark_unchanged();
            let events = self.read()?;
            if !events.is_empty() {
                return Ok(events);
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Goes on after a revision, for readers that have read the state anew.
    pub fn anew(self, after: u64) -> Self {
        Self {
            seen: after,
            ..self
        }
    }

    /// Returns the last revision that this reader has seen.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Returns the revision up to which this reader has seen everything, for a bookmark. `None` while changes are waiting, and
    /// while the store has not reached the revision that the reader began at.
    pub fn progress(&mut self) -> Option<u64> {
        let state = self.store.state();
        let waiting = state
            .tables
            .get(&self.resource)
            .is_some_and(|table| !table.events_in(&self.namespace, self.seen, 1).0.is_empty());
        if waiting || self.seen > state.revision {
            return None;
        }
        self.seen = state.revision;
        Some(self.seen)
    }

    fn read(&mut self) -> Result<Vec<Arc<Event>>, OutOfRange> {
        const BATCH: usize = 256;
        let state = self.store.state();
        let Some(table) = state.tables.get(&self.resource) else {
            return Ok(Vec::new());
        };
        let oldest = table.compacted_in(&self.namespace);
        if self.seen < oldest {
            return Err(OutOfRange::TooOld { oldest });
        }
        let (events, seen) = table.events_in(&self.namespace, self.seen, BATCH);
        self.seen = seen;
        Ok(events)
    }
}
