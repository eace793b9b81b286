//! The versions of Kubernetes whose libraries of functions are known.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// A minor version of Kubernetes, by which an [`Environment`](crate::Environment) has the functions of that version.
///
/// The default is the newest.
///
/// ```
/// use kubewright_cel::Version;
///
/// let older: Version = "v1.33".parse()?;
/// assert_eq!(older, Version::V1_33);
/// assert!(older < Version::default());
///
/// let unknown = "1.12".parse::<Version>().unwrap_err();
/// assert_eq!(unknown.to_string(), "the libraries of Kubernetes 1.12 are not known: use a version from 1.30 to 1.37");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Version {
    /// Kubernetes 1.30.
    V1_30,
    /// Kubernetes 1.31.
    V1_31,
    /// Kubernetes 1.32.
    V1_32,
    /// Kubernetes 1.33.
    V1_33,
    /// Kubernetes 1.34.
    V1_34,
    /// Kubernetes 1.35.
    V1_35,
    /// Kubernetes 1.36.
    V1_36,
    /// Kubernetes 1.37.
    #[default]
    V1_37,
}

/// A version of Kubernetes whose libraries are not known.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("the libraries of Kubernetes {0} are not known: use a version from 1.30 to 1.37")]
pub struct VersionError(String);

impl Version {
    /// All versions, the oldest first.
    pub const ALL: [Self; 8] = [
        Self::V1_30,
        Self::V1_31,
        Self::V1_32,
        Self::V1_33,
        Self::V1_34,
        Self::V1_35,
        Self::V1_36,
        Self::V1_37,
    ];

    /// The number behind `1.`.
    ///
    /// ```
    /// assert_eq!(kubewright_cel::Version::V1_35.minor(), 35);
    /// ```
    pub fn minor(self) -> u32 {
        match self {
            Self::V1_30 => 30,
            Self::V1_31 => 31,
            Self::V1_32 => 32,
            Self::V1_33 => 33,
            Self::V1_34 => 34,
            Self::V1_35 => 35,
            Self::V1_36 => 36,
            Self::V1_37 => 37,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor())
    }
}

impl FromStr for Version {
    type Err = VersionError;

    /// Reads `1.36`, `v1.36` or `v1.36.2`.
    fn from_str(text: &str) -> Result<Self, VersionError> {
        let number = text.strip_prefix('v').unwrap_or(text);
        let mut parts = number.splitn(3, '.');
        let (major, minor) = (parts.next(), parts.next());
        let known = minor
            .filter(|_| major == Some("1"))
            .and_then(|minor| minor.parse().ok())
            .and_then(|minor: u32| Self::ALL.into_iter().find(|one| one.minor() == minor));
        known.ok_or_else(|| VersionError(text.to_owned()))
    }
}
