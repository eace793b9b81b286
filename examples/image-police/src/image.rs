//! References to images, as the container of a pod names them.

/// What a container's image reference says: a name, and which of its images is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Image<'a> {
    /// With the registry, if one is named, and its port.
    pub(crate) name: &'a str,
    /// The digest if there is one, for then it decides what runs; else the tag, which is `latest` if there is none.
    pub(crate) version: &'a str,
}

impl<'a> Image<'a> {
    /// Reads a reference such as `nginx`, `reg:5000/app:1.0` or `app@sha256:…`.
    pub(crate) fn of(reference: &'a str) -> Self {
        let (tagged, digest) = match reference.split_once('@') {
            Some((tagged, digest)) => (tagged, Some(digest)),
            None => (reference, None),
        };
        // A colon before the last slash belongs to the port of a registry.
        let path = tagged.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match tagged[path..].rfind(':') {
            Some(colon) => (&tagged[..path + colon], &tagged[path + colon + 1..]),
            None => (tagged, "latest"),
        };
        Self {
            name,
            version: digest.unwrap_or(tag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_and_a_version() {
        for (reference, name, version) in [
            ("nginx", "nginx", "latest"),
            ("nginx:1.14.2", "nginx", "1.14.2"),
            ("gcr.io/busybox", "gcr.io/busybox", "latest"),
            ("reg:5000/app", "reg:5000/app", "latest"),
            ("reg:5000/team/app:1.0", "reg:5000/team/app", "1.0"),
            ("app@sha256:abc", "app", "sha256:abc"),
            ("reg:5000/app@sha256:abc", "reg:5000/app", "sha256:abc"),
            ("reg:5000/app:1.0@sha256:abc", "reg:5000/app", "sha256:abc"),
            ("", "", "latest"),
            ("app:", "app", ""),
        ] {
            assert_eq!(Image::of(reference), Image { name, version }, "{reference}");
        }
    }
}
