//! The smaller text formats: port names, keys of configuration, variables, percentages, addresses.
//!
//! Like the functions of [`names`], each function returns what is wrong, in the API server's words.

use std::net::IpAddr;

use kubewright_apimachinery::names;

/// The name of a container's port.
pub fn port_name(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 15 {
        problems.push("must be no more than 15 characters".to_owned());
    }
    let charset = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    if text.is_empty() || !text.bytes().all(charset) {
        problems.push(
            "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned(),
        );
    }
    if !text.bytes().any(|b| b.is_ascii_lowercase()) {
        problems.push("must contain at least one letter (a-z)".to_owned());
    }
    if text.contains("--") {
        problems.push("must not contain consecutive hyphens".to_owned());
    }
    if text.starts_with('-') || text.ends_with('-') {
        problems.push("must not begin or end with a hyphen".to_owned());
    }
    problems
}

/// The number of a port.
pub fn port_number(number: i64) -> Option<&'static str> {
    (!(1..=65_535).contains(&number)).then_some("must be between 1 and 65535, inclusive")
}

/// The name of an environment variable.
pub fn variable(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.is_empty() {
        problems.push("environment variable name must be non-empty".to_owned());
    }
    if !text
        .bytes()
        .all(|b| (b' '..=b'~').contains(&b) && b != b'=')
    {
        problems.push(
            "a valid environment variable name must consist only of printable ASCII characters other than '='"
                .to_owned(),
        );
    }
    problems
}

/// A key of a config map or a secret.
pub fn config_key(text: &str) -> Vec<String> {
    let mut problems = Vec::new();
    if text.len() > 253 {
        problems.push("must be no more than 253 characters".to_owned());
    }
    let charset = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
    if text.is_empty() || !text.bytes().all(charset) {
        problems.push(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or \
             'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
                .to_owned(),
        );
    }
    match text {
        "." => problems.push("must not be '.'".to_owned()),
        ".." => problems.push("must not be '..'".to_owned()),
        _ if text.starts_with("..") => problems.push("must not start with '..'".to_owned()),
        _ => {}
    }
    problems
}

/// The name of an HTTP header.
pub fn http_header(text: &str) -> Option<&'static str> {
    let valid = !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    (!valid).then_some(
        "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for \
         validation is '[-A-Za-z0-9]+')",
    )
}

/// A share of a number, `25%`.
pub fn percent(text: &str) -> Option<&'static str> {
    let digits = text.strip_suffix('%').unwrap_or_default();
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    (!valid).then_some(
        "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used \
         for validation is '[0-9]+%')",
    )
}

/// A host name that starts with `*.`.
pub fn wildcard_domain(text: &str) -> Option<&'static str> {
    let rest = text.strip_prefix("*.").unwrap_or_default();
    let valid = !rest.is_empty() && names::dns1123_subdomain(rest).is_empty();
    (!valid).then_some(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of \
         lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', \
         regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
    )
}

/// A domain that names are looked up in; services may have underscores.
pub fn search_path(text: &str) -> Option<&'static str> {
    let edge = |b: Option<u8>| b.is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_');
    let valid = text.split('.').all(|part| {
        let part = part.strip_prefix('_').unwrap_or(part).as_bytes();
        edge(part.first().copied()) && edge(part.last().copied()) && part.iter().all(|b| inner(*b))
    });
    (!valid).then_some(
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must \
         start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
         '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?(\\._?[a-z0-9]([-_a-z0-9]*[a-z0-9])?)*')",
    )
}

/// An IP address of either family.
pub fn ip(text: &str) -> Option<&'static str> {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) if address.to_ipv4_mapped().is_some() => Some(MAPPED),
        Ok(_) => None,
        Err(_) if without_zeros(text).parse::<IpAddr>().is_ok() => Some(LEADING),
        Err(_) => Some("must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    }
}

/// Whether a range of addresses can be read, be its numbers written as they once were.
pub fn is_cidr(text: &str) -> bool {
    !matches!(cidr(text), Some(why) if why == NO_CIDR)
}

