//! Levels and versions of the standards.

use std::fmt;

/// How strict a policy is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[expect(clippy::exhaustive_enums, reason = "the standards have three levels")]
pub enum Level {
    /// No restrictions.
    #[default]
    Privileged,
    /// Known privilege escalations are refused.
    Baseline,
    /// The current best practices for hardened pods.
    Restricted,
}

/// The version of the standards: checks are added with minor versions of Kubernetes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a version is named, or is the latest"
)]
pub enum Version {
    /// The newest version that the server knows.
    #[default]
    Latest,
    /// `v1.<minor>`.
    Minor(u64),
}

/// A level in one version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_structs,
    reason = "a level in one version is all there is"
)]
pub struct LevelVersion {
    /// The level.
    pub level: Level,
    /// The version.
    pub version: Version,
}

impl Level {
    /// Reads the value of a label.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "privileged" => Some(Self::Privileged),
            "baseline" => Some(Self::Baseline),
            "restricted" => Some(Self::Restricted),
            _ => None,
        }
    }
}

impl Version {
    /// Reads the value of a label: `latest` or `v1.x`.
    pub fn parse(text: &str) -> Option<Self> {
        if text == "latest" {
            return Some(Self::Latest);
        }
        let minor = text.strip_prefix("v1.")?;
        let is_number = minor.bytes().all(|digit| digit.is_ascii_digit());
        if !is_number || (minor.len() > 1 && minor.starts_with('0')) {
            return None;
        }
        // A larger number than Go has.
        minor.parse::<i64>().ok()?;
        minor.parse().ok().map(Self::Minor)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Privileged => "privileged",
            Self::Baseline => "baseline",
            Self::Restricted => "restricted",
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Latest => f.write_str("latest"),
            Self::Minor(minor) => write!(f, "v1.{minor}"),
        }
    }
}

impl fmt::Display for LevelVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.level, self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_the_latest_or_a_minor_one() {
        assert_eq!(Version::parse("latest"), Some(Version::Latest));
        assert_eq!(Version::parse("v1.0"), Some(Version::Minor(0)));
        assert_eq!(Version::parse("v1.25"), Some(Version::Minor(25)));
        for text in [
            "",
            "v1.",
            "v1.01",
            "v2.0",
            "1.25",
            "v1.x",
            "v1.-1",
            "Latest",
            "v1.99999999999999999999",
        ] {
            assert_eq!(Version::parse(text), None, "{text}");
        }
    }
}
