//! Replicas that share objects, as processes that are killed: no change is lost, and no write comes from a replica that did not hold the
//! shard of its object.

use std::path::Path;
use std::time::Duration;

use replicas::sharing::{Trial, Work};

/// For how many seconds, unless `KUBEWRIGHT_SHARING` says more.
const SECONDS: u64 = 12;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_is_lost_and_no_object_has_two_writers_while_replicas_are_killed() {
    let said = |name: &str| {
        std::env::var(name)
            .ok()
            .map(|said| said.parse::<u64>().expect("a number"))
    };
    let seconds = said("KUBEWRIGHT_SHARING").unwrap_or(SECONDS);
    let changes = said("KUBEWRIGHT_SHARING_CHANGES").unwrap_or(100);
    let program = Path::new(env!("CARGO_BIN_EXE_sharer"));
    let trial = |work| {
        Trial::of(work)
            .lasting(Duration::from_secs(seconds))
            .changes_per_second(u32::try_from(changes).expect("a rate"))
            .objects(1_000)
            .reconcile(Duration::from_millis(4))
    };
    let killed = trial(Work::Shared).kill_every(Duration::from_secs(5));
    let verdict = killed.run(program).await.unwrap();
    println!("shared, one killed every 5 s: {verdict:?}");
    assert_eq!((verdict.lost, verdict.doubled), (0, 0), "{verdict:?}");
    assert!(verdict.writes > 0 && verdict.kills > 0, "{verdict:?}");
    if said("KUBEWRIGHT_SHARING").is_some() {
        for work in [Work::Shared, Work::OfLeader] {
            let verdict = trial(work).run(program).await.unwrap();
            println!("{work:?}, none killed: {verdict:?}");
        }
    }
}