/// What is said of addresses and ranges that can be read, but are not written as they should be.
pub const STRICT: [&str; 5] = [LEADING, MAPPED, LEADING_IN_RANGE, MAPPED_IN_RANGE, BEYOND];

const LEADING: &str = "must not have leading 0s";
const MAPPED: &str = "must not be an IPv4-mapped IPv6 address";
const LEADING_IN_RANGE: &str = "must not have leading 0s in IP or prefix length";
const MAPPED_IN_RANGE: &str = "must not have an IPv4-mapped IPv6 address";
const BEYOND: &str = "must not have bits set beyond the prefix length";
const NO_CIDR: &str = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";

/// A range of addresses of either family.
pub fn cidr(text: &str) -> Option<&'static str> {
    let Some((address, bits)) = range(text) else {
        let readable = range(&range_without_zeros(text)).is_some();
        return Some(if readable { LEADING_IN_RANGE } else { NO_CIDR });
    };
    let digits = text.rsplit('/').next().unwrap_or_default();
    if digits.len() > 1 && digits.starts_with('0') {
        Some(LEADING_IN_RANGE)
    } else if is_mapped(address) {
        Some(MAPPED_IN_RANGE)
    } else if first_of(address, bits) != address {
        Some(BEYOND)
    } else {
        None
    }
}

/// The family of an address: the fourth version or the sixth. An IPv4 address in an IPv6 one is of the fourth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "there are two")]
pub enum Family {
    /// IPv4.
    Four,
    /// IPv6.
    Six,
}

impl Family {
    /// The family of what can be read as an address.
    pub fn of_address(text: &str) -> Option<Self> {
        without_zeros(text).parse().ok().map(Self::of)
    }

    /// The family of what can be read as a range.
    pub fn of_range(text: &str) -> Option<Self> {
        let (address, bits) = range(&range_without_zeros(text))?;
        Some(Self::of(first_of(address, bits)))
    }

    /// Whether each of them can be read, and both families are there.
    pub fn are_both(families: &[Option<Self>]) -> bool {
        !families.contains(&None)
            && [Self::Four, Self::Six]
                .map(Some)
                .iter()
                .all(|family| families.contains(family))
    }

    fn of(address: IpAddr) -> Self {
        if address.to_canonical().is_ipv4() {
            Self::Four
        } else {
            Self::Six
        }
    }
}

fn is_mapped(address: IpAddr) -> bool {
    address.is_ipv6() && address.to_canonical().is_ipv4()
}

/// The address of a range and the length of its prefix.
fn range(text: &str) -> Option<(IpAddr, u32)> {
    let (address, bits) = text.split_once('/')?;
    let address: IpAddr = address.parse().ok()?;
    let size = if address.is_ipv4() { 32 } else { 128 };
    let digits = !bits.is_empty() && bits.bytes().all(|b| b.is_ascii_digit());
    let bits = bits.parse().ok().filter(|bits| digits && *bits <= size)?;
    Some((address, bits))
}

/// The first address of the range that an address is in.
fn first_of(address: IpAddr, bits: u32) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let host = u32::MAX.checked_shr(bits).unwrap_or(0);
            IpAddr::V4((u32::from(address) & !host).into())
        }
        IpAddr::V6(address) => {
            let host = u128::MAX.checked_shr(bits).unwrap_or(0);
            IpAddr::V6((u128::from(address) & !host).into())
        }
    }
}

fn range_without_zeros(text: &str) -> String {
    match text.split_once('/') {
        Some((address, bits)) => format!("{}/{bits}", without_zeros(address)),
        None => text.to_owned(),
    }
}

/// The four numbers of an address without leading zeros, which were once taken.
pub fn without_zeros(text: &str) -> String {
    let number = |part: &str| match part.trim_start_matches('0') {
        "" if !part.is_empty() => "0".to_owned(),
        rest => rest.to_owned(),
    };
    text.split('.').map(number).collect::<Vec<_>>().join(".")
}
