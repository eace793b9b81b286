//! Versions of Kubernetes, and the selectors that name them: those of setup-envtest.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A released version, such as 1.36.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Version {
    major: u32,
    minor: u32,
    patch: u32,
}

/// Which versions are meant, and whether the index has to be asked for the newest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selector {
    matching: Matching,
    newest: Newest,
}

/// Which versions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Matching {
    Any,
    Exactly(Version),
    Minor(u32, u32),
    /// Of the same minor version, and not older.
    From(Version),
    Before(Bound),
    UpTo(Bound),
}

/// A limit: `1.30` as a whole, or one version of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bound {
    Minor(u32, u32),
    Version(Version),
}

/// Where the newest of the versions that are meant is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Newest {
    /// What is pinned or installed will do.
    Known,
    /// The index is asked, whatever is pinned or installed: `!`, and `latest`.
    Published,
    /// Nothing but what is installed: `latest-on-disk`.
    Installed,
}

impl Selector {
    /// Every version.
    pub(crate) const ANY: Self = Self {
        matching: Matching::Any,
        newest: Newest::Known,
    };

    /// This version alone.
    pub(crate) fn exactly(version: Version) -> Self {
        Self {
            matching: Matching::Exactly(version),
            newest: Newest::Known,
        }
    }

    pub(crate) fn newest(&self) -> Newest {
        self.newest
    }

    pub(crate) fn matches(&self, version: Version) -> bool {
        let minor = (version.major, version.minor);
        match self.matching {
            Matching::Any => true,
            Matching::Exactly(wanted) => version == wanted,
            Matching::Minor(major, wanted) => minor == (major, wanted),
            Matching::From(oldest) => minor == (oldest.major, oldest.minor) && version >= oldest,
            Matching::Before(Bound::Version(limit)) => version < limit,
            Matching::UpTo(Bound::Version(limit)) => version <= limit,
            Matching::Before(Bound::Minor(major, limit)) => minor < (major, limit),
            Matching::UpTo(Bound::Minor(major, limit)) => minor <= (major, limit),
        }
    }
}

impl FromStr for Selector {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (matching, newest) = match text {
            "latest" => (Matching::Any, Newest::Published),
            "latest-on-disk" => (Matching::Any, Newest::Installed),
            _ => match text.strip_suffix('!') {
                Some(rest) => (matching(rest)?, Newest::Published),
                None => (matching(text)?, Newest::Known),
            },
        };
        Ok(Self { matching, newest })
    }
}

fn matching(text: &str) -> Result<Matching, String> {
    let bound = |rest: &str| {
        Ok(match parts(rest)? {
            (major, minor, None) => Bound::Minor(major, minor),
            (major, minor, Some(patch)) => Bound::Version(Version::new(major, minor, patch)),
        })
    };
    if let Some(rest) = text.strip_prefix("<=") {
        return bound(rest).map(Matching::UpTo);
    }
    if let Some(rest) = text.strip_prefix('<') {
        return bound(rest).map(Matching::Before);
    }
    if let Some(rest) = text.strip_prefix('~') {
        let (major, minor, patch) = parts(rest)?;
        let oldest = Version::new(major, minor, patch.unwrap_or(0));
        return Ok(Matching::From(oldest));
    }
    Ok(match parts(text)? {
        (major, minor, None) => Matching::Minor(major, minor),
        (major, minor, Some(patch)) => Matching::Exactly(Version::new(major, minor, patch)),
    })
}

/// Major and minor version, and the patch unless any will do.
fn parts(text: &str) -> Result<(u32, u32, Option<u32>), String> {
    let wrong = || {
        "it has to be a version such as 1.36.2, 1.36, 1.36.x, ~1.36.1, <1.36 or <=1.36.1, with a `!` behind it to ask the \
         index for the newest one, or `latest` or `latest-on-disk`"
            .to_owned()
    };
    let mut numbers = text.strip_prefix('v').unwrap_or(text).split('.');
    let (major, minor) = (numbers.next(), numbers.next());
    let (major, minor) = (major.and_then(number), minor.and_then(number));
    let (Some(major), Some(minor)) = (major, minor) else {
        return Err(wrong());
    };
    let patch = match (numbers.next(), numbers.next()) {
        (None | Some("x" | "*"), None) => None,
        (Some(patch), None) => Some(number(patch).ok_or_else(wrong)?),
        _ => return Err(wrong()),
    };
    Ok((major, minor, patch))
}

