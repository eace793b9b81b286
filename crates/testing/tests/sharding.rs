//! Replicas of a program that share objects, on the embedded and on the real API server.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::ResourceExt;
use kubewright_controller::{
    Action, Context, Controller, LeaderElection, ObjectRef, Predicate, Scope, Sharding, Writer,
};
use kubewright_manager::{App, Needs, Program};
use kubewright_server::Drain;
use kubewright_testing::{Server, TestCluster, eventually, unique, yaml};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

const OBJECTS: usize = 24;

/// For each generation of the objects, which replicas have written each of them.
type Written = Arc<Mutex<BTreeMap<String, BTreeMap<String, Vec<&'static str>>>>>;

/// A program of which several replicas run in this process.
struct Replicas {
    cluster: TestCluster,
    batch: String,
    written: Written,
}

impl Replicas {
    fn program(&self, name: &'static str) -> Program {
        let (batch, written) = (self.batch.clone(), Arc::clone(&self.written));
        let namespace = self.cluster.namespace().to_owned();
        Program::new(move |needs: &mut Needs| {
            let writer: Writer<ConfigMap> = needs.in_namespace(&namespace).writer();
            let reconcile = move |map: Arc<ConfigMap>, _: Context| {
                let (writer, written) = (writer.clone(), Arc::clone(&written));
                async move {
                    let wanted = map.annotations()["wanted"].clone();
                    let change = json!({"data": {"seen": wanted}});
                    writer.merge(ObjectRef::of(&*map), &change).await?;
                    let mut written = written.lock().unwrap();
                    let generation = written.entry(wanted).or_default();
                    generation.entry(map.name_any()).or_default().push(name);
                    Ok(Action::await_change())
                }
            };
            let lease = LeaderElection::by_lease("maps-shards")
                .in_namespace(&*namespace)
                .identity(name)
                .lease_duration(Duration::from_secs(2))
                .renew_deadline(Duration::from_millis(1_500))
                .retry_period(Duration::from_millis(200));
            let controller = Controller::new("maps", reconcile)
                .within(Scope::all().labelled(format!("batch={batch}")))
                .filter(Predicate::annotations_changed())
                .sharded(Sharding::among(8).lease(lease));
            App::new("gardens").controller(controller)
        })
    }

    async fn start(&self, name: &'static str) -> (JoinHandle<()>, oneshot::Sender<()>) {
        let program = self.program(name).drain(Drain::default());
        let started = program.client(self.cluster.client()).start().await.unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = async move { started.run(async { drop(stopped.await) }).await.unwrap() };
        (tokio::spawn(run), stop)
    }

    /// Changes every object, and returns who has written each when all are done.
    async fn change_all(&self, wanted: &str) -> BTreeMap<String, Vec<&'static str>> {
        for number in 0..OBJECTS {
            let patch = json!({"metadata": {"annotations": {"wanted": wanted}}});
            let name = format!("map-{number}");
            let merged = self.cluster.merge::<ConfigMap>(&name, &patch).await;
            merged.expect_allowed();
        }
        eventually("a write of each object", async || {
            let written = self.written.lock().unwrap();
            let of_all = written.get(wanted)?;
            (of_all.len() == OBJECTS).then(|| of_all.clone())
        })
        .await
    }
}

async fn objects_are_reconciled_once_and_others_take_those_of_a_replica_that_is_gone(
    server: Server,
) {
    let replicas = Replicas {
        cluster: TestCluster::builder().on(server).start().await,
        batch: unique("batch"),
        written: Written::default(),
    };
    for number in 0..OBJECTS {
        let map: ConfigMap = yaml(&format!(
            "metadata: {{name: map-{number}, labels: {{batch: {}}}, annotations: {{wanted: first}}}}",
            replicas.batch
        ));
        replicas.cluster.create(&map).await.expect_allowed();
    }
    let mut running = BTreeMap::new();
    for name in ["a", "b", "c"] {
        running.insert(name, replicas.start(name).await);
    }
    // All three have their shares when each writes the same objects again.
    let (mut round, mut before) = (0, BTreeMap::new());
    let holders = eventually("three writers", async || {
        round += 1;
        let written = replicas.change_all(&format!("round-{round}")).await;
        let writers: BTreeSet<&str> = written.values().flatten().copied().collect();
        let is_settled = writers.len() == 3 && written == before;
        before.clone_from(&written);
        is_settled.then_some(written)
    })
    .await;
    let written = replicas.change_all("settled").await;
    assert_eq!(
        written, holders,
        "who holds an object keeps it, and writes it once"
    );

    let (killed, _) = running.remove("b").unwrap();
    killed.abort();
    assert!(killed.await.unwrap_err().is_cancelled());
    let written = replicas.change_all("without b").await;
    for (object, writers) in &written {
        assert_eq!(writers.len(), 1, "{object}: {writers:?}");
        assert_ne!(writers[0], "b");
        let before = holders[object][0];
        assert!(
            before == "b" || before == writers[0],
            "{object} has moved for nothing"
        );
    }
    let (stopping, stop) = running.remove("a").unwrap();
    drop(stop);
    stopping.await.unwrap();
    let written = replicas.change_all("with c alone").await;
    assert!(
        written.values().all(|writers| *writers == ["c"]),
        "{written:?}"
    );
}

#[tokio::test]
async fn objects_are_reconciled_once_on_the_embedded_server() {
    objects_are_reconciled_once_and_others_take_those_of_a_replica_that_is_gone(Server::Embedded)
        .await;
}

#[cfg(feature = "real")]
#[tokio::test]
async fn objects_are_reconciled_once_on_the_real_server() {
    objects_are_reconciled_once_and_others_take_those_of_a_replica_that_is_gone(Server::Real).await;
}
