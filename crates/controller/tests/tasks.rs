//! Tasks of programs on an embedded API server: when they begin, and that only a leader runs those of the leader.

use std::error::Error as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kubewright_controller::{Cached, Error, LeaderElection, RequestError, Writer};
use kubewright_manager::{App, Needs, Program, RunError, Task, TaskContext};
use kubewright_testing::{TestCluster, eventually, yaml};
use serde_json::json;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

const LEASE: Duration = Duration::from_secs(15);

/// A replica of a program. It is killed when this is dropped.
struct Replica {
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<Result<(), RunError>>,
}

impl Replica {
    async fn start(cluster: &TestCluster, app: impl FnOnce(&mut Needs) -> App) -> Self {
        let started = Program::new(app)
            .client(cluster.client())
            .start()
            .await
            .unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        Self {
            stop: Some(stop),
            task: tokio::spawn(started.run(async { drop(stopped.await) })),
        }
    }

    async fn stop(mut self) {
        self.stop.take();
        (&mut self.task).await.unwrap().unwrap();
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_begins_when_the_caches_are_complete() {
    let cluster = TestCluster::start().await;
    for number in 0..50 {
        let map: ConfigMap = yaml(&format!("metadata: {{name: map-{number}}}"));
        cluster.create(&map).await.expect_allowed();
    }
    let (sender, mut counts) = mpsc::unbounded_channel();
    let _replica = Replica::start(&cluster, |needs| {
        let maps: Cached<ConfigMap> = needs.in_namespace(cluster.namespace()).cached();
        let count = move |_: TaskContext| {
            let (maps, sender) = (maps.clone(), sender.clone());
            async move {
                let named =
                    |map: &&ConfigMap| map.metadata.name.as_deref() != Some("kube-root-ca.crt");
                let all = maps.list().await?;
                let _ = sender.send(all.iter().filter(named).count());
                Ok(())
            }
        };
        App::new("census")
            .task(Task::on_each_replica("replica", count.clone()))
            .task(Task::on_leader("leader", count))
    })
    .await;
    assert_eq!(counts.recv().await, Some(50));
    assert_eq!(counts.recv().await, Some(50));
}

/// Counts the runs in progress until it is dropped.
struct Leading(Arc<AtomicUsize>);

impl Leading {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Leading {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A program with a task of the leader that runs as long as it may, and tells of its begin.
fn leading(
    identity: &str,
    now: &Arc<AtomicUsize>,
    begins: &mpsc::UnboundedSender<(String, Instant)>,
) -> impl FnOnce(&mut Needs) -> App + use<> {
    let (identity, now, begins) = (identity.to_owned(), Arc::clone(now), begins.clone());
    move |_| {
        let election = LeaderElection::by_lease("gardens").identity(&*identity);
        let lead = move |context: TaskContext| {
            let leading = Leading::new(&now);
            drop(begins.send((identity.clone(), Instant::now())));
            async move {
                context.shutdown().await;
                // The Lease is not given back before this has ended.
                sleep(Duration::from_secs(2)).await;
                drop(leading);
                Ok(())
            }
        };
        App::new("gardens")
            .leader_election(election)
            .task(Task::on_leader("lead", lead))
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_of_the_leader_is_cut_off_when_leadership_is_lost_and_begins_anew_in_the_next_term()
{
    let cluster = TestCluster::start().await;
    let now = Arc::<AtomicUsize>::default();
    let (sender, mut begins) = mpsc::unbounded_channel();
    let _replica = Replica::start(&cluster, leading("me", &now, &sender)).await;
    assert_eq!(begins.recv().await.unwrap().0, "me");
    for _ in 0..3 {
        let patch = json!({"spec": {"holderIdentity": "thief"}});
        cluster
            .merge::<Lease>("gardens", &patch)
            .await
            .expect_allowed();
        let stolen = Instant::now();
        while now.load(Ordering::SeqCst) > 0 {
            sleep(Duration::from_millis(1)).await;
        }
        let cut = stolen.elapsed();
        assert!(cut <= Duration::from_millis(150), "{cut:?}");
        let (_, again) = begins.recv().await.unwrap();
        assert!(again - stolen >= LEASE, "{:?}", again - stolen);
    }
}

#[tokio::test(start_paused = true)]
async fn a_replica_that_stops_lets_its_tasks_return_before_another_leads() {
    let cluster = TestCluster::start().await;
    let now = Arc::<AtomicUsize>::default();
    let (sender, mut begins) = mpsc::unbounded_channel();
    let first = Replica::start(&cluster, leading("first", &now, &sender)).await;
    assert_eq!(begins.recv().await.unwrap().0, "first");
    let _second = Replica::start(&cluster, leading("second", &now, &sender)).await;
    sleep(LEASE * 2).await;
    assert!(begins.try_recv().is_err(), "the second one does not lead");
    let told = Instant::now();
    first.stop().await;
    let (identity, at) = begins.recv().await.unwrap();
    assert_eq!(identity, "second");
    let (least, most) = (Duration::from_secs(2), Duration::from_millis(2_200));
    assert!(at - told >= least && at - told <= most, "{:?}", at - told);
    assert_eq!(now.load(Ordering::SeqCst), 1);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_is_held_up_while_leadership_is_lost_writes_nothing_any_more() {
    let cluster = TestCluster::start().await;
    let (sender, mut writes) = mpsc::unbounded_channel();
    let _replica = Replica::start(&cluster, |needs| {
        let maps: Writer<ConfigMap> = needs.in_namespace(cluster.namespace()).writer();
        let namespace = cluster.namespace().to_owned();
        let write = move |_: TaskContext| {
            let (maps, sender, namespace) = (maps.clone(), sender.clone(), namespace.clone());
            async move {
                let map: ConfigMap =
                    yaml(&format!("metadata: {{name: last, namespace: {namespace}}}"));
                // The time passes without a chance for anything else to run, as for a process that was paused.
                let passed = tokio::time::advance(LEASE * 2).now_or_never();
                assert!(passed.is_none());
                let answered = maps.create(&map).now_or_never();
                let why = |refused: RequestError| refused.source().map(ToString::to_string);
                // `None`: the API server is asked.
                drop(sender.send(answered.map(|answer| answer.err().and_then(why))));
                Ok(())
            }
        };
        let election = LeaderElection::by_lease("gardens").identity("me");
        App::new("gardens")
            .leader_election(election)
            .task(Task::on_leader("write", write))
    })
    .await;
    let why = "this replica has lost leadership: only the leader writes".to_owned();
    assert_eq!(writes.recv().await, Some(Some(Some(why))));
    assert_eq!(cluster.get::<ConfigMap>("last").await, None);
}

#[tokio::test]
async fn a_program_under_test_runs_its_tasks_with_the_permissions_of_its_handles() {
    let cluster = TestCluster::builder()
        .app(|needs| {
            let maps: Writer<ConfigMap> = needs.in_namespace("default").writer();
            let announce = move |context: TaskContext| {
                let maps = maps.clone();
                async move {
                    let map: ConfigMap = yaml(&format!(
                        "metadata: {{name: {}, namespace: default}}",
                        context.name()
                    ));
                    maps.create(&map).await?;
                    Ok::<_, Error>(())
                }
            };
            App::new("announcer")
                .task(Task::on_leader("leader", announce.clone()))
                .task(Task::on_each_replica("replica", announce).every(Duration::from_hours(1)))
        })
        .start()
        .await;
    for name in ["leader", "replica"] {
        eventually("what the task creates", async || {
            cluster.get::<ConfigMap>(name).await
        })
        .await;
    }
}
