//! Which names Kubernetes accepts.

/// A DNS label (RFC 1123): what a namespace's or a Service's name is.
pub(crate) fn is_label(name: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&name.len())
        && name.bytes().all(inside)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// A DNS subdomain (RFC 1123): what the name of most objects is.
pub(crate) fn is_subdomain(name: &str) -> bool {
    // A subdomain's labels are not limited to 63 characters in Kubernetes: only the whole is.
    let label = |part: &str| {
        part.bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !part.is_empty()
            && !part.starts_with('-')
            && !part.ends_with('-')
    };
    (1..=253).contains(&name.len()) && name.split('.').all(label)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_subdomains_are_told_apart() {
        let long = "a".repeat(64);
        for (name, label, subdomain) in [
            ("a", true, true),
            ("a-1", true, true),
            ("a.b", false, true),
            ("", false, false),
            ("-a", false, false),
            ("a-", false, false),
            ("a..b", false, false),
            ("a.b-", false, false),
            ("A", false, false),
            ("a_b", false, false),
            ("é", false, false),
            (long.as_str(), false, true),
        ] {
            assert_eq!(
                (is_label(name), is_subdomain(name)),
                (label, subdomain),
                "{name}"
            );
        }
    }
}
