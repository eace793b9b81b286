//! F16: an API server that is away for ten minutes.

use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::ResourceExt;
use kubewright_controller::Cached;
use kubewright_manager::{App, Needs};
use kubewright_testing::{Faults, Requests, TestCluster, yaml};
use kubewright_webhook::{Change, OrDeny, Review, Validate, Validated, Webhooks, deny, validating};
use tokio::time::{Instant, sleep, timeout};

use super::world::World;

const AWAY: Duration = Duration::from_mins(10);

fn lists(world: &World, kind: &Requests) -> usize {
    let count = |requests: Requests| world.cluster.sent(&requests).len();
    count(kind.clone().verb("list")) + count(kind.clone().streamed_lists())
}

#[tokio::test(start_paused = true)]
async fn f16_a_controller_is_back_within_seconds_and_lists_nothing_twice() {
    for is_refusing in [false, true] {
        let faults = Faults::new();
        let mut world = World::start(&faults).await;
        world.want(0..20, "a").await;
        world.is_good().await;
        world.cluster.forget_sent();
        if is_refusing {
            faults.unavailable(AWAY);
        } else {
            faults.outage(AWAY);
        }
        let end = Instant::now() + AWAY;
        // What changes meanwhile is seen to afterwards.
        world.want(10..30, "b").await;
        sleep(end - Instant::now()).await;
        let tries = world.cluster.sent(&Requests::all()).len();
        // Two kinds, and pauses of two to four seconds once they are longest.
        assert!((300..800).contains(&tries), "{tries} requests");

        world.cluster.forget_sent();
        let recovery = timeout(Duration::from_secs(5), world.is_good());
        recovery.await.expect("recovered within five seconds");
        world.is_good_and_nothing_was_written_twice().await;
        for kind in [Requests::of::<ConfigMap>(), Requests::of::<Secret>()] {
            assert!(lists(&world, &kind) <= 1, "{:?}", world.cluster.sent(&kind));
        }
        let writes = world.cluster.sent(&Requests::of::<Secret>().writes());
        assert_eq!(writes.len(), 20, "ten that changed and ten that are new");
    }
}

#[tokio::test(start_paused = true)]
async fn f16_replicas_do_not_come_back_all_at_once() {
    let cluster = TestCluster::start().await;
    let all: Vec<Faults> = (0..20).map(|_| Faults::new()).collect();
    let mut tasks = tokio::task::JoinSet::new();
    for faults in &all {
        let client = cluster.client_under(faults);
        let program = kubewright_manager::Program::new(super::world::copier).client(client);
        let started = program.start().await.unwrap();
        let readiness = started.readiness();
        tasks.spawn(started.run(std::future::pending()));
        while !readiness.is_ready() {
            sleep(Duration::from_millis(1)).await;
        }
    }
    for faults in &all {
        faults.outage(AWAY);
    }
    sleep(AWAY).await;
    // When each of them is heard of again.
    let mut back = Vec::new();
    let again = Requests::of::<ConfigMap>().watches();
    for _ in 0..50 {
        let is_back = |faults: &&Faults| {
            let sent = faults.sent(&again);
            sent.iter().any(|sent| sent.status() == Some(200))
        };
        back.push(all.iter().filter(is_back).count());
        sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(back.last(), Some(&all.len()), "{back:?}");
    let most = back.windows(2).map(|pair| pair[1] - pair[0]).max();
    assert!(
        most <= Some(all.len() / 2),
        "half of them at once: {back:?}"
    );
}

/// Refuses ConfigMaps in namespaces that are closed.
struct Closed(Cached<Namespace>);

impl Validate<ConfigMap> for Closed {
    async fn validate(&self, _: Change<ConfigMap>, review: Review) -> Validated {
        let name = review
            .namespace()
            .or_deny("ConfigMaps live in a namespace")?;
        match self.0.get(name).await? {
            Some(namespace) if namespace.labels().contains_key("closed") => deny("closed"),
            Some(_) => Ok(()),
            None => deny("unknown"),
        }
    }
}

fn closed(needs: &mut Needs) -> App {
    let closed = validating("closed", Closed(needs.cached()));
    App::new("closed").webhooks(Webhooks::new("policy.example.com").with(closed))
}

#[tokio::test]
async fn f16_a_webhook_answers_from_memory() {
    let cluster = TestCluster::builder().app(closed).start().await;
    cluster.faults().outage(AWAY);
    for number in 0..20 {
        let map: ConfigMap = yaml(&format!("metadata: {{name: map-{number}}}"));
        cluster.create(&map).await.expect_allowed();
    }
}
