//! How replicas start: alone, in a race, six hundred at once, and with an old Secret.

use std::time::Duration;

use kube::api::PostParams;
use tokio::time::sleep;

use super::harness::{Cluster, Running, SECRET, eventually, is_believed, real_time, short};
use crate::shared::clock::Clock;
use crate::shared::record::{LABEL, Record, TYPE};
use crate::{SharedAuthority, Timing};

#[tokio::test(start_paused = true)]
async fn the_first_replica_makes_the_secret_and_serves() {
    let cluster = Cluster::start();
    let replica = cluster.replica(Timing::new());
    let identity = replica.serves().await;
    let secret = cluster.secret().await;
    assert_eq!(secret.type_.as_deref(), Some(TYPE));
    assert_eq!(secret.metadata.labels.unwrap()[LABEL.0], LABEL.1);
    assert_eq!(cluster.writes(), 1);
    assert_eq!(replica.reasons(), ["AuthorityCreated", "CertificateSigned"]);
    assert!(is_believed(&identity, &cluster.bundle(), real_time()));
    sleep(Duration::from_hours(1)).await;
    assert_eq!((cluster.writes(), replica.count()), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_secret_goes_with_the_service_account_that_has_made_it() {
    let cluster = Cluster::start();
    for (uid, is_new) in [("1-1", true), ("1-1", false), ("2-2", true)] {
        cluster.known_as_account(uid);
        if is_new && cluster.state_if_any().await.is_some() {
            // As the garbage collector does when the account is gone.
            cluster.delete().await;
        }
        let replica = cluster.replica(Timing::new());
        replica.serves().await;
        let owners = cluster.secret().await.metadata.owner_references.unwrap();
        let [owner] = &owners[..] else {
            panic!("one owner")
        };
        assert_eq!(
            (owner.kind.as_str(), owner.name.as_str()),
            ("ServiceAccount", "policy")
        );
        assert_eq!(owner.uid, uid);
    }
    let unowned = Cluster::start();
    unowned.replica(Timing::new()).serves().await;
    assert_eq!(unowned.secret().await.metadata.owner_references, None);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_made_beforehand_is_waited_for_and_never_created() {
    let cluster = Cluster::start();
    let authority = SharedAuthority::in_secret(SECRET).for_service("policy");
    let replica = cluster.replica_of(&authority.expect_secret(), Clock::of(real_time));
    let trouble = eventually("word of the missing Secret", async || replica.trouble()).await;
    assert!(
        trouble.ends_with(
            "type kubewright.dev/authority and the label app.kubernetes.io/managed-by=kubewright"
        ),
        "{trouble}"
    );
    let made = Record::absent("default", SECRET);
    let (parameters, secrets) = (PostParams::default(), cluster.secrets());
    secrets.create(&parameters, made.as_secret()).await.unwrap();
    let identity = replica.serves().await;
    assert!(is_believed(&identity, &cluster.bundle(), real_time()));

    // Lost, it is missed again, and what is served goes on.
    cluster.delete().await;
    eventually("word of the lost Secret", async || replica.trouble()).await;
    secrets.create(&parameters, made.as_secret()).await.unwrap();
    eventually("the end of the trouble", async || {
        replica.trouble().is_none().then_some(())
    })
    .await;
    assert_eq!(cluster.state().await.generation, 1);
    assert_eq!(cluster.sent(&http::Method::POST), 0);
}

#[tokio::test(start_paused = true)]
async fn of_two_that_race_one_makes_the_secret_and_both_serve_it() {
    let cluster = Cluster::start();
    // Both find nothing, and both write.
    cluster.races();
    let (one, other) = (
        cluster.replica(Timing::new()),
        cluster.replica(Timing::new()),
    );
    let (first, second) = (one.serves().await, other.serves().await);
    assert_eq!(first.trust(), second.trust());
    assert_ne!(first.chain(), second.chain());
    assert_eq!(cluster.sent(&http::Method::POST), 2);
    let reasons = [one.reasons(), other.reasons()].concat();
    let made = reasons
        .iter()
        .filter(|reason| **reason == "AuthorityCreated");
    assert_eq!(made.count(), 1);
    assert_eq!((one.trouble(), other.trouble()), (None, None));
}

#[tokio::test(start_paused = true)]
async fn six_hundred_that_start_at_once_write_a_handful_of_times() {
    let cluster = Cluster::start();
    let replicas: Vec<Running> = (0..600).map(|_| cluster.replica(Timing::new())).collect();
    let first = replicas[0].serves().await;
    for replica in &replicas {
        assert_eq!(replica.serves().await.trust(), first.trust());
    }
    assert!(cluster.writes() <= 6, "{} writes", cluster.writes());
    cluster.forget_sent();
    cluster.ask_for_rotation().await;
    eventually("a switch of them all", async || {
        let all = replicas.iter().all(|replica| replica.count() == 2);
        all.then_some(())
    })
    .await;
    // It is staged, published and switched to, and some of them may be outrun.
    assert!(cluster.writes() <= 12, "{} writes", cluster.writes());
}

#[tokio::test(start_paused = true)]
async fn what_has_expired_when_a_program_starts_is_replaced_at_once() {
    let cluster = Cluster::start();
    let old = cluster.replica(short());
    let expired = old.serves().await;
    let secret = cluster.secret().await;
    drop(old);
    sleep(Duration::from_hours(24)).await;
    cluster.restore(&secret).await;
    let new = cluster.replica(short());
    let identity = new.serves().await;
    assert!(!is_believed(&expired, &cluster.bundle(), real_time()));
    assert!(is_believed(&identity, &cluster.bundle(), real_time()));
    assert_eq!(new.reasons(), ["AuthorityReplaced", "CertificateSigned"]);
    assert_eq!(cluster.state().await.generation, 2);
}

#[tokio::test(start_paused = true)]
async fn a_program_without_permission_says_so_and_goes_on_when_it_has_it() {
    let cluster = Cluster::start();
    cluster.is_forbidden(true);
    let replica = cluster.replica(Timing::new());
    sleep(Duration::from_mins(10)).await;
    let trouble = replica.trouble().unwrap();
    assert!(
        trouble.contains(SECRET) && trouble.contains("forbidden"),
        "{trouble}"
    );
    assert_eq!(replica.reasons(), ["CertificateTrouble"]);
    cluster.is_forbidden(false);
    replica.serves().await;
    assert_eq!(replica.trouble(), None);
}

/// In real time, on one thread with the API server: what all of them do at once takes seconds. Without regard to how long looks
/// take, nearly all of them write.
#[tokio::test]
async fn six_hundred_in_a_crowd_write_a_handful_of_times_too() {
    let cluster = Cluster::start();
    let replicas: Vec<Running> = (0..600).map(|_| cluster.replica(Timing::new())).collect();
    for replica in &replicas {
        while replica.count() == 0 {
            sleep(Duration::from_millis(50)).await;
        }
    }
    assert!(cluster.writes() <= 30, "{} writes", cluster.writes());
}
