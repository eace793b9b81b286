//! The published list of archives: the format of controller-tools' `envtest-releases.yaml`.

use std::collections::BTreeMap;

use http::Uri;
use serde::Deserialize;

use super::hash::Sha512;
use super::http::{resolve, same_host};
use super::platform::Platform;
use super::version::{Selector, Version};

/// What an index says.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    archives: Vec<Archive>,
}

/// The programs of one version for one platform.
#[derive(Clone, Debug)]
pub(crate) struct Archive {
    pub(crate) version: Version,
    pub(crate) platform: Platform,
    pub(crate) hash: Sha512,
    /// Addresses of the archive, in the order in which to try them.
    pub(crate) places: Vec<Uri>,
}

/// Address of the index that controller-tools publishes.
pub(crate) const PUBLISHED: &str =
    "https://raw.githubusercontent.com/kubernetes-sigs/controller-tools/HEAD/envtest-releases.yaml";

impl Index {
    /// Reads an index that came from `address`.
    ///
    /// # Errors
    /// A sentence about what is wrong with it.
    pub(crate) fn read(text: &str, address: &Uri) -> Result<Self, String> {
        let document: Document = serde_saphyr::from_str(text)
            .map_err(|error| format!("it is no index of archives: {error}"))?;
        let mut archives = Vec::new();
        for (name, entry) in document.releases.into_values().flatten() {
            // Others may be published beside them one day.
            let Some((version, platform)) = named(&name) else {
                continue;
            };
            let hash = entry.hash.parse();
            let hash = hash.map_err(|error| format!("the hash of {name} is none: {error}"))?;
            let linked = resolve(address, &entry.self_link)
                .ok_or_else(|| format!("the link of {name} is none: {}", entry.self_link))?;
            // A mirror may be a plain copy of the index with the archives beside it.
            let beside = resolve(address, &name)
                .filter(|_| *address != PUBLISHED && !same_host(address, &linked));
            archives.push(Archive {
                version,
                platform,
                hash,
                places: beside.into_iter().chain([linked]).collect(),
            });
        }
        if archives.is_empty() {
            return Err("it names no archive".to_owned());
        }
        archives.sort_by(|a, b| (b.version, &a.platform).cmp(&(a.version, &b.platform)));
        Ok(Self { archives })
    }

    /// All archives, the newest version first.
    pub(crate) fn archives(&self) -> &[Archive] {
        &self.archives
    }

    /// The newest version that is meant and that there is for the platform.
    pub(crate) fn newest(&self, selector: &Selector, platform: &Platform) -> Option<&Archive> {
        self.archives
            .iter()
            .find(|archive| archive.platform == *platform && selector.matches(archive.version))
    }
}

/// The version and the platform in an archive's name.
fn named(name: &str) -> Option<(Version, Platform)> {
    let name = name.strip_prefix("envtest-v")?.strip_suffix(".tar.gz")?;
    let (version, platform) = name.split_once('-')?;
    Some((version.parse().ok()?, platform.parse().ok()?))
}

#[derive(Deserialize)]
struct Document {
    releases: BTreeMap<String, BTreeMap<String, Entry>>,
}

#[derive(Deserialize)]
struct Entry {
    hash: String,
    #[serde(rename = "selfLink")]
    self_link: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(address: &'static str, entries: &[(&str, &str, &str)]) -> Result<Index, String> {
        use std::fmt::Write as _;
        let mut text = "releases:\n  v1:\n".to_owned();
        for (name, hash, link) in entries {
            write!(
                text,
                "    {name}:\n      hash: {hash}\n      selfLink: {link}\n"
            )
            .unwrap();
        }
        Index::read(&text, &Uri::from_static(address))
    }

    #[test]
    fn the_newest_version_for_a_platform_is_found_and_other_files_are_passed_over() {
        let hash = "0a".repeat(64);
        let index = read(
            "https://host/index.yaml",
            &[
                ("envtest-v1.9.10-linux-amd64.tar.gz", &hash, "a"),
                ("envtest-v1.10.0-linux-amd64.tar.gz", &hash, "b"),
                ("envtest-v1.11.0-darwin-arm64.tar.gz", &hash, "c"),
                ("envtest-v1.12.0-linux-amd64.zip", "none", "d"),
            ],
        );
        let index = index.unwrap();
        let linux = Platform::of("linux", "amd64");
        let newest = index.newest(&Selector::ANY, &linux).unwrap();
        assert_eq!(newest.version.to_string(), "1.10.0");
        assert_eq!(newest.places, [Uri::from_static("https://host/b")]);
        assert_eq!(index.archives().len(), 3);
    }

    #[test]
    fn a_copy_of_the_index_is_a_mirror_of_the_archives_beside_it() {
        let hash = "0a".repeat(64);
        let name = "envtest-v1.36.2-linux-amd64.tar.gz";
        let link = "https://github.com/releases/one.tar.gz";
        let places = |address| {
            let index = read(address, &[(name, &hash, link)]).unwrap();
            let places = index.archives()[0].places.iter().map(Uri::to_string);
            places.collect::<Vec<_>>()
        };
        assert_eq!(
            places("http://mirror/kubernetes/index.yaml"),
            [&format!("http://mirror/kubernetes/{name}"), link]
        );
        assert_eq!(places(PUBLISHED), [link]);
    }

    #[test]
    fn an_index_that_says_nothing_or_nonsense_is_refused() {
        let address = Uri::from_static("https://host/index.yaml");
        for (text, reason) in [
            ("<html>not here</html>", "it is no index"),
            ("", "it is no index"),
            ("releases: {}", "it names no archive"),
            (
                "releases: {v1: {other.tar.gz: {hash: x, selfLink: y}}}",
                "it names no archive",
            ),
            (
                "releases: {v1: {envtest-v1.36.2-linux-amd64.tar.gz: {hash: abc, selfLink: y}}}",
                "the hash of envtest-v1.36.2-linux-amd64.tar.gz is none",
            ),
        ] {
            let error = Index::read(text, &address).unwrap_err();
            assert!(error.starts_with(reason), "{text}: {error}");
        }
    }
}
