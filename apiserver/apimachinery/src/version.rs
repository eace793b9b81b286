//! The versions of Kubernetes whose behaviour these crates have.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// The version of Kubernetes that the server is of, such as `v1.37.2`.
pub const GIT_VERSION: &str = "v1.37.2";

/// A minor version of Kubernetes that a server can emulate, as kube-apiserver does with `--emulated-version`.
///
/// ```
/// use kubewright_apimachinery::version::KubernetesVersion;
///
/// let older: KubernetesVersion = "1.36".parse()?;
/// assert_eq!(older, KubernetesVersion::V1_36);
/// assert!(older < KubernetesVersion::default());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum KubernetesVersion {
    /// Kubernetes 1.35.
    V1_35,
    /// Kubernetes 1.36.
    V1_36,
    /// Kubernetes 1.37, which the server is of.
    #[default]
    V1_37,
}

/// No server emulates such a version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("Kubernetes {0:?} cannot be emulated: say 1.35, 1.36 or 1.37")]
pub struct UnknownVersion(String);

impl KubernetesVersion {
    /// Every version that can be emulated, the oldest first.
    pub const ALL: [Self; 3] = [Self::V1_35, Self::V1_36, Self::V1_37];

    /// The number behind `1.`.
    pub fn minor(self) -> u32 {
        match self {
            Self::V1_35 => 35,
            Self::V1_36 => 36,
            Self::V1_37 => 37,
        }
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor())
    }
}

impl FromStr for KubernetesVersion {
    type Err = UnknownVersion;

    /// Reads `1.36` or `v1.36`.
    fn from_str(text: &str) -> Result<Self, UnknownVersion> {
        let said = text.strip_prefix('v').unwrap_or(text);
        Self::ALL
            .into_iter()
            .find(|version| version.to_string() == said)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_the_one_that_the_server_is_of() {
        let newest = KubernetesVersion::default();
        assert_eq!(KubernetesVersion::ALL.last(), Some(&newest));
        assert!(GIT_VERSION.starts_with(&format!("v{newest}.")));
    }

    #[test]
    fn a_version_is_read_as_it_is_written() {
        for version in KubernetesVersion::ALL {
            assert_eq!(version.to_string().parse(), Ok(version));
            assert_eq!(format!("v{version}").parse(), Ok(version));
        }
        let error = "1.34".parse::<KubernetesVersion>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "Kubernetes \"1.34\" cannot be emulated: say 1.35, 1.36 or 1.37"
        );
    }
}
