//! Clocks that are set, wrong or stand still.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::harness::{Cluster, is_believed, real_time, short};
use crate::Timing;
use crate::shared::clock::Clock;

const HOUR: i64 = 3600;
const YEAR: i64 = 365 * 24 * HOUR;

/// The clock of one machine, which can be set by so many seconds.
fn clock() -> (Clock, Arc<AtomicI64>) {
    let set = Arc::new(AtomicI64::new(0));
    let by = Arc::clone(&set);
    let clock = Clock::of(move || {
        let now = real_time();
        let by = by.load(Ordering::Relaxed);
        let distance = Duration::from_secs(by.unsigned_abs());
        if by < 0 {
            now - distance
        } else {
            now + distance
        }
    });
    (clock, set)
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_ahead_past_a_renewal_renews_within_a_minute() {
    let cluster = Cluster::start();
    let (clock, set) = clock();
    let replica = cluster.replica_by(short(), clock);
    replica.serves().await;
    // As after a machine was suspended for three quarters of an hour: its timers have not noticed.
    set.store(HOUR * 3 / 4, Ordering::Relaxed);
    sleep(Duration::from_secs(61)).await;
    let now = real_time() + Duration::from_mins(45);
    assert_eq!(replica.count(), 2);
    assert!(is_believed(
        &replica.served().unwrap(),
        &cluster.bundle(),
        now
    ));
    assert_eq!(cluster.state().await.generation, 1);
}

#[tokio::test(start_paused = true)]
async fn a_wrong_local_clock_does_no_harm_while_the_api_server_knows_the_time() {
    for by in [HOUR, -HOUR, YEAR, -YEAR] {
        let cluster = Cluster::start();
        cluster.tells_time(Duration::ZERO);
        let (clock, set) = clock();
        let wrong = cluster.replica_by(Timing::new(), clock);
        let right = cluster.replica(Timing::new());
        let (first, second) = (wrong.serves().await, right.serves().await);
        set.store(by, Ordering::Relaxed);
        sleep(Duration::from_hours(3)).await;
        // Nothing was signed or replaced for it.
        assert_eq!(wrong.served().unwrap().chain(), first.chain(), "{by}");
        assert_eq!(right.served().unwrap().chain(), second.chain(), "{by}");
        assert_eq!(cluster.state().await.revision, 1, "{by}");
        let trouble = wrong.trouble().unwrap();
        assert!(trouble.contains("clock of this machine"), "{trouble}");
        assert_eq!(right.trouble(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_starts_with_a_wrong_clock_signs_by_that_of_the_api_server() {
    for by in [YEAR, -YEAR] {
        let cluster = Cluster::start();
        cluster.tells_time(Duration::ZERO);
        let (clock, set) = clock();
        set.store(by, Ordering::Relaxed);
        let replica = cluster.replica_by(short(), clock);
        let identity = replica.serves().await;
        assert!(
            is_believed(&identity, &cluster.bundle(), real_time()),
            "{by}"
        );
        // Through renewals and a rotation.
        sleep(Duration::from_hours(9)).await;
        assert!(
            is_believed(&replica.served().unwrap(), &cluster.bundle(), real_time()),
            "{by}"
        );
        assert_eq!(cluster.state().await.generation, 2, "{by}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_api_server_whose_clock_is_wrong_has_no_good_authority_replaced() {
    let cluster = Cluster::start();
    let replica = cluster.replica(Timing::new());
    replica.serves().await;
    cluster.tells_time(Duration::from_hours(2 * 365 * 24));
    cluster.ask_for_rotation().await;
    sleep(Duration::from_mins(10)).await;
    assert!(!replica.reasons().contains(&"AuthorityReplaced"));
}

#[tokio::test(start_paused = true)]
async fn certificates_are_believed_by_clocks_that_run_an_hour_late() {
    let cluster = Cluster::start();
    let replica = cluster.replica(Timing::new());
    let identity = replica.serves().await;
    let late: SystemTime = real_time() - Duration::from_secs(3590);
    assert!(is_believed(&identity, &cluster.bundle(), late));
}
