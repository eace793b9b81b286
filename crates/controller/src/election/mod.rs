//! Elections: one of several replicas leads, by holding a Lease.

mod campaign;
mod candidacy;
mod record;
mod term;
mod told;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

pub use campaign::Campaign;
use candidacy::Timing;
pub(crate) use term::NotLeading;
pub use term::Term;

/// How the replicas of a program agree on the one that runs its controllers: they hold a Lease in turn.
///
/// It is the election of Kubernetes' own controllers, with the same Lease, fields and default times, so that replicas of both
/// kinds can take turns. It differs where that is safer or quicker:
///
/// * A standby watches the Lease instead of asking every other second: it leads within milliseconds after a release.
/// * A leader measures its deadline from when it sent a renewal, not from when the answer came, so that an answer that was
///   long on its way makes no second leader.
/// * Who finds the Lease deleted waits for the holder that it last saw.
///
/// | | at first | |
/// |---|---|---|
/// | [lease duration](Self::lease_duration) | 15 s | how long the others wait for a leader that does not renew |
/// | [renew deadline](Self::renew_deadline) | 10 s | how long a leader leads without having renewed |
/// | [retry period](Self::retry_period) | 2 s | how often a leader renews |
///
/// Times of day are written into the Lease for people, and never compared. Each replica measures by its own monotonic clock,
/// and two never lead at once as long as none runs a third slower than another (with the default times).
///
/// ```
/// use kubewright_controller::Election;
///
/// let election = Election::by_lease("gardens").in_namespace("blue");
/// assert_eq!(election.lease(), "gardens");
/// assert!(election.check().is_ok());
/// ```
#[derive(Clone)]
#[must_use]
pub struct Election {
    lease: Arc<str>,
    namespace: Option<Arc<str>>,
    identity: Option<Arc<str>>,
    timing: Timing,
}

/// The times of an election do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElectionError {
    /// The lease duration is not a number of whole seconds, which is all that a Lease can say.
    #[error("the lease duration is not a number of whole seconds above zero")]
    LeaseDuration,
    /// A leader could still lead when another takes over.
    #[error("the renew deadline is not shorter than the lease duration")]
    RenewDeadline,
    /// A leader would not come to renew before its deadline.
    #[error("the retry period is zero, or longer than two thirds of the renew deadline")]
    RetryPeriod,
}

impl Election {
    /// Elects by the Lease of this name.
    pub fn by_lease(name: impl Into<Arc<str>>) -> Self {
        Self {
            lease: name.into(),
            namespace: None,
            identity: None,
            timing: Timing {
                lease: Duration::from_secs(15),
                renew_deadline: Duration::from_secs(10),
                retry: Duration::from_secs(2),
            },
        }
    }

    /// Keeps the Lease in this namespace; in the program's own unless said.
    pub fn in_namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Names this replica; by its host and a random number unless said. No two replicas may have one name.
    pub fn identity(mut self, identity: impl Into<Arc<str>>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Sets how long the others wait for a leader that does not renew, in whole seconds; 15 s unless said.
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.timing.lease = duration;
        self
    }

    /// Sets how long a leader leads without having renewed; 10 s unless said.
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.timing.renew_deadline = deadline;
        self
    }

    /// Sets how often a leader renews, and how often a replica tries again what failed; 2 s unless said.
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.timing.retry = period;
        self
    }

    /// Returns the name of the Lease.
    pub fn lease(&self) -> &str {
        &self.lease
    }

    /// Returns the namespace of the Lease, if one was said.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Checks that the times fit together.
    ///
    /// # Errors
    ///
    /// When two could lead at once with these times, or nobody could for long.
    pub fn check(&self) -> Result<(), ElectionError> {
        let Timing {
            lease,
            renew_deadline,
            retry,
        } = self.timing;
        if lease.is_zero() || lease.subsec_nanos() != 0 {
            return Err(ElectionError::LeaseDuration);
        }
        if renew_deadline >= lease {
            return Err(ElectionError::RenewDeadline);
        }
        if retry.is_zero() || retry > renew_deadline * 2 / 3 {
            return Err(ElectionError::RetryPeriod);
        }
        Ok(())
    }

    /// The name of this replica.
    fn name(&self) -> Arc<str> {
        self.identity.clone().unwrap_or_else(|| {
            let host = hostname::get()
                .ok()
                .and_then(|host| host.into_string().ok());
            let host = host.unwrap_or_else(|| "unknown".to_owned());
            format!("{host}_{}", Uuid::new_v4()).into()
        })
    }
}

impl From<&str> for Election {
    fn from(lease: &str) -> Self {
        Self::by_lease(lease)
    }
}

impl From<String> for Election {
    fn from(lease: String) -> Self {
        Self::by_lease(lease)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Election")
            .field("lease", &self.lease)
            .field("namespace", &self.namespace)
            .field("timing", &self.timing)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_make_two_leaders_or_none_are_refused() {
        let seconds = Duration::from_secs;
        let election = || Election::by_lease("a");
        for (election, checked) in [
            (election(), Ok(())),
            (
                election().lease_duration(seconds(0)),
                Err(ElectionError::LeaseDuration),
            ),
            (
                election().lease_duration(Duration::from_millis(15_500)),
                Err(ElectionError::LeaseDuration),
            ),
            (
                election().renew_deadline(seconds(15)),
                Err(ElectionError::RenewDeadline),
            ),
            (
                election().retry_period(seconds(7)),
                Err(ElectionError::RetryPeriod),
            ),
            (
                election().retry_period(seconds(0)),
                Err(ElectionError::RetryPeriod),
            ),
        ] {
            assert_eq!(election.check(), checked, "{election:?}");
        }
    }

    #[test]
    fn two_replicas_have_two_names() {
        let election = Election::by_lease("a");
        assert_ne!(election.name(), election.name());
        assert_eq!(&*election.identity("me").name(), "me");
    }
}
