//! IP addresses and their families.

use std::net::IpAddr;

use serde_json::Value;

use super::super::object::{list, text};

/// The `addressType` of an EndpointSlice for addresses of IP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Family {
    V4,
    V6,
}

impl Family {
    pub(super) fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            IpAddr::V4(_) => Self::V4,
            IpAddr::V6(_) => Self::V6,
        }
    }

    pub(super) fn text(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

/// The address in a text.
pub(super) fn parsed(address: &str) -> Option<IpAddr> {
    Some(address.parse::<IpAddr>().ok()?.to_canonical())
}

/// The families of a Service; those of its address, or both, if it does not say.
pub(super) fn families(service: &Value) -> Vec<Family> {
    let named: Vec<Family> = list(service, "/spec/ipFamilies")
        .iter()
        .filter_map(|family| match family.as_str()? {
            "IPv4" => Some(Family::V4),
            "IPv6" => Some(Family::V6),
            _ => None,
        })
        .collect();
    if !named.is_empty() {
        return named;
    }
    match parsed(text(service, "/spec/clusterIP")) {
        Some(address) => vec![Family::of(address)],
        None => vec![Family::V4, Family::V6],
    }
}

/// Whether a Service has no address of its own.
pub(super) fn is_headless(service: &Value) -> bool {
    matches!(text(service, "/spec/clusterIP"), "" | "None")
}
