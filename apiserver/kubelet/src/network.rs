//! The addresses on which pods listen: each server has a part of Linux's loopback network, chosen at random.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU16, Ordering};

use uuid::Uuid;

/// The loopback addresses of one server's pods.
#[derive(Debug)]
pub(crate) struct Network {
    /// The second and third byte of the addresses; the first is 127.
    part: u16,
    next: AtomicU16,
}

impl Default for Network {
    fn default() -> Self {
        let [high, low, ..] = Uuid::new_v4().into_bytes();
        // 127.0.0.0/16 is what people listen on.
        let part = u16::from_be_bytes([high.max(1), low]);
        Self {
            part,
            next: AtomicU16::new(1),
        }
    }
}

impl Network {
    /// An address that no other pod has had before, until all have been used.
    pub(crate) fn address(&self) -> IpAddr {
        const PER_PART: u16 = 254;
        let at = self.next.fetch_add(1, Ordering::Relaxed);
        let [high, low] = self.part.wrapping_add(at / PER_PART).to_be_bytes();
        let [_, last] = (at % PER_PART + 1).to_be_bytes();
        Ipv4Addr::new(127, high.max(1), low, last).into()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn pods_have_addresses_of_their_own_on_the_loopback_network() {
        let network = Network::default();
        let addresses: HashSet<IpAddr> = (0..1000).map(|_| network.address()).collect();
        assert_eq!(addresses.len(), 1000);
        assert!(addresses.iter().all(IpAddr::is_loopback));
    }
}
