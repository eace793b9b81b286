//! Leader election: one of several replicas leads, by holding a Lease.

mod elector;
mod events;
mod guard;
mod lease;
mod observed;
mod record;
mod rules;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use uuid::Uuid;

pub use elector::LeaderElector;
pub(crate) use events::EventRecorder;
pub use guard::LeaderGuard;
pub(crate) use guard::{Leadership, NotLeading};
pub(crate) use lease::{Failure, Place, Updates};
pub use observed::ObservedLease;
pub(crate) use record::{Record, micro_time, whole_seconds};
pub(crate) use rules::{Moment, Timing};

/// Configures the election of the replica that runs the controllers: the replica that holds a Lease leads.
///
/// It is the election of Kubernetes' own controllers, with the same Lease, fields and default times, so that replicas of both
/// kinds can take turns. It differs where that is safer or quicker:
///
/// * A standby watches the Lease instead of asking every other second: it leads within milliseconds after a release.
/// * A leader measures its deadline from when it sent a renewal, not from when the answer came, so that an answer that was
///   long on its way makes no second leader.
/// * A replica that finds the Lease deleted waits for the holder that it last saw.
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
/// use kubewright_controller::LeaderElection;
///
/// let election = LeaderElection::by_lease("gardens").in_namespace("blue");
/// assert_eq!(election.lease(), "gardens");
/// assert!(election.check().is_ok());
/// ```
#[derive(Clone)]
#[must_use]
pub struct LeaderElection {
    lease: Arc<str>,
    namespace: Option<Arc<str>>,
    identity: Option<Arc<str>>,
    timing: Timing,
}

/// The reason why the times of an election do not fit together.
///
/// ```
/// use std::time::Duration;
/// use kubewright_controller::{LeaderElection, LeaderElectionError};
///
/// let election = LeaderElection::by_lease("gardens").renew_deadline(Duration::from_secs(20));
/// let error = election.check().unwrap_err();
/// assert_eq!(error, LeaderElectionError::RenewDeadline);
/// assert_eq!(error.to_string(), "the renew deadline is not shorter than the lease duration");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LeaderElectionError {
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

impl LeaderElection {
    /// Elects by the Lease of this name.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    ///
    /// assert_eq!(LeaderElection::by_lease("gardens").lease(), "gardens");
    /// ```
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

