//! F24: leaders that are cut off, slow, robbed, or whose clocks differ (the model beside the election has the clocks).

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_controller::{
    Action, Context, Controller, Error, LeaderElection, ObjectRef, Predicate, Reconcile, Scope,
    Writer,
};
use kubewright_manager::{App, Needs, Program};
use kubewright_testing::{Faults, Requests, TestCluster, yaml};
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::history::{History, version};

/// Writes its name into a ConfigMap again and again, as long as it leads.
struct Writes {
    name: &'static str,
    writer: Writer<ConfigMap>,
}

impl Reconcile<ConfigMap> for Writes {
    async fn reconcile(&self, map: Arc<ConfigMap>, _: Context) -> Result<Action, Error> {
        let change = json!({"data": {"writer": self.name, "again": fastrand::u64(..).to_string()}});
        self.writer.merge(ObjectRef::of(&*map), &change).await?;
        Ok(Action::requeue_after(Duration::from_secs(1)))
    }
}

fn replica(name: &'static str) -> impl FnOnce(&mut Needs) -> App {
    move |needs| {
        let writer = needs.named("witness").writer();
        let controller = Controller::new("writes", Writes { name, writer });
        App::new("writers")
            .leader_election(LeaderElection::by_lease("writers").identity(name))
            // What it writes itself is no reason to write.
            .controller(
                controller
                    .within(Scope::all().named("witness"))
                    .filter(Predicate::labels_changed()),
            )
    }
}

/// Checks that each writer held the Lease when it wrote: both are in one store, whose resource versions give the order.
fn every_write_is_by_the_holder(leases: &[Lease], writes: &[ConfigMap]) -> usize {
    let mut holders: Vec<(u64, String)> = Vec::new();
    for lease in leases {
        let holder = lease
            .spec
            .as_ref()
            .and_then(|spec| spec.holder_identity.clone());
        // The thief takes the Lease without leading, and the leader may write until it notices.
        if holder.as_deref() != Some(THIEF) {
            holders.push((version(lease), holder.unwrap_or_default()));
        }
    }
    holders.sort();
    let mut writers = std::collections::BTreeSet::new();
    for write in writes {
        let Some(writer) = write.data.as_ref().and_then(|data| data.get("writer")) else {
            continue;
        };
        let earlier = holders.partition_point(|(lease, _)| *lease < version(write));
        let holder = &holders[earlier - 1].1;
        assert_eq!(writer, holder, "who wrote, and who held the Lease");
        writers.insert(writer.clone());
    }
    writers.len()
}

#[tokio::test(start_paused = true)]
async fn f24_only_the_holder_of_the_lease_writes() {
    for seed in 0..2 {
        let mut random = fastrand::Rng::with_seed(seed);
        let cluster = TestCluster::start().await;
        let (leases, writes) = (History::<Lease>::of(&cluster), History::of(&cluster));
        let witness: ConfigMap = yaml("metadata: {name: witness}");
        cluster.create(&witness).await.expect_allowed();
        let mut replicas = JoinSet::new();
        let mut all_faults = Vec::new();
        for name in ["one", "two", "three"] {
            let faults = Faults::new();
            let program = Program::new(replica(name)).client(cluster.client_under(&faults));
            let started = program.start().await.unwrap();
            replicas.spawn(started.run(std::future::pending()));
            all_faults.push(faults);
        }
        let mut thefts = 0;
        for _ in 0..40 {
            let faults = &all_faults[random.usize(..3)];
            let time = Duration::from_secs(random.u64(1..40));
            let lease = || Requests::of::<Lease>();
            match random.u8(..6) {
                0 => faults.outage(time),
                1 => faults.unavailable(time),
                2 => faults.on(lease()).lasting(time).slow(time),
                3 => faults.on(lease()).lasting(time).slow_answer(time),
                4 => faults.on(lease().writes()).times(3).reset(),
                _ => {
                    thefts += 1;
                    let thief = json!({"spec": {"holderIdentity": THIEF}});
                    drop(cluster.merge::<Lease>("writers", &thief).await);
                }
            }
            sleep(Duration::from_secs(random.u64(..20))).await;
        }
        for faults in &all_faults {
            faults.clear();
        }
        sleep(Duration::from_mins(1)).await;
        replicas.shutdown().await;
        let last = cluster.get::<ConfigMap>("witness").await.unwrap();
        writes.reaches(&last).await;
        let last = cluster.get::<Lease>("writers").await.unwrap();
        leases.reaches(&last).await;
        let writes: Vec<ConfigMap> = writes.states();
        let writers = every_write_is_by_the_holder(&leases.states(), &writes);
        assert!(
            writers > 1 && thefts > 0,
            "seed {seed}: {writers} writers, {thefts} thefts"
        );
        assert!(writes.len() > 100, "seed {seed}: {} writes", writes.len());
    }
}

const THIEF: &str = "a thief";