/// Parses a component of a version: digits only, without leading zeros.
fn number(text: &str) -> Option<u32> {
    let plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let padded = text.len() > 1 && text.starts_with('0');
    (plain && !padded).then(|| text.parse().ok()).flatten()
}

impl Version {
    pub(crate) fn new(major: u32, minor: u32, patch: u32) -> Self {
        Self {
            major,
            minor,
            patch,
        }
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match parts(text) {
            Ok((major, minor, Some(patch))) => Ok(Self::new(major, minor, patch)),
            _ => Err("it has to be one version, such as 1.36.2".to_owned()),
        }
    }
}

impl TryFrom<String> for Version {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.major, self.minor, self.patch)
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.matching {
            Matching::Any => f.write_str("any version"),
            Matching::Exactly(version) => version.fmt(f),
            Matching::Minor(major, minor) => write!(f, "{major}.{minor}.x"),
            Matching::From(version) => write!(f, "~{version}"),
            Matching::Before(bound) => write!(f, "<{bound}"),
            Matching::UpTo(bound) => write!(f, "<={bound}"),
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Minor(major, minor) => write!(f, "{major}.{minor}"),
            Self::Version(version) => version.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matched(selector: &str) -> Vec<String> {
        let selector: Selector = selector.parse().unwrap();
        ["1.28.0", "1.29.4", "1.36.0", "1.36.1", "1.36.2", "2.0.0"]
            .into_iter()
            .map(|version| version.parse::<Version>().unwrap())
            .filter(|version| selector.matches(*version))
            .map(|version| version.to_string())
            .collect()
    }

    #[test]
    fn selectors_mean_what_they_mean_to_setup_envtest() {
        assert_eq!(matched("1.36.1"), ["1.36.1"]);
        assert_eq!(matched("v1.36.1"), ["1.36.1"]);
        for minor in ["1.36", "1.36.x", "1.36.*", "~1.36", "~1.36.x", "1.36.x!"] {
            assert_eq!(matched(minor), ["1.36.0", "1.36.1", "1.36.2"], "{minor}");
        }
        assert_eq!(matched("~1.36.1"), ["1.36.1", "1.36.2"]);
        assert_eq!(matched("<1.36"), ["1.28.0", "1.29.4"]);
        assert_eq!(matched("<1.36.1"), ["1.28.0", "1.29.4", "1.36.0"]);
        assert_eq!(matched("<=1.29"), ["1.28.0", "1.29.4"]);
        assert_eq!(matched("<=1.29.3"), ["1.28.0"]);
        assert_eq!(matched("latest").len(), 6);
    }

    #[test]
    fn only_a_mark_and_latest_ask_the_index() {
        let newest = |text: &str| text.parse::<Selector>().unwrap().newest();
        assert_eq!(newest("1.36"), Newest::Known);
        assert_eq!(newest("1.36!"), Newest::Published);
        assert_eq!(newest("latest"), Newest::Published);
        assert_eq!(newest("latest-on-disk"), Newest::Installed);
    }

    #[test]
    fn what_is_no_selector_is_refused() {
        for text in [
            "",
            "1",
            "1.",
            "1.36.",
            "1.36.2.1",
            "1.36-rc.1",
            "1.036",
            "one",
            "!",
            ">1.36",
            "1.36!!",
        ] {
            assert!(text.parse::<Selector>().is_err(), "{text:?}");
        }
        assert!("1.36".parse::<Version>().is_err());
    }

    #[test]
    fn versions_are_ordered_by_number() {
        let parse = |text: &str| text.parse::<Version>().unwrap();
        assert!(parse("1.9.10") < parse("1.10.0"));
        assert!(parse("1.10.2") < parse("1.10.10"));
    }
}
