//! A whole rotation, in the hours that it takes.

use std::time::Duration;

use tokio::time::sleep;

use super::harness::{Cluster, Running, eventually, is_believed, real_time, short};
use crate::shared::record::ROTATE;
use crate::shared::root::Root;
use crate::shared::state::State;
use crate::{Phase, Timing};

/// Looks every half minute whether all replicas are believed.
async fn believed(cluster: &Cluster, replicas: &[Running], hours: u64) {
    for _ in 0..hours * 120 {
        sleep(Duration::from_secs(30)).await;
        let (bundle, now) = (cluster.bundle(), real_time());
        for replica in replicas {
            let identity = replica.served().unwrap();
            assert!(is_believed(&identity, &bundle, now), "{identity:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_authority_is_rotated_before_it_expires_and_no_client_is_ever_refused() {
    let cluster = Cluster::start();
    let replicas = [cluster.replica(short()), cluster.replica(short())];
    for replica in &replicas {
        replica.serves().await;
    }
    // Three lives of an authority, each followed at two thirds.
    believed(&cluster, &replicas, 28).await;
    let state = cluster.state().await;
    assert_eq!(state.generation, 4);
    assert_eq!(state.phase(), Phase::Stable);
    assert_eq!(cluster.bundle().certificates().len(), 1);
    for replica in &replicas {
        assert_eq!(replica.trouble(), None);
        // An hour each, renewed at two thirds.
        assert!((38..60).contains(&replica.count()), "{}", replica.count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_rotation_that_is_asked_for_goes_through_its_phases() {
    let cluster = Cluster::start();
    let replica = cluster.replica(short());
    let first = replica.serves().await;
    cluster.ask_for_rotation().await;
    let mut seen = Vec::new();
    let mut trust = replica.trust.clone();
    trust.mark_unchanged();
    while seen.last() != Some(&Phase::Retiring) {
        trust.changed().await.unwrap();
        let phase = trust.borrow_and_update().as_ref().unwrap().phase();
        seen.push(phase);
    }
    assert_eq!(seen, [Phase::Publishing, Phase::Settling, Phase::Retiring]);
    let second = eventually("a new certificate", async || {
        replica
            .served()
            .filter(|identity| identity.trust() != first.trust())
    })
    .await;
    let bundle = cluster.bundle();
    assert!(is_believed(&first, &bundle, real_time()));
    assert!(is_believed(&second, &bundle, real_time()));
    let secret = cluster.secret().await;
    let annotations = secret.metadata.annotations.unwrap_or_default();
    assert!(!annotations.contains_key(ROTATE));
    // Until nothing is valid that the first has signed.
    sleep(Duration::from_hours(2)).await;
    assert_eq!(cluster.state().await.phase(), Phase::Stable);
    assert_eq!(cluster.bundle().certificates().len(), 1);
    let reasons = replica.reasons();
    let of_rotation: Vec<_> = reasons
        .into_iter()
        .filter(|reason| reason.starts_with("Authority"))
        .collect();
    assert_eq!(
        of_rotation,
        [
            "AuthorityCreated",
            "AuthorityStaged",
            "AuthorityPublished",
            "AuthoritySwitched",
            "AuthorityRetired"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn clients_that_are_half_a_minute_late_believe_every_replica_all_along() {
    const LATE: usize = 30;
    let cluster = Cluster::start();
    let replicas = [cluster.replica(short()), cluster.replica(short())];
    for replica in &replicas {
        replica.serves().await;
    }
    sleep(Duration::from_mins(1)).await;
    cluster.ask_for_rotation().await;
    let mut seen = std::collections::VecDeque::new();
    // A rotation, and the retirement an hour later.
    for second in 0..4_500 {
        sleep(Duration::from_secs(1)).await;
        seen.push_back(cluster.bundle());
        if seen.len() > LATE {
            seen.pop_front();
        }
        let mut views: Vec<_> = seen.iter().collect();
        views.dedup();
        // Where nothing has changed, now and then is enough.
        if views.len() == 1 && second % 30 != 0 {
            continue;
        }
        for (view, replica) in views
            .iter()
            .flat_map(|view| replicas.iter().map(move |replica| (view, replica)))
        {
            let identity = replica.served().unwrap();
            assert!(
                is_believed(&identity, view, real_time()),
                "{second}: {identity:?}"
            );
        }
    }
    let state = cluster.state().await;
    assert_eq!((state.generation, state.phase()), (2, Phase::Stable));
}

#[tokio::test(start_paused = true)]
async fn what_was_overwritten_is_published_again_before_it_is_switched_to() {
    let cluster = Cluster::start();
    let replica = cluster.replica(short());
    let first = replica.serves().await;
    // The second publishing may take no time at all: every state is followed, not only those that are looked at.
    let phases = cluster.follow_phases().await;
    cluster.ask_for_rotation().await;
    phases.began(3).await;
    sleep(Duration::from_secs(30)).await;
    cluster.overwrite(first.trust());
    let settling = phases.began(5).await;
    assert_eq!(replica.served().unwrap().chain(), first.chain());
    let waited = phases.began(6).await - settling;
    assert_eq!(
        phases.seen(),
        [
            Phase::Stable,
            Phase::Publishing,
            Phase::Settling,
            Phase::Publishing,
            Phase::Settling,
            Phase::Retiring,
        ]
    );
    assert!(
        waited >= Duration::from_secs(55),
        "the whole margin: {waited:?}"
    );
    let reasons = replica.reasons();
    let lost = reasons
        .iter()
        .filter(|reason| **reason == "AuthorityUnpublished");
    assert_eq!(lost.count(), 1);
    assert_eq!(cluster.bundle().certificates().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn certificates_that_would_outlive_their_authority_do_not_hold_up_its_rotation() {
    let cluster = Cluster::start();
    let timing = Timing::new().authority(Duration::from_hours(2));
    let replicas = [cluster.replica(timing)];
    replicas[0].serves().await;
    believed(&cluster, &replicas, 24).await;
    assert!(!replicas[0].reasons().contains(&"AuthorityReplaced"));
    assert!(cluster.state().await.generation >= 17);
    assert!(cluster.bundle().certificates().len() <= 2);
}

#[tokio::test(start_paused = true)]
async fn another_replica_carries_on_where_one_was_killed() {
    let cluster = Cluster::start();
    let first = cluster.replica(short());
    first.serves().await;
    // A replica may write again before it is killed: every state is followed, not only those that are looked at.
    let phases = cluster.follow_phases().await;
    cluster.ask_for_rotation().await;
    drop(first);
    let is_over = |state: &State<Root>| state.generation == 2 && state.phase() == Phase::Stable;
    loop {
        let last = cluster.state().await;
        if is_over(&last) {
            break;
        }
        let replica = cluster.replica(short());
        replica.serves().await;
        if last.phase() == Phase::Retiring {
            sleep(Duration::from_hours(2)).await;
        }
        eventually("a step", async || {
            (cluster.state().await.revision > last.revision).then_some(())
        })
        .await;
    }
    let rotation = [
        Phase::Stable,
        Phase::Publishing,
        Phase::Settling,
        Phase::Retiring,
        Phase::Stable,
    ];
    phases.began(rotation.len()).await;
    assert_eq!(phases.seen(), rotation);
}

#[tokio::test(start_paused = true)]
async fn lives_of_seconds_are_lives_too() {
    let cluster = Cluster::start();
    let timing = Timing::new()
        .leaf(Duration::from_secs(2))
        .authority(Duration::from_secs(6))
        .settle(Duration::from_millis(300))
        .skew(Duration::from_millis(500))
        .spread(Duration::from_millis(50));
    let replicas = [0, 1, 2].map(|_| cluster.replica(timing));
    for replica in &replicas {
        replica.serves().await;
    }
    // Now and then the Secret is lost.
    for second in 0..200 {
        for _ in 0..5 {
            sleep(Duration::from_millis(200)).await;
            let (bundle, now) = (cluster.bundle(), real_time());
            for replica in &replicas {
                let identity = replica.served().unwrap();
                assert!(
                    is_believed(&identity, &bundle, now),
                    "{second}: {identity:?}"
                );
            }
        }
        if second % 40 == 20 {
            cluster.delete().await;
        }
    }
    let state = cluster.state().await;
    assert!(state.generation > 35, "{}", state.generation);
    assert!(cluster.bundle().certificates().len() <= 4);
}
