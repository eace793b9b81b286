//! References to images: when an image is pulled, by what its reference says.

/// `Always` for the tag `latest`, said or not; a reference that cannot be read has no tag at all.
pub(crate) fn pull_policy(image: &str) -> &'static str {
    let reference = Reference::parse(image);
    match reference.map(|reference| (reference.tag, reference.digest)) {
        Some(("latest", _) | ("", "")) => "Always",
        _ => "IfNotPresent",
    }
}

/// What a reference says besides the name of the repository.
struct Reference<'a> {
    tag: &'a str,
    digest: &'a str,
}

impl<'a> Reference<'a> {
    /// Reads a reference as github.com/distribution/reference does.
    fn parse(image: &'a str) -> Option<Self> {
        // A bare digest is no name.
        if is_hex(image, 64) {
            return None;
        }
        let (domain, rest) = split_domain(image);
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, digest),
            Some(_) => return None,
            None => (rest, ""),
        };
        let (path, tag) = match rest.split_once(':') {
            Some((path, tag)) if is_tag(tag) => (path, tag),
            Some(_) => return None,
            None => (rest, ""),
        };
        (is_domain(domain) && is_path(path)).then_some(Self { tag, digest })
    }
}

/// The registry, which is the first part only where it cannot be a part of the repository's name.
fn split_domain(image: &str) -> (&str, &str) {
    const DEFAULT: &str = "docker.io";
    match image.split_once('/') {
        Some((first, rest))
            if first == "localhost"
                || first.contains(['.', ':'])
                || first.bytes().any(|b| b.is_ascii_uppercase()) =>
        {
            (first, rest)
        }
        _ => (DEFAULT, image),
    }
}

fn is_domain(domain: &str) -> bool {
    let of_address = |b: u8| b.is_ascii_hexdigit() || b == b':';
    let (host_is_valid, port) = if let Some(rest) = domain.strip_prefix('[') {
        let Some((address, port)) = rest.split_once(']') else {
            return false;
        };
        let is_valid = !address.is_empty() && address.bytes().all(of_address);
        (is_valid, port)
    } else {
        let end = domain.find(':').unwrap_or(domain.len());
        let (host, port) = domain.split_at(end);
        (host.split('.').all(is_label), port)
    };
    let digits = |port: &str| !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
    host_is_valid && (port.is_empty() || port.strip_prefix(':').is_some_and(digits))
}

fn is_label(label: &str) -> bool {
    let bytes = label.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    edge(bytes.first())
        && edge(bytes.last())
        && bytes
            .iter()
            .all(|b| b.is_ascii_alphanumeric() || *b == b'-')
}

fn is_path(path: &str) -> bool {
    const LONGEST: usize = 255;
    // A name alone is one of the default registry's library.
    let library = if path.contains('/') {
        0
    } else {
        "library/".len()
    };
    path.len() + library <= LONGEST && path.split('/').all(is_component)
}

/// Lower-case letters and digits, with a dot, one or two underscores, or any number of dashes between them.
fn is_component(component: &str) -> bool {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let bytes = component.as_bytes();
    let edge = |b: Option<&u8>| b.is_some_and(|b| is_letter(*b));
    let mut separators = component.split(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    edge(bytes.first())
        && edge(bytes.last())
        && separators.all(|separator| {
            matches!(separator, "" | "." | "_" | "__") || separator.bytes().all(|b| b == b'-')
        })
}

fn is_tag(tag: &str) -> bool {
    const LONGEST: usize = 128;
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
    let starts = tag.bytes().next().is_some_and(word);
    starts && tag.len() <= LONGEST && tag.bytes().all(|b| word(b) || matches!(b, b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    match digest.split_once(':') {
        Some(("sha256", hex)) => is_hex(hex, 64),
        Some(("sha384", hex)) => is_hex(hex, 96),
        Some(("sha512", hex)) => is_hex(hex, 128),
        _ => false,
    }
}

fn is_hex(text: &str, length: usize) -> bool {
    let lower = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    text.len() == length && text.bytes().all(lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_reference_that_is_read_has_the_tag_latest() {
        let hex = "0123456789abcdef".repeat(4);
        for image in [
            "a",
            "a:latest",
            "a/b",
            "a.b/c",
            "a__b",
            "a--b",
            "Registry/a",
            "localhost/a",
            "localhost:5000/a:latest",
            "[::1]:5000/a",
            &format!("a:latest@sha256:{hex}"),
        ] {
            assert_eq!(pull_policy(image), "Always", "{image}");
        }
        for image in [
            "",
            "-a",
            "a-",
            "a..b",
            "a___b",
            "a._b",
            "A",
            "a:",
            "a:1",
            "a:-latest",
            "a/",
            "/a",
            "a//b",
            "a b",
            "-.b/c",
            "a:x/b",
            "[/a",
            "a@sha256:0",
            "a:latest@sha256:0",
            &hex,
            &format!("a@sha256:{hex}"),
            &"a".repeat(249),
        ] {
            assert_eq!(pull_policy(image), "IfNotPresent", "{image}");
        }
    }
}
