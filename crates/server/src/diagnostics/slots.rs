//! The connections of the diagnostics server: for a new one, the address with most of them loses the one that has been idle for
//! longest.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::task::{AbortHandle, Id};

use crate::crowd::network;

/// All slots.
#[derive(Debug)]
pub(super) struct Slots {
    taken: HashMap<Id, (Arc<Slot>, AbortHandle)>,
    /// How many of them are from each address.
    open: HashMap<IpAddr, usize>,
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
    from: IpAddr,
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
            open: HashMap::new(),
            shared: Arc::new(shared),
            most,
        }
    }

    /// Finds room for one more, unless the address with most connections has only such as were just accepted.
    pub(super) fn make_room(&mut self) -> bool {
        if self.taken.len() < self.most {
            return true;
        }
        let largest = self.open.values().copied().max();
        let victim = self
            .taken
            .iter()
            // A kubelet has one or two connections: they are never closed for those of a client with hundreds, even while none
            // of these has been read from.
            .filter(|(_, (slot, _))| self.open.get(&slot.from).copied() == largest)
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

    pub(super) fn slot(&self, from: IpAddr) -> Arc<Slot> {
        Arc::new(Slot {
            from: network(from),
            turn: AtomicU64::new(self.shared.next_turn()),
            shared: Arc::clone(&self.shared),
            was_looked_at: AtomicBool::new(false),
        })
    }

    pub(super) fn enter(&mut self, slot: Arc<Slot>, task: AbortHandle) {
        *self.open.entry(slot.from).or_default() += 1;
        self.taken.insert(task.id(), (slot, task));
        self.count();
    }

    pub(super) fn leave(&mut self, id: Id) {
        if let Some((slot, _)) = self.taken.remove(&id)
            && let Some(open) = self.open.get_mut(&slot.from)
        {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&slot.from);
            }
        }
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn host(number: u8) -> IpAddr {
        Ipv4Addr::new(10, 0, 0, number).into()
    }

    /// Takes a slot for a connection whose request has not come yet, and returns its task.
    fn enter(slots: &mut Slots, from: IpAddr) -> AbortHandle {
        let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
        let slot = slots.slot(from);
        slot.was_looked_at();
        slots.enter(slot, task.clone());
        task
    }

    fn is_open(slots: &Slots, task: &AbortHandle) -> bool {
        slots.taken.contains_key(&task.id())
    }

    #[tokio::test]
    async fn clients_that_connect_again_and_again_close_their_own_connections() {
        let mut slots = Slots::new(4);
        let probe = enter(&mut slots, host(1));
        for _ in 0..100 {
            assert!(slots.make_room());
            enter(&mut slots, host(2));
        }
        assert!(is_open(&slots, &probe));
        assert_eq!(slots.open[&host(2)], 3);
    }

    #[tokio::test]
    async fn of_one_address_the_connection_without_a_request_for_longest_goes() {
        let mut slots = Slots::new(2);
        let [first, second] = [(); 2].map(|()| enter(&mut slots, host(1)));
        slots.taken[&first.id()].0.is_asked();
        assert!(slots.make_room());
        assert!(is_open(&slots, &first) && !is_open(&slots, &second));
    }

    #[tokio::test]
    async fn connections_that_were_only_just_accepted_make_no_room() {
        let mut slots = Slots::new(1);
        let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
        slots.enter(slots.slot(host(1)), task);
        assert!(!slots.make_room());
    }

    #[tokio::test]
    async fn a_probe_is_not_closed_while_all_connections_of_a_flood_were_only_just_accepted() {
        let mut slots = Slots::new(3);
        let probe = enter(&mut slots, host(1));
        for _ in 0..2 {
            let task = tokio::spawn(std::future::pending::<()>()).abort_handle();
            slots.enter(slots.slot(host(2)), task);
        }
        assert!(!slots.make_room());
        assert!(is_open(&slots, &probe));
        let of_flood = |slot: &&(Arc<Slot>, AbortHandle)| slot.0.from == host(2);
        slots
            .taken
            .values()
            .find(of_flood)
            .unwrap()
            .0
            .was_looked_at();
        assert!(slots.make_room());
        assert!(is_open(&slots, &probe));
    }

    #[tokio::test]
    async fn an_address_without_connections_is_forgotten() {
        let mut slots = Slots::new(1);
        let task = enter(&mut slots, host(1));
        slots.leave(task.id());
        assert!(slots.open.is_empty());
    }
}
