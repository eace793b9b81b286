//! Whether a replica leads, as a guard that controllers hold.

use std::fmt;

use tokio::sync::watch;
use tokio::task_local;
use tokio::time::{Instant, sleep_until};

/// Tells whether a replica leads. Clones share the state.
///
/// Leadership is lost when the replica steps down or another one takes the Lease, and at the latest when the renew deadline has
/// passed since the replica sent the last renewal that was stored. The clock alone decides: a program that was paused finds
/// that it has lost leadership without a call to the API server.
#[derive(Clone)]
pub struct LeaderGuard {
    ends: watch::Receiver<Option<Instant>>,
    /// What a write is refused with afterwards.
    refusal: NotLeading,
}

/// Begins, extends and ends leadership, which ends when this value is dropped.
pub(crate) struct Leadership {
    ends: watch::Sender<Option<Instant>>,
    refusal: NotLeading,
}

/// A reconcile tried to write after its replica had lost what it takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum NotLeading {
    #[error("this replica has lost leadership: only the leader writes")]
    Leadership,
    #[error("this replica has lost the shard of the object: only its holder writes")]
    Shard,
}

task_local! {
    static GUARD: LeaderGuard;
}

impl LeaderGuard {
    /// Returns whether the replica leads.
    pub fn is_leader(&self) -> bool {
        let has_elector = self.ends.has_changed().is_ok();
        has_elector && self.ends.borrow().is_some_and(|end| Instant::now() < end)
    }

    /// Waits until the replica does not lead.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn lost(&self) {
        let mut ends = self.ends.clone();
        loop {
            let Some(end) = *ends.borrow_and_update() else {
                return;
            };
            tokio::select! {
                changed = ends.changed() => if changed.is_err() {
                    return;
                },
                () = sleep_until(end) => if !self.is_leader() {
                    return;
                },
            }
        }
    }

    /// Runs a future whose handles write only while the replica leads: when it has lost leadership, each of them returns an error
    /// before it sends anything. Tasks that the future spawns are not bound.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Connection, LeaderElection, LeaderElector, Scope, Writer};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let connection = Connection::new();
    /// connection.open(cluster.client(), "gardener");
    /// let maps: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// let map: ConfigMap = yaml("metadata: {name: settings, namespace: default}");
    ///
    /// let elector = LeaderElector::new(&LeaderElection::by_lease("gardens"), cluster.client());
    /// let leader = elector.guard();
    /// assert!(leader.clone().bind(maps.create(&map)).await.is_err(), "it does not lead yet");
    /// let write = |guard: kubewright_controller::LeaderGuard| async {
    ///     guard.bind(maps.create(&map)).await.unwrap();
    /// };
    /// elector.run(std::future::pending(), write).await;
    /// assert!(leader.bind(maps.delete(&map)).await.is_err(), "it leads no more");
    /// # }
    /// ```
    ///
    /// # Cancel safety
    ///
    /// As safe as the future is.
    pub async fn bind<T>(self, task: impl Future<Output = T>) -> T {
        GUARD.scope(self, task).await
    }

    /// Returns whether this task may write.
    pub(crate) fn check() -> Result<(), NotLeading> {
        let refusal = GUARD.try_with(|guard| (!guard.is_leader()).then_some(guard.refusal));
        match refusal {
            Ok(Some(refusal)) => Err(refusal),
            // A task without a guard is not for a leader alone.
            Ok(None) | Err(_) => Ok(()),
        }
    }
}

impl Leadership {
    pub(crate) fn new() -> Self {
        Self::of(NotLeading::Leadership)
    }

    /// That of a shard, in which this replica alone writes.
    pub(crate) fn of_shard() -> Self {
        Self::of(NotLeading::Shard)
    }

    fn of(refusal: NotLeading) -> Self {
        Self {
            ends: watch::Sender::new(None),
            refusal,
        }
    }

    pub(crate) fn guard(&self) -> LeaderGuard {
        LeaderGuard {
            ends: self.ends.subscribe(),
            refusal: self.refusal,
        }
    }

    pub(crate) fn set(&self, end: Option<Instant>) {
        self.ends.send_if_modified(|known| {
            let is_new = *known != end;
            *known = end;
            is_new
        });
    }
}

impl fmt::Debug for LeaderGuard {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("LeaderGuard")
            .field("is_leader", &self.is_leader())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::time::Duration;

    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;
    use crate::{Connection, Scope, Writer};

    #[tokio::test(start_paused = true)]
    async fn leadership_ends_by_the_clock_unless_it_is_extended() {
        let leadership = Leadership::new();
        let guard = leadership.guard();
        assert!(!guard.is_leader());
        let start = Instant::now();
        leadership.set(Some(start + Duration::from_secs(10)));
        assert!(guard.is_leader());
        tokio::time::advance(Duration::from_secs(9)).await;
        leadership.set(Some(start + Duration::from_secs(19)));
        guard.lost().await;
        assert_eq!(start.elapsed(), Duration::from_secs(19));
        assert!(!guard.is_leader());
    }

    #[tokio::test(start_paused = true)]
    async fn leadership_ends_with_its_elector() {
        let leadership = Leadership::new();
        let guard = leadership.guard();
        leadership.set(Some(Instant::now() + Duration::from_secs(10)));
        drop(leadership);
        assert!(!guard.is_leader());
        guard.lost().await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_guarded_task_may_write_while_the_replica_leads() {
        let leadership = Leadership::new();
        leadership.set(Some(Instant::now() + Duration::from_secs(10)));
        assert!(LeaderGuard::check().is_ok(), "this task has no guard");
        let bound = leadership.guard().bind(async {
            assert!(LeaderGuard::check().is_ok());
            tokio::time::advance(Duration::from_secs(10)).await;
            assert!(LeaderGuard::check().is_err());
        });
        bound.await;
    }

    #[tokio::test(start_paused = true)]
    async fn a_handle_does_not_ask_an_api_server_for_a_leader_that_leads_no_more() {
        let asked = tower::service_fn(async |request: http::Request<kube::client::Body>| {
            Err::<http::Response<String>, _>(std::io::Error::other(request.uri().to_string()))
        });
        let connection = Connection::new();
        connection.open(kube::Client::new(asked, "blue"), "gardens");
        let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
        let leadership = Leadership::new();
        leadership.set(Some(Instant::now() + Duration::from_secs(10)));
        let cause = async || {
            let mut map = ConfigMap::default();
            map.metadata.name = Some("a".to_owned());
            let deleted = leadership.guard().bind(writer.delete(&map)).await;
            let error = deleted.unwrap_err();
            error.source().unwrap().to_string()
        };
        assert_ne!(cause().await, NotLeading::Leadership.to_string());
        tokio::time::advance(Duration::from_secs(10)).await;
        assert_eq!(cause().await, NotLeading::Leadership.to_string());
    }
}
