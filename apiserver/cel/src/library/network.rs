//! IP addresses and networks, as Go's `net/netip` reads them.

use std::net::IpAddr;

use super::declaration::{Declaration, Evaluated, guarded};
use crate::failure::Failure;
use crate::value::network::{is_global_unicast, is_link_local_multicast, is_link_local_unicast};
use crate::value::{Address, Network, Object, Value};

pub(super) const DECLARATIONS: &[Declaration] = &[
    guarded("ip", "string_to_ip", "(string) -> net.IP", ip),
    guarded("isIP", "is_ip", "(string) -> bool", is_ip),
    guarded(
        "ip.isCanonical",
        "ip_is_canonical",
        "(string) -> bool",
        is_canonical,
    ),
    guarded("family", "ip_family", "net.IP.() -> int", family),
    guarded(
        "isUnspecified",
        "ip_is_unspecified",
        "net.IP.() -> bool",
        |values| holds(values, IpAddr::is_unspecified),
    ),
    guarded(
        "isLoopback",
        "ip_is_loopback",
        "net.IP.() -> bool",
        |values| holds(values, IpAddr::is_loopback),
    ),
    guarded(
        "isLinkLocalMulticast",
        "ip_is_link_local_multicast",
        "net.IP.() -> bool",
        |values| holds(values, is_link_local_multicast),
    ),
    guarded(
        "isLinkLocalUnicast",
        "ip_is_link_local_unicast",
        "net.IP.() -> bool",
        |values| holds(values, is_link_local_unicast),
    ),
    guarded(
        "isGlobalUnicast",
        "ip_is_global_unicast",
        "net.IP.() -> bool",
        |values| holds(values, is_global_unicast),
    ),
    guarded("cidr", "string_to_cidr", "(string) -> net.CIDR", cidr),
    guarded("isCIDR", "is_cidr", "(string) -> bool", is_cidr),
    guarded(
        "containsIP",
        "cidr_contains_ip_string",
        "net.CIDR.(string) -> bool",
        contains_ip,
    ),
    guarded(
        "containsIP",
        "cidr_contains_ip_ip",
        "net.CIDR.(net.IP) -> bool",
        contains_ip,
    ),
    guarded(
        "containsCIDR",
        "cidr_contains_cidr_string",
        "net.CIDR.(string) -> bool",
        contains_cidr,
    ),
    guarded(
        "containsCIDR",
        "cidr_contains_cidr",
        "net.CIDR.(net.CIDR) -> bool",
        contains_cidr,
    ),
    guarded("ip", "cidr_ip", "net.CIDR.() -> net.IP", cidr_ip),
    guarded(
        "prefixLength",
        "cidr_prefix_length",
        "net.CIDR.() -> int",
        prefix_length,
    ),
    guarded("masked", "cidr_masked", "net.CIDR.() -> net.CIDR", masked),
];

fn text<'v>(values: &'v [Value<'_>]) -> Result<&'v str, Failure> {
    match values {
        [Value::String(text)] => Ok(text),
        _ => Err(Failure::no_such_overload()),
    }
}

fn ip<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let address = Address::parse(text(values)?).map_err(Failure::new)?;
    Ok(Value::Object(Object::Ip(address)))
}

fn is_ip<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(Address::parse(text(values)?).is_ok()))
}

fn is_canonical<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let text = text(values)?;
    let address = Address::parse(text).map_err(Failure::new)?;
    Ok(Value::Bool(address.to_string() == text))
}

fn family<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    match values {
        [Value::Object(Object::Ip(address))] => {
            Ok(Value::Int(if address.0.is_ipv4() { 4 } else { 6 }))
        }
        _ => Err(Failure::no_such_overload()),
    }
}

fn holds<'a>(values: &[Value<'a>], rule: fn(&IpAddr) -> bool) -> Evaluated<'a> {
    match values {
        [Value::Object(Object::Ip(address))] => Ok(Value::Bool(rule(&address.0))),
        _ => Err(Failure::no_such_overload()),
    }
}

fn parse_network(text: &str) -> Result<Network, Failure> {
    Network::parse(text).map_err(|reason| {
        Failure::new(format!(
            "network address parse error during conversion from string: {reason}"
        ))
    })
}

fn cidr<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Object(Object::Cidr(parse_network(text(values)?)?)))
}

fn is_cidr<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Bool(Network::parse(text(values)?).is_ok()))
}

fn network(values: &[Value<'_>]) -> Result<Network, Failure> {
    match values.first() {
        Some(Value::Object(Object::Cidr(network))) => Ok(*network),
        _ => Err(Failure::no_such_overload()),
    }
}

fn contains_ip<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let network = network(values)?;
    let address = match values.get(1) {
        Some(Value::Object(Object::Ip(address))) => *address,
        // The API server takes an error for an argument of another type.
        Some(Value::String(text)) => {
            Address::parse(text).map_err(|_| Failure::no_such_overload())?
        }
        _ => return Err(Failure::no_such_overload()),
    };
    Ok(Value::Bool(network.contains(address.0)))
}

fn contains_cidr<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    let outer = network(values)?;
    let inner = match values.get(1) {
        Some(Value::Object(Object::Cidr(inner))) => *inner,
        Some(Value::String(text)) => parse_network(text)?,
        _ => return Err(Failure::no_such_overload()),
    };
    Ok(Value::Bool(outer.contains_network(inner)))
}

fn cidr_ip<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Object(Object::Ip(Address(network(values)?.address))))
}

fn prefix_length<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Int(i64::from(network(values)?.bits)))
}

fn masked<'a>(values: &[Value<'a>]) -> Evaluated<'a> {
    Ok(Value::Object(Object::Cidr(network(values)?.masked())))
}
