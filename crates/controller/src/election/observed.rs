//! The Lease of an election, for those who look inside a program.

use std::fmt;

use tokio::sync::watch;

use super::record::Record;

/// The Lease of an election as this replica sees it, also while it is not the leader. Clones see the same Lease.
#[derive(Clone)]
pub struct ObservedLease {
    latest: watch::Receiver<Option<Record>>,
}

impl ObservedLease {
    pub(super) fn new(latest: watch::Receiver<Option<Record>>) -> Self {
        Self { latest }
    }

    /// Returns the identity of the replica that holds the Lease, if one does.
    ///
    /// ```
    /// use kubewright_controller::{LeaderElection, LeaderElector};
    /// use kubewright_testing::{TestCluster, eventually};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let election = LeaderElection::by_lease("gardens").identity("gardens-0");
    /// let elector = LeaderElector::new(&election, cluster.client());
    /// let lease = elector.observed();
    /// assert_eq!((lease.holder(), lease.transitions()), (None, None));
    /// let lead = async |_| {
    ///     let holder = eventually("a holder", async || lease.holder()).await;
    ///     assert_eq!(holder, "gardens-0");
    /// };
    /// elector.run(std::future::pending(), lead).await;
    /// # }
    /// ```
    #[must_use]
    pub fn holder(&self) -> Option<String> {
        let latest = self.latest.borrow();
        latest.as_ref()?.holder().map(ToOwned::to_owned)
    }

    /// Returns how often the holder has changed (`leaseTransitions`): the number of the leader's term. `None`: there is no Lease, or
    /// it has not been seen yet.
    #[must_use]
    pub fn transitions(&self) -> Option<i64> {
        self.latest.borrow().as_ref().map(Record::transitions)
    }
}

impl fmt::Debug for ObservedLease {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("ObservedLease")
            .field("holder", &self.holder())
            .finish_non_exhaustive()
    }
}
