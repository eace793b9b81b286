//! The names that devices have: of pools, of attributes and of requests in a claim.

use std::net::IpAddr;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, declared_instead, driver_name, label, problems, subdomain};

const LONGEST_POOL: usize = 253;
const LONGEST_PREFIX: usize = 63;
const LONGEST_IDENTIFIER: usize = 32;
const NO_REQUEST: &str = "must be the name of a request in the claim or the name of a request and a \
                          subrequest separated by '/'";

/// A pool: subdomains with slashes between them.
pub fn pool(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if pool_length(name, path, errors) {
        for part in name.split('/') {
            subdomain(path, part, errors);
        }
    }
}

/// The same as declarative validation checks it.
pub fn declared_pool(name: &str, path: &Path<'_>, errors: &mut Errors) {
    declared_instead(
        errors,
        |errors| {
            if !pool_length(name, path, errors) {
                return;
            }
            for (at, part) in name.split('/').enumerate() {
                if part.is_empty() {
                    let detail = format!("segment {at}: must not be empty");
                    errors.push(FieldError::invalid(path, name, &detail));
                } else {
                    prefixed(&format!("segment {at}"), part, path, errors);
                }
            }
        },
        |errors| pool(name, path, errors),
    );
}

fn pool_length(name: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if name.len() > LONGEST_POOL {
        errors.push(FieldError::too_long(path, LONGEST_POOL));
    }
    !name.is_empty()
}

/// A subdomain that is a part of a name; the problems say which.
fn prefixed(which: &str, part: &str, path: &Path<'_>, errors: &mut Errors) {
    for problem in names::dns1123_subdomain(part) {
        let detail = format!("{which}: {problem}");
        errors.push(FieldError::invalid(path, part, &detail));
    }
}

/// The name of an attribute or a capacity: an identifier, perhaps behind a driver's domain.
pub fn qualified(name: &str, path: &Path<'_>, errors: &mut Errors) {
    halves(name, ["the domain", "the name"], driver_name, path, errors);
}

/// The same with a domain, which has to be there, as declarative validation checks it.
pub fn fully_qualified(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let has_domain = |errors: &mut Errors| {
        if !name.contains('/') {
            let detail = "a fully qualified name must be a domain and a name separated by a slash";
            errors.push(FieldError::invalid(path, name, detail));
        }
    };
    declared_instead(
        errors,
        |errors| {
            halves(name, ["prefix", "name"], prefix, path, errors);
            has_domain(errors);
        },
        |errors| {
            qualified(name, path, errors);
            has_domain(errors);
        },
    );
}

fn prefix(domain: &str, path: &Path<'_>, errors: &mut Errors) {
    if domain.len() > LONGEST_PREFIX {
        errors.push(FieldError::too_long(path, LONGEST_PREFIX));
    }
    prefixed("prefix", domain, path, errors);
}

fn halves(
    name: &str,
    words: [&str; 2],
    domain: impl Fn(&str, &Path<'_>, &mut Errors),
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let parts: Vec<&str> = name.split('/').collect();
    let empty = |word| FieldError::invalid(path, "", &format!("{word} must not be empty"));
    match parts[..] {
        [id] => identifier(id, path, errors),
        [before, id] => {
            match before {
                "" => errors.push(empty(words[0])),
                before => domain(before, path, errors),
            }
            match id {
                "" => errors.push(empty(words[1])),
                id => identifier(id, path, errors),
            }
        }
        // The real server looks at no name with two slashes.
        _ => {}
    }
}

fn identifier(id: &str, path: &Path<'_>, errors: &mut Errors) {
    if id.len() > LONGEST_IDENTIFIER {
        errors.push(FieldError::too_long(path, LONGEST_IDENTIFIER));
    }
    let mut bytes = id.bytes();
    let is_identifier = bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_identifier {
        let detail = "a valid C identifier must start with alphabetic character or '_', followed by \
                      a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or \
                      'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";
        errors.push(FieldError::invalid(path, id, detail));
    }
}

/// A reference to a request of a claim, or to one of its alternatives.
pub fn request_reference(name: &str, requests: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let parts: Vec<&str> = name.split('/').collect();
    if parts.len() > 2 {
        errors.push(FieldError::invalid(path, name, NO_REQUEST));
        return;
    }
    for part in &parts {
        label(path, part, errors);
    }
    // Of two requests of one name the last one counts.
    let request = requests
        .iter()
        .rev()
        .find(|request| request.text("name") == parts[0]);
    let known = request.is_some_and(|request| {
        let mut alternatives = request.list("firstAvailable").iter();
        parts.len() == 1 || alternatives.any(|other| other.text("name") == parts[1])
    });
    if !known {
        errors.push(FieldError::invalid(path, name, NO_REQUEST));
    }
}

/// A key in the form of a label's.
pub fn label_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    problems(path, name, names::qualified_name(name), errors);
}

/// An address with the length of its network, as a network interface has it.
pub fn interface_address(text: &str, path: &Path<'_>, errors: &mut Errors) {
    let parsed = text.split_once('/').and_then(|(address, bits)| {
        let address: IpAddr = address.parse().ok()?;
        let limit = if address.is_ipv4() { 32 } else { 128 };
        let bits: u8 = bits.parse().ok().filter(|bits| *bits <= limit)?;
        // An IPv4 address in an IPv6 one is the IPv4 address.
        Some(match address.to_canonical() {
            short if short.is_ipv4() && address.is_ipv6() => {
                format!("{short}/{}", bits.saturating_sub(96))
            }
            address => format!("{address}/{bits}"),
        })
    });
    let detail = match parsed {
        None => {
            "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)".to_owned()
        }
        Some(canonical) if canonical != text => {
            format!("must be in canonical form ({})", quoted(&canonical))
        }
        Some(_) => return,
    };
    errors.push(FieldError::invalid(path, text, &detail));
}
