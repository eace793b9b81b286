//! The connections of a monitor: for a new one, the one that has been without a request for longest is closed.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id};

/// All slots.
#[derive(Debug)]
pub(super) struct Slots {
    taken: HashMap<Id, (Arc<Slot>, AbortHandle)>,
    shared: Arc<Shared>,
    most: usize,
}

#[derive(Debug, Default)]
struct Shared {
    taken: AtomicUsize,
    wanted_from: usize,
    /// Counts requests and connections: what has the lowest number was active least recently.
    turn: AtomicU64,
    looked_at: Notify,
}

/// The slot of one connection.
#[derive(Debug)]
pub(super) struct Slot {
    shared: Arc<Shared>,
    turn: AtomicU64,
    was_looked_at: AtomicBool,
}

impl Slots {
    pub(super) fn new(most: usize) -> Self {
        let shared = Shared {
            wanted_from: most / 2,
            ..Shared::default()
        };
        Self {
            taken: HashMap::new(),
            shared: Arc::new(shared),
            most,
        }
    }

    /// Finds room for one more, unless every connection has only just been accepted.
    pub(super) fn make_room(&mut self) -> bool {
        if self.taken.len() < self.most {
            return true;
        }
        let slots = self.taken.iter();
        let victim = slots
            .filter(|(_, (slot, _))| slot.was_looked_at.load(Ordering::Relaxed))
            .min_by_key(|(_, (slot, _))| slot.turn.load(Ordering::Relaxed))
            .map(|(id, _)| *id);
        let Some(id) = victim else {
            return false;
        };
        if let Some((_, task)) = self.taken.get(&id) {
            task.abort();
        }
        self.leave(id);
        true
    }

    /// Waits until a connection was looked at.
    pub(super) async fn changed(&self) {
        self.shared.looked_at.notified().await;
    }

    pub(super) fn slot(&self) -> Arc<Slot> {
        Arc::new(Slot {
            turn: AtomicU64::new(self.shared.next_turn()),
            shared: Arc::clone(&self.shared),
            was_looked_at: AtomicBool::new(false),
        })
    }

    pub(super) fn enter(&mut self, slot: Arc<Slot>, task: AbortHandle) {
        self.taken.insert(task.id(), (slot, task));
        self.count();
    }

    pub(super) fn leave(&mut self, id: Id) {
        self.taken.remove(&id);
        self.count();
    }

    fn count(&self) {
        self.shared.taken.store(self.taken.len(), Ordering::Relaxed);
    }
}

impl Shared {
    fn next_turn(&self) -> u64 {
        self.turn.fetch_add(1, Ordering::Relaxed)
    }
}

impl Slot {
    /// Notes a request.
    pub(super) fn is_asked(&self) {
        self.turn.store(self.shared.next_turn(), Ordering::Relaxed);
    }

    /// Whether others may soon need the slot.
    pub(super) fn is_wanted(&self) -> bool {
        self.shared.taken.load(Ordering::Relaxed) >= self.shared.wanted_from
    }

    /// Notes that what had come of a request was read.
    pub(super) fn was_looked_at(&self) {
        if !self.was_looked_at.swap(true, Ordering::Relaxed) {
            self.shared.looked_at.notify_one();
        }
    }
}
