//! A reader of the watch logs of every resource at once, in the order in which the changes were made.

use std::sync::Arc;

use crate::event::Event;
use crate::object::Object;
use crate::store::{OutOfRange, Store};
use crate::table::Table;

/// Follows the changes of all resources. Changes that were made before it began are not among them.
#[derive(Debug)]
pub struct Follower {
    store: Arc<Store>,
    seen: u64,
}

/// Everything that is stored, by resource.
pub type Everything = Vec<(String, Vec<Arc<Object>>)>;

impl Store {
    /// Follows the changes of all resources.
    pub fn follow(self: &Arc<Self>) -> Follower {
        Follower {
            store: self.clone(),
            seen: 0,
        }
    }
}

impl Store {
    /// Returns everything that is stored, the objects of the beginning that no client has asked for too, and its revision.
    pub(crate) fn everything(&self) -> (u64, Everything) {
        self.read_initial();
        let state = self.state();
        let objects =
            |(name, table): (&String, &Table)| (name.clone(), table.range("", "", usize::MAX).0);
        let mut all: Everything = state.tables.iter().map(objects).collect();
        all.retain(|(_, objects)| !objects.is_empty());
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        (state.revision, all)
    }
}

impl Follower {
    /// Returns everything there is now, and goes on from here.
    pub fn snapshot(&mut self) -> Everything {
        let state = self.store.state();
        self.seen = state.revision;
        let all =
            |(name, table): (&String, &Table)| (name.clone(), table.range("", "", usize::MAX).0);
        state.tables.iter().map(all).collect()
    }

    /// Returns the changes since the last call, oldest first, each with its resource.
    ///
    /// # Errors
    /// A log no longer holds what this reader has not seen yet.
    pub fn read(&mut self) -> Result<Vec<(String, Arc<Event>)>, OutOfRange> {
        let state = self.store.state();
        let mut events = Vec::new();
        if state.revision == self.seen {
            return Ok(events);
        }
        for (name, table) in &state.tables {
            if table.changed() <= self.seen {
                continue;
            }
            // What a resource had from the start is in its log even if it was read only now.
            if self.seen < table.compacted() {
                let oldest = table.compacted();
                return Err(OutOfRange::TooOld { oldest });
            }
            let news = table.events_after(self.seen, usize::MAX);
            events.extend(news.into_iter().map(|event| (name.clone(), event)));
        }
        events.sort_by_key(|(_, event)| event.object.revision);
        self.seen = state.revision;
        Ok(events)
    }
}
