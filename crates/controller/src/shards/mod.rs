//! Sharded controllers: replicas share the objects of a controller.

mod hash;
mod holdings;
mod roster;
mod rules;
mod sharer;
#[cfg(test)]
mod tests;

use crate::LeaderElection;

pub(crate) use holdings::{Holdings, Moved, Turn};
use sharer::Sharer;
pub(crate) use sharer::{Share, Site};

/// Among how many shards the replicas of a program share the objects of a controller, and by which Lease; see
/// [`Controller::sharded`](crate::Controller::sharded).
///
/// ```
/// use std::time::Duration;
/// # use std::sync::Arc;
/// # use k8s_openapi::api::core::v1::Pod;
/// use kubewright_controller::{AnyController, Controller, LeaderElection, Sharding};
/// # use kubewright_controller::{Action, Context, Error};
/// # async fn reconcile(_: Arc<Pod>, _: Context) -> Result<Action, Error> { Ok(Action::await_change()) }
///
/// let patient = LeaderElection::by_lease("pods").lease_duration(Duration::from_mins(1));
/// let controller = Controller::new("pods", reconcile).sharded(Sharding::among(16).lease(patient));
/// assert_eq!(AnyController::from(controller).sharding_lease().unwrap().lease(), "pods");
///
/// let controller = Controller::new("pods", reconcile).sharded(16);
/// assert_eq!(AnyController::from(controller).sharding_lease().unwrap().lease(), "pods-shards");
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Sharding {
    count: u16,
    lease: Option<LeaderElection>,
    share: Share,
}

impl Sharding {
    /// Shares the objects among so many shards, at least one.
    pub fn among(shards: u16) -> Self {
        Self {
            count: shards.max(1),
            lease: None,
            share: Sharer::share,
        }
    }

    /// Sets the Lease in which the replicas write who holds which shards, as that of a leader election is set: its name, namespace and
    /// times, and the identity of this replica. Default: the names of the [program](crate::AnyController::of_program) and the controller
    /// with `-shards` behind them, and the defaults of [`LeaderElection`].
    ///
    /// Controllers of different kinds or numbers of shards do not share one Lease: the second waits, and its log says so. Those that
    /// are alike in both need Leases of different names.
    pub fn lease(mut self, lease: impl Into<LeaderElection>) -> Self {
        self.lease = Some(lease.into());
        self
    }

    pub(crate) fn count(&self) -> usize {
        self.count.into()
    }

    /// The Lease, for a controller of these names.
    /// What shares the objects, for which programs without sharded controllers have no code.
    pub(crate) fn share(&self) -> Share {
        self.share
    }

    pub(crate) fn election(&self, program: Option<&str>, controller: &str) -> LeaderElection {
        let default = || {
            let names = program.into_iter().chain([controller, "shards"]);
            LeaderElection::by_lease(names.collect::<Vec<_>>().join("-"))
        };
        self.lease.clone().unwrap_or_else(default)
    }
}

impl From<u16> for Sharding {
    fn from(shards: u16) -> Self {
        Self::among(shards)
    }
}
