//! A reader of the watch log: sleeps until there is something, and never skips or repeats a change.

use std::sync::Arc;

use tokio::sync::watch;

use super::{Event, OutOfRange, Store};

/// Follows the changes of one resource.
#[derive(Debug)]
pub(crate) struct Watcher {
    store: Arc<Store>,
    table: String,
    seen: u64,
    changed: watch::Receiver<u64>,
}

impl Watcher {
    pub(super) fn new(
        store: Arc<Store>,
        table: String,
        after: u64,
        changed: watch::Receiver<u64>,
    ) -> Self {
        Self {
            store,
            table,
            seen: after,
            changed,
        }
    }

    /// Waits for the next changes, oldest first.
    ///
    /// # Errors
    /// The log no longer holds what this reader has not seen yet.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing.
    pub(crate) async fn next(&mut self) -> Result<Vec<Arc<Event>>, OutOfRange> {
        loop {
            self.changed.mark_unchanged();
            let events = self.read()?;
            if let Some(last) = events.last() {
                self.seen = last.object.revision;
                return Ok(events);
            }
            if self.changed.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// The last revision that this reader has seen.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// The revision up to which this reader has seen everything, for a bookmark. None while changes are waiting, and while
    /// the store has not reached the revision that the reader began at.
    pub(crate) fn progress(&mut self) -> Option<u64> {
        let state = self.store.state.read();
        let waiting = state
            .tables
            .get(&self.table)
            .is_some_and(|table| !table.events_after(self.seen, 1).is_empty());
        if waiting || self.seen > state.revision {
            return None;
        }
        self.seen = state.revision;
        Some(self.seen)
    }

    fn read(&self) -> Result<Vec<Arc<Event>>, OutOfRange> {
        const BATCH: usize = 256;
        let state = self.store.state.read();
        let Some(table) = state.tables.get(&self.table) else {
            return Ok(Vec::new());
        };
        if self.seen < table.compacted() {
            let oldest = table.compacted();
            return Err(OutOfRange::TooOld { oldest });
        }
        Ok(table.events_after(self.seen, BATCH))
    }
}
