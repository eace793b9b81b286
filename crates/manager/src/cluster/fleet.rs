//! A fleet, as the code of a program sees it.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubewright_manifests::Permissions;

use super::Members;
use super::fleets::{DeclaredFleet, Joins};
use crate::{ClusterNeeds, ClusterState, Live};

/// The clusters of a fleet at the moment, each with the handles that the fleet's function has made for it.
///
/// [`Needs::fleet`](crate::Needs::fleet) returns it.
pub struct Fleet<H>(Arc<Mutex<BTreeMap<Arc<str>, Present<H>>>>);

struct Present<H> {
    /// None: the function has failed.
    handles: Option<Arc<H>>,
    state: Live<ClusterState>,
}

impl<H> Fleet<H> {
    /// Returns the handles on a cluster, if it is a member. Handles on a cluster that has left wait or fail: they do not
    /// lead to a cluster that comes back by the same name.
    #[must_use]
    pub fn get(&self, cluster: &str) -> Option<Arc<H>> {
        self.present().get(cluster)?.handles.clone()
    }

    /// Returns the names of the members, in their order.
    #[must_use]
    pub fn names(&self) -> Vec<Arc<str>> {
        self.present().keys().cloned().collect()
    }

    /// Returns how it stands with a cluster, if it is a member.
    #[must_use]
    pub fn state(&self, cluster: &str) -> Option<Arc<ClusterState>> {
        Some(self.present().get(cluster)?.state.current())
    }

    fn present(&self) -> MutexGuard<'_, BTreeMap<Arc<str>, Present<H>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<H> Clone for Fleet<H> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<H> fmt::Debug for Fleet<H> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_set().entries(self.names()).finish()
    }
}

/// Declares a fleet: calls its function once, for what it requests in each cluster.
pub(crate) fn declare<H: Send + Sync + 'static>(
    name: Arc<str>,
    members: Members,
    function: impl Fn(&mut ClusterNeeds) -> H + Send + Sync + 'static,
) -> (Fleet<H>, DeclaredFleet) {
    let mut needs = ClusterNeeds::of(Arc::clone(&name));
    drop(function(&mut needs));
    let fleet = Fleet(Arc::default());
    let founded = Founded {
        fleet: fleet.clone(),
        permissions: needs.permissions.clone(),
        function,
    };
    let declared = DeclaredFleet {
        name,
        members,
        permissions: needs.permissions,
        controllers: needs.controllers,
        joins: Box::new(founded),
    };
    (fleet, declared)
}

struct Founded<H, F> {
    fleet: Fleet<H>,
    permissions: Permissions,
    function: F,
}

impl<H, F> Joins for Founded<H, F>
where
    H: Send + Sync + 'static,
    F: Fn(&mut ClusterNeeds) -> H + Send + Sync + 'static,
{
    fn join(&self, name: &Arc<str>) -> Result<ClusterNeeds, &'static str> {
        let mut needs = ClusterNeeds::of(Arc::clone(name));
        let called = catch_unwind(AssertUnwindSafe(|| (self.function)(&mut needs)));
        let handles = match called {
            Err(_) => Err("the function of the fleet has panicked"),
            // Roles are printed before the cluster is known.
            Ok(_) if needs.permissions != self.permissions => Err(
                "the function of the fleet requests other permissions in it than in the first call",
            ),
            Ok(handles) => Ok(handles),
        };
        let (handles, state, joined) = match handles {
            Ok(handles) => (Some(Arc::new(handles)), needs.state(), Ok(needs)),
            Err(why) => {
                let state = Live::fixed(ClusterState::Unreachable(why.to_owned()));
                (None, state, Err(why))
            }
        };
        let present = Present { handles, state };
        self.fleet.present().insert(Arc::clone(name), present);
        joined
    }

    fn leave(&self, name: &str) {
        // What the program drops with its handles may ask for the fleet.
        let left = self.fleet.present().remove(name);
        drop(left);
    }
}
