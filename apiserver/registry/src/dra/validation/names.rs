//! The names that devices have: of pools, of attributes and of requests in a claim.

use std::net::IpAddr;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::driver_name;
use kubewright_validation::check::{Errors, label, problems, subdomain};

const LONGEST_POOL: usize = 253;
const LONGEST_IDENTIFIER: usize = 32;
const NO_REQUEST: &str = "must be the name of a request in the claim or the name of a request and a \
                          subrequest separated by '/'";

/// A pool: subdomains with slashes between them.
pub(crate) fn pool(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    if name.len() > LONGEST_POOL {
        errors.push(FieldError::too_long(path, LONGEST_POOL));
    }
    for part in name.split('/') {
        subdomain(path, part, errors);
    }
}

/// The name of an attribute or a capacity: an identifier, perhaps behind a driver's domain.
pub(crate) fn qualified(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let parts: Vec<&str> = name.split('/').collect();
    match parts[..] {
        [id] => identifier(id, path, errors),
        [domain, id] => {
            if domain.is_empty() {
                errors.push(FieldError::invalid(
                    path,
                    "",
                    "the domain must not be empty",
                ));
            } else {
                driver_name(domain, path, errors);
            }
            if id.is_empty() {
                errors.push(FieldError::invalid(path, "", "the name must not be empty"));
            } else {
                identifier(id, path, errors);
            }
        }
        // The real server looks at no name with two slashes.
        _ => {}
    }
}

/// The same with a domain, which has to be there.
pub(crate) fn fully_qualified(name: &str, path: &Path<'_>, errors: &mut Errors) {
    qualified(name, path, errors);
    if !name.contains('/') {
        let detail = "a fully qualified name must be a domain and a name separated by a slash";
        errors.push(FieldError::invalid(path, name, detail));
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
pub(crate) fn request_reference(
    name: &str,
    requests: &[Value],
    path: &Path<'_>,
    errors: &mut Errors,
) {
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
pub(crate) fn label_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    problems(path, name, names::qualified_name(name), errors);
}

/// An address with the length of its network, as a network interface has it.
pub(crate) fn interface_address(text: &str, path: &Path<'_>, errors: &mut Errors) {
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
