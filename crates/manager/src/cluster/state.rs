//! How it stands with another cluster.

use std::fmt;

/// How it stands with a cluster that the program works in. Each change of it is one line of the log.
///
/// ```
/// use kubewright_manager::ClusterState;
///
/// let state = ClusterState::Unreachable("the API server does not answer within 10 s".to_owned());
/// assert_eq!(state.to_string(), "unreachable: the API server does not answer within 10 s");
/// assert!(!state.is_ready());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterState {
    /// Its kubeconfig has not been read yet, or its caches are not complete.
    Connecting,
    /// Its API server answers, and its caches are complete.
    Ready,
    /// Its API server does not answer, or does not accept the credentials, or there is no kubeconfig that is accepted: why.
    Unreachable(String),
}

impl ClusterState {
    /// Whether the API server answers and the caches are complete.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    /// The state without its reason, as metrics name it.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Connecting => "connecting",
            Self::Ready => "ready",
            Self::Unreachable(_) => "unreachable",
        }
    }
}

impl fmt::Display for ClusterState {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())?;
        match self {
            Self::Unreachable(why) => write!(formatter, ": {why}"),
            Self::Connecting | Self::Ready => Ok(()),
        }
    }
}
