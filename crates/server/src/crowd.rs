//! The open connections: how many there may be, and which of them makes room for another.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;

use tokio::task::{AbortHandle, Id};

use crate::Limits;
use crate::watchdog::Progress;

/// The connections that are open, by the address that they come from.
#[derive(Debug, Default)]
pub(crate) struct Crowd {
    members: HashMap<Id, Member>,
    addresses: HashMap<IpAddr, Address>,
}

#[derive(Debug)]
struct Member {
    from: IpAddr,
    progress: Arc<Progress>,
    task: AbortHandle,
}

#[derive(Debug, Default)]
struct Address {
    open: usize,
    /// Those that have not made a call when they were last looked at, the oldest first; some may have ended since.
    silent: VecDeque<Id>,
}

/// What becomes of one connection more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// There is room.
    Free,
    /// There is room, because another connection was closed.
    Made,
    /// Every connection that could make room is busy.
    None,
}

impl Crowd {
    /// Finds room for a connection from an address. A connection that has never made a call goes first, then one that is idle.
    pub(crate) fn make_room(&mut self, from: IpAddr, limits: &Limits) -> Room {
        let from = network(from);
        let own = self.addresses.get(&from).map_or(0, |address| address.open);
        let victim = if own >= limits.per_address() {
            self.silent_from(from).or_else(|| self.idle(Some(from)))
        } else if self.members.len() >= limits.connections {
            self.silent().or_else(|| self.idle(None))
        } else {
            return Room::Free;
        };
        match victim {
            Some(id) => {
                self.close(id);
                Room::Made
            }
            None => Room::None,
        }
    }

    pub(crate) fn join(&mut self, from: IpAddr, progress: Arc<Progress>, task: AbortHandle) {
        let from = network(from);
        let id = task.id();
        let address = self.addresses.entry(from).or_default();
        address.open += 1;
        address.silent.push_back(id);
        if address.silent.len() > 2 * address.open + 64 {
            let members = &self.members;
            address
                .silent
                .retain(|known| *known == id || is_silent(members, *known));
        }
        self.members.insert(
            id,
            Member {
                from,
                progress,
                task,
            },
        );
    }

    pub(crate) fn leave(&mut self, id: Id) {
        let Some(Member { from, .. }) = self.members.remove(&id) else {
            return;
        };
        if let Some(address) = self.addresses.get_mut(&from) {
            address.open -= 1;
            if address.open == 0 {
                self.addresses.remove(&from);
            }
        }
    }

    fn close(&mut self, id: Id) {
        if let Some(member) = self.members.get(&id) {
            member.task.abort();
        }
        self.leave(id);
    }

    /// The oldest connection without a call, from the address that has the most connections.
    fn silent(&mut self) -> Option<Id> {
        let mut addresses: Vec<(usize, IpAddr)> = self
            .addresses
            .iter()
            .map(|(from, address)| (address.open, *from))
            .collect();
        addresses.sort_unstable_by(|one, other| other.cmp(one));
        addresses
            .into_iter()
            .find_map(|(_, from)| self.silent_from(from))
    }

    fn silent_from(&mut self, from: IpAddr) -> Option<Id> {
        let silent = &mut self.addresses.get_mut(&from)?.silent;
        while let Some(id) = silent.pop_front() {
            if is_silent(&self.members, id) {
                return Some(id);
            }
        }
        None
    }

    /// Of the connections without a call at this moment the one that has made the fewest.
    fn idle(&self, from: Option<IpAddr>) -> Option<Id> {
        let members = self.members.iter();
        members
            .filter(|(_, member)| from.is_none_or(|from| from == member.from))
            .filter(|(_, member)| member.progress.is_idle() && !member.progress.is_head_open())
            .min_by_key(|(_, member)| member.progress.calls_begun())
            .map(|(id, _)| *id)
    }
}

fn is_silent(members: &HashMap<Id, Member>, id: Id) -> bool {
    let member = members.get(&id);
    member.is_some_and(|member| !member.progress.has_begun())
}

/// What stands for a host: an IPv6 host has a network of its own, with as many addresses as it likes.
pub(crate) fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let network = address.to_bits() & !u128::from(u64::MAX);
            Ipv6Addr::from_bits(network).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}
