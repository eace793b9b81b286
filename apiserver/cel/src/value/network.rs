//! IP addresses and networks, read as Go's `netip` reads them.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::netip;
use crate::quote::quoted;

/// An IP address of version 4 or 6, without a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub(crate) IpAddr);

impl Address {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (address, zone) = match text.split_once('%') {
            Some((address, zone)) if !zone.is_empty() && address.parse::<Ipv6Addr>().is_ok() => {
                (address, Some(zone))
            }
            _ => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| {
            format!(
                "IP Address {} parse error during conversion from string: {}",
                quoted(text),
                netip::refusal(text)
            )
        })?;
        if zone.is_some() {
            return Err(format!(
                "IP address {} with zone value is not allowed",
                quoted(text)
            ));
        }
        if is_mapped(address) {
            return Err(mapped(text));
        }
        Ok(Self(address))
    }

    /// The number of bytes of the address.
    pub(crate) fn octets(self) -> usize {
        if self.0.is_ipv4() { 4 } else { 16 }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A network in CIDR notation: an address and the length of its prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    pub(crate) address: IpAddr,
    pub(crate) bits: u8,
}

impl Network {
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| {
            format!(
                "network address parse error during conversion from string: netip.ParsePrefix({}): {reason}",
                quoted(text)
            )
        };
        let Some((address, bits)) = text.rsplit_once('/') else {
            return Err(wrong("no '/'"));
        };
        if let Some((address, zone)) = address.split_once('%')
            && !zone.is_empty()
            && address.parse::<Ipv6Addr>().is_ok()
        {
            return Err(wrong("IPv6 zones cannot be present in a prefix"));
        }
        let parsed: IpAddr = address
            .parse()
            .map_err(|_| wrong(&netip::refusal(address)))?;
        let bad_bits = || wrong(&format!("bad bits after slash: {}", quoted(bits)));
        let is_plain = !bits.is_empty()
            && bits.bytes().all(|byte| byte.is_ascii_digit())
            && (bits.len() == 1 || !bits.starts_with('0'));
        if !is_plain {
            return Err(bad_bits());
        }
        let bits: i64 = bits.parse().map_err(|_| bad_bits())?;
        let limit = if parsed.is_ipv4() { 32 } else { 128 };
        let bits = u8::try_from(bits).ok().filter(|bits| *bits <= limit);
        let bits = bits.ok_or_else(|| wrong("prefix length out of range"))?;
        if is_mapped(parsed) {
            return Err(mapped(text));
        }
        Ok(Self {
            address: parsed,
            bits,
        })
    }

    /// How many bytes of the address count, which the cost of a comparison depends on.
    pub(crate) fn octets(self) -> usize {
        usize::from(self.bits).div_ceil(8)
    }

    pub(crate) fn contains(self, other: IpAddr) -> bool {
        self.address.is_ipv4() == other.is_ipv4()
            && leading(self.address, self.bits) == leading(other, self.bits)
    }

    pub(crate) fn contains_network(self, other: Self) -> bool {
        self.bits <= other.bits && self.contains(other.address)
    }

    pub(crate) fn masked(self) -> Self {
        let address = match self.address {
            IpAddr::V4(_) => {
                let bits = leading(self.address, self.bits) >> 96;
                IpAddr::V4(Ipv4Addr::from_bits(u32::try_from(bits).unwrap_or(0)))
            }
            IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::from_bits(leading(self.address, self.bits))),
        };
        Self { address, ..self }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.address, self.bits)
    }
}

/// The first bits of an address, the rest zero, left-aligned.
fn leading(address: IpAddr, bits: u8) -> u128 {
    let all = match address {
        IpAddr::V4(address) => u128::from(address.to_bits()) << 96,
        IpAddr::V6(address) => address.to_bits(),
    };
    let dropped = 128 - u32::from(bits);
    all.checked_shr(dropped)
        .and_then(|kept| kept.checked_shl(dropped))
        .unwrap_or(0)
}

fn is_mapped(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.to_ipv4_mapped().is_some())
}

pub(crate) fn is_link_local_multicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.octets()[..3] == [224, 0, 0],
        IpAddr::V6(address) => address.segments()[0] & 0xff0f == 0xff02,
    }
}

pub(crate) fn is_link_local_unicast(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    }
}

pub(crate) fn is_global_unicast(address: &IpAddr) -> bool {
    let broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !(broadcast
        || address.is_unspecified()
        || address.is_loopback()
        || address.is_multicast()
        || is_link_local_unicast(address))
}

fn mapped(text: &str) -> String {
    format!("IPv4-mapped IPv6 address {} is not allowed", quoted(text))
}
