//! F20: an API server that is busy, fails, or goes away amid an answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kubewright_testing::{Faults, Refusal, Requests};
use tokio::time::{Instant, sleep};
use tracing::subscriber::set_default;
use tracing_subscriber::layer::SubscriberExt as _;

use super::world::World;

#[tokio::test(start_paused = true)]
async fn f20_an_api_server_that_is_busy_is_left_alone_for_as_long_as_it_says() {
    let faults = Faults::new();
    let mut world = World::start(&faults).await;
    let busy = Refusal::too_many_requests().retry_after(Duration::from_secs(30));
    let writes = Requests::of::<Secret>().writes();
    faults.on(writes.clone()).once().answer(busy.clone());
    faults
        .on(Requests::of::<ConfigMap>().watches())
        .once()
        .answer(busy);
    world.cluster.forget_sent();
    let start = Instant::now();
    world.want([1], "a").await;
    sleep(Duration::from_secs(1)).await;
    // News do not bring forward what was asked for in peace.
    world.want([1], "b").await;
    faults.drop_watches();
    sleep(Duration::from_secs(28)).await;
    assert_eq!(world.cluster.sent(&writes).len(), 1);
    assert_eq!(world.cluster.sent(&Requests::of::<ConfigMap>()).len(), 1);
    while world.cluster.sent(&writes).len() < 2 {
        sleep(Duration::from_millis(10)).await;
    }
    let waited = start.elapsed();
    assert!(waited <= Duration::from_secs(32), "{waited:?}");
    world.is_good_and_nothing_was_written_twice().await;
    let listed = Requests::all().verb("list");
    assert_eq!(world.cluster.sent(&listed).len(), 0, "nothing was listed");
}

#[tokio::test(start_paused = true)]
async fn f20_whatever_becomes_of_a_write_it_is_done_once() {
    let faults = Faults::new();
    let mut world = World::start(&faults).await;
    let writes = || Requests::of::<Secret>().writes();
    for round in 0..3 {
        for code in [500, 502, 503, 504] {
            let refusal = Refusal::new(code, "", "not now");
            faults.on(writes()).after(round).once().answer(refusal);
        }
        faults.on(writes()).after(round).once().unreachable();
        faults.on(writes()).after(round).times(2).reset();
        faults.conflict_once::<Secret>();
        world.want(0..10, ["a", "b", "c"][round]).await;
        world.is_good_and_nothing_was_written_twice().await;
    }
    let sent = world.cluster.sent(&writes());
    let done = |code| {
        sent.iter()
            .filter(|sent| sent.status() == Some(code))
            .count()
    };
    // Three of the resets lose the response to a write that the API server has stored.
    assert!(
        done(200) + done(201) <= 30,
        "{} writes",
        done(200) + done(201)
    );
    assert!(done(409) >= 3, "{} conflicts", done(409));
}

#[tokio::test(start_paused = true)]
async fn f20_a_conflict_is_no_warning_unless_it_goes_on() {
    // With a single subscriber, whether an event is listened to is decided by the thread that comes to it first, of any test.
    let _second = tracing::Dispatch::new(tracing_subscriber::registry());
    for (conflicts, warnings) in [(1, 0), (3, 0), (4, 1)] {
        let faults = Faults::new();
        let mut world = World::start(&faults).await;
        let told = Warnings::default();
        let _listening = set_default(tracing_subscriber::registry().with(told.clone()));
        let conflict = Refusal::new(409, "Conflict", "another client was faster");
        let writes = Requests::of::<Secret>().writes();
        faults.on(writes).times(conflicts).answer(conflict);
        world.want([1], "a").await;
        world.is_good_and_nothing_was_written_twice().await;
        assert_eq!(told.0.load(Ordering::Relaxed), warnings, "{conflicts}");
    }
}

/// How many warnings there were.
#[derive(Clone, Default)]
struct Warnings(Arc<AtomicUsize>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Warnings {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::WARN {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}