    /// Keeps the Lease in this namespace. Default: the program's own.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    ///
    /// let election = LeaderElection::by_lease("gardens").in_namespace("kube-system");
    /// assert_eq!(election.namespace(), Some("kube-system"));
    /// ```
    pub fn in_namespace(mut self, namespace: impl Into<Arc<str>>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets the identity of this replica, which is unique among the replicas. Default: its host name and a random UUID.
    ///
    /// ```
    /// use kubewright_controller::{LeaderElection, LeaderElector};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let election = LeaderElection::by_lease("gardens").identity("gardener-0");
    /// let elector = LeaderElector::new(&election, cluster.client());
    /// assert_eq!(elector.identity(), "gardener-0");
    /// # Ok(())
    /// # }
    /// ```
    pub fn identity(mut self, identity: impl Into<Arc<str>>) -> Self {
        self.identity = Some(identity.into());
        self
    }

    /// Sets how long the other replicas wait for a leader that does not renew, in whole seconds. Default: 15 s.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::{LeaderElection, LeaderElectionError};
    ///
    /// let patient = LeaderElection::by_lease("gardens").lease_duration(Duration::from_mins(1));
    /// assert!(patient.check().is_ok());
    /// let fraction = LeaderElection::by_lease("gardens").lease_duration(Duration::from_millis(15_500));
    /// assert_eq!(fraction.check(), Err(LeaderElectionError::LeaseDuration));
    /// ```
    pub fn lease_duration(mut self, duration: Duration) -> Self {
        self.timing.lease = duration;
        self
    }

    /// Sets how long a leader leads without having renewed. Default: 10 s.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::{LeaderElection, LeaderElectionError};
    ///
    /// let election = LeaderElection::by_lease("gardens").lease_duration(Duration::from_secs(30));
    /// assert!(election.clone().renew_deadline(Duration::from_secs(20)).check().is_ok());
    /// let too_long = election.renew_deadline(Duration::from_secs(30));
    /// assert_eq!(too_long.check(), Err(LeaderElectionError::RenewDeadline));
    /// ```
    pub fn renew_deadline(mut self, deadline: Duration) -> Self {
        self.timing.renew_deadline = deadline;
        self
    }

    /// Sets how often a leader renews, and how long a replica waits after an error. Default: 2 s.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::{LeaderElection, LeaderElectionError};
    ///
    /// let election = LeaderElection::by_lease("gardens");
    /// assert!(election.clone().retry_period(Duration::from_secs(5)).check().is_ok());
    /// // At most two thirds of the renew deadline of 10 s.
    /// let too_long = election.retry_period(Duration::from_secs(7));
    /// assert_eq!(too_long.check(), Err(LeaderElectionError::RetryPeriod));
    /// ```
    pub fn retry_period(mut self, period: Duration) -> Self {
        self.timing.retry = period;
        self
    }

    /// Returns the name of the Lease.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    ///
    /// assert_eq!(LeaderElection::from("gardens").lease(), "gardens");
    /// ```
    pub fn lease(&self) -> &str {
        &self.lease
    }

    /// Returns the namespace of the Lease, if it is set.
    ///
    /// ```
    /// use kubewright_controller::LeaderElection;
    ///
    /// let election = LeaderElection::by_lease("gardens");
    /// assert_eq!(election.namespace(), None);
    /// assert_eq!(election.in_namespace("blue").namespace(), Some("blue"));
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// Checks that the times fit together.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_controller::LeaderElection;
    ///
    /// let election = LeaderElection::by_lease("gardens");
    /// assert!(election.check().is_ok());
    /// assert!(election.retry_period(Duration::ZERO).check().is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// When two replicas could lead at once with these times, or no replica could lead for long.
    pub fn check(&self) -> Result<(), LeaderElectionError> {
        let Timing {
            lease,
            renew_deadline,
            retry,
        } = self.timing;
        if lease.is_zero() || lease.subsec_nanos() != 0 {
            return Err(LeaderElectionError::LeaseDuration);
        }
        if renew_deadline >= lease {
            return Err(LeaderElectionError::RenewDeadline);
        }
        if retry.is_zero() || retry > renew_deadline * 2 / 3 {
            return Err(LeaderElectionError::RetryPeriod);
        }
        Ok(())
    }

    pub(crate) fn timing(&self) -> Timing {
        self.timing
    }

    /// Where the Lease is, for a program with this client.
    pub(crate) fn place(&self, client: Client) -> Place {
        let namespace = match &self.namespace {
            Some(namespace) => Arc::clone(namespace),
            None => client.default_namespace().into(),
        };
        Place {
            client,
            namespace,
            name: Arc::clone(&self.lease),
        }
    }

    /// The name of this replica.
    pub(crate) fn name(&self) -> Arc<str> {
        self.identity.clone().unwrap_or_else(|| {
            let host = hostname::get()
                .ok()
                .and_then(|host| host.into_string().ok());
            let host = host.unwrap_or_else(|| "unknown".to_owned());
            format!("{host}_{}", Uuid::new_v4()).into()
        })
    }
}

impl From<&str> for LeaderElection {
    fn from(lease: &str) -> Self {
        Self::by_lease(lease)
    }
}

impl From<String> for LeaderElection {
    fn from(lease: String) -> Self {
        Self::by_lease(lease)
    }
}

impl fmt::Debug for LeaderElection {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LeaderElection")
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
        let election = || LeaderElection::by_lease("a");
        for (election, checked) in [
            (election(), Ok(())),
            (
                election().lease_duration(seconds(0)),
                Err(LeaderElectionError::LeaseDuration),
            ),
            (
                election().lease_duration(Duration::from_millis(15_500)),
                Err(LeaderElectionError::LeaseDuration),
            ),
            (
                election().renew_deadline(seconds(15)),
                Err(LeaderElectionError::RenewDeadline),
            ),
            (
                election().retry_period(seconds(7)),
                Err(LeaderElectionError::RetryPeriod),
            ),
            (
                election().retry_period(seconds(0)),
                Err(LeaderElectionError::RetryPeriod),
            ),
        ] {
            assert_eq!(election.check(), checked, "{election:?}");
        }
    }

    #[test]
    fn two_replicas_have_two_names() {
        let election = LeaderElection::by_lease("a");
        assert_ne!(election.name(), election.name());
        assert_eq!(&*election.identity("me").name(), "me");
    }
}
