//! The names a server certificate is for.

use std::net::IpAddr;

use rcgen::SanType;

use crate::CertificateError;

/// Reads each name as an IP address if it is one, and as a DNS name otherwise.
pub(crate) fn parse(names: &[String]) -> Result<Vec<SanType>, CertificateError> {
    if names.is_empty() {
        return Err(CertificateError::NoNames);
    }
    names.iter().map(|name| parse_one(name)).collect()
}

/// The names under which the API server and the pods of a cluster reach a Service.
pub(crate) fn of_service(name: &str, namespace: &str) -> Vec<String> {
    vec![
        // The one that the API server verifies when a webhook is called through its Service.
        format!("{name}.{namespace}.svc"),
        format!("{name}.{namespace}.svc.cluster.local"),
        format!("{name}.{namespace}"),
    ]
}

fn parse_one(name: &str) -> Result<SanType, CertificateError> {
    let invalid = || CertificateError::InvalidName {
        name: name.to_owned(),
    };
    let without_brackets = name
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Ok(address) = without_brackets.unwrap_or(name).parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    if !is_dns_name(name) {
        return Err(invalid());
    }
    Ok(SanType::DnsName(name.try_into().map_err(|_| invalid())?))
}

fn is_dns_name(name: &str) -> bool {
    let labels = name.strip_prefix("*.").unwrap_or(name);
    name.len() <= 253 && labels.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_an_address_or_a_dns_name_or_refused() {
        for name in [
            "localhost",
            "a.b.svc",
            "*.example.com",
            "x_y.example",
            "127.0.0.1",
            "::1",
            "[::1]",
        ] {
            assert!(parse_one(name).is_ok(), "{name}");
        }
        for name in [
            "",
            ".",
            "a..b",
            "-a",
            "a-",
            "a b",
            "*",
            "a.*.b",
            "https://a",
            "a:443",
            "ä.example",
        ] {
            assert!(
                matches!(parse_one(name), Err(CertificateError::InvalidName { .. })),
                "{name}"
            );
        }
        assert!(matches!(parse_one("127.0.0.1"), Ok(SanType::IpAddress(_))));
        assert!(matches!(parse(&[]), Err(CertificateError::NoNames)));
    }
}
