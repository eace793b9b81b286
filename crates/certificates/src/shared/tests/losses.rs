//! A Secret that is deleted, emptied, broken, set back or managed by another program, and an API server that is down.

use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::harness::{Cluster, Running, SECRET, eventually, is_believed, locked, real_time, short};
use crate::shared::record::{Content, Record};
use crate::shared::root::Root;
use crate::shared::state::State;
use crate::{Identity, RotationEvent, Timing};

async fn served(cluster: &Cluster) -> (Running, Identity) {
    let replica = cluster.replica(Timing::new());
    let identity = replica.serves().await;
    (replica, identity)
}

/// The Secret is again what it was, soon.
async fn heals(cluster: &Cluster, before: &State<Root>) {
    let start = Instant::now();
    eventually("the Secret as it was", async || {
        let secret = cluster.secrets().get_opt(SECRET).await.unwrap()?;
        let record = Record::of(secret);
        match record.content() {
            Content::State(state) => (is_same(&state, before)).then_some(()),
            _ => None,
        }
    })
    .await;
    let took = Instant::now() - start;
    assert!(took < Duration::from_secs(1), "{took:?}");
}

fn is_same(one: &State<Root>, other: &State<Root>) -> bool {
    let place = |state: &State<Root>| (state.generation, state.phase());
    place(one) == place(other) && one.trusted().eq(other.trusted())
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_deleted_comes_back_with_the_same_authority() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    let before = cluster.state().await;
    cluster.delete().await;
    heals(&cluster, &before).await;
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
    assert!(replica.reasons().contains(&"SecretRestored"));
}

#[tokio::test(start_paused = true)]
async fn what_is_emptied_or_broken_is_mended_and_who_did_it_is_named() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    let before = cluster.state().await;
    // Removals are not attributed: managedFields do not record them.
    for (broken, by) in [
        (json!({"data": null}), None),
        (json!({"data": {"ca.key": null}}), None),
        (json!({"data": {"state": "e30="}}), Some("a-janitor")),
        (
            json!({"data": {"ca.crt": "bm90aGluZw=="}}),
            Some("a-janitor"),
        ),
    ] {
        cluster.patch("a-janitor", &broken).await;
        heals(&cluster, &before).await;
        let last = locked(&replica.events).last().cloned();
        let Some(RotationEvent::Restored { why, writer }) = last else {
            panic!("{last:?}");
        };
        assert_eq!(writer.as_deref(), by);
        assert!(!why.is_empty());
    }
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
}

#[tokio::test(start_paused = true)]
async fn a_pair_that_another_client_has_written_is_not_served() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    let before = cluster.state().await;
    let other = crate::Authority::new("another").unwrap();
    let pair =
        json!({"stringData": {"ca.crt": other.certificate_pem(), "ca.key": other.key_pem()}});
    cluster.patch("kubectl-edit", &pair).await;
    heals(&cluster, &before).await;
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_is_set_back_is_brought_forward_again() {
    let cluster = Cluster::start();
    let replica = cluster.replica(short());
    let first = replica.serves().await;
    let old = cluster.secret().await;
    cluster.ask_for_rotation().await;
    let second = eventually("a new certificate", async || {
        replica
            .served()
            .filter(|identity| identity.trust() != first.trust())
    })
    .await;
    let before = cluster.state().await;
    cluster.restore(&old).await;
    heals(&cluster, &before).await;
    assert_eq!(replica.served().unwrap().chain(), second.chain());
}

#[tokio::test(start_paused = true)]
async fn a_secret_of_another_type_is_left_alone_and_the_old_pair_is_served() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    cluster.is_down(true);
    cluster.delete().await;
    let foreign = serde_json::from_value(json!({
        "metadata": {"name": SECRET}, "stringData": {"password": "not ours"},
    }));
    let secrets = cluster.secrets();
    secrets
        .create(&kube::api::PostParams::default(), &foreign.unwrap())
        .await
        .unwrap();
    let before = cluster.secret().await;
    cluster.is_down(false);
    cluster.forget_sent();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(cluster.secret().await, before);
    assert_eq!(cluster.writes(), 0);
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
    let trouble = replica.trouble().unwrap();
    assert_eq!(
        trouble,
        "the Secret belongs to another program: its type is Opaque, not kubewright.dev/authority"
    );
    cluster.delete().await;
    eventually("the Secret", async || {
        secrets.get_opt(SECRET).await.unwrap()
    })
    .await;
    eventually("the end of the trouble", async || {
        replica.trouble().is_none().then_some(())
    })
    .await;
    assert_eq!(cluster.state().await.trusted().count(), 1);
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
}

#[tokio::test(start_paused = true)]
async fn a_secret_without_our_label_is_left_alone() {
    let cluster = Cluster::start();
    let (replica, _) = served(&cluster).await;
    cluster
        .patch(
            "kubectl-edit",
            &json!({"metadata": {"labels": null}, "data": null}),
        )
        .await;
    cluster.forget_sent();
    sleep(Duration::from_hours(1)).await;
    assert_eq!(cluster.writes(), 0);
    assert!(replica.trouble().unwrap().contains("no label"));
}

#[tokio::test(start_paused = true)]
async fn who_keeps_overwriting_is_answered_six_times_a_minute_however_many_replicas_there_are() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    let others = [(); 2].map(|()| cluster.replica(Timing::new()));
    for other in &others {
        other.serves().await;
    }
    let before = cluster.state().await;
    cluster.forget_sent();
    // For an hour, whenever it has been written back.
    let mut losses = 0;
    let end = Instant::now() + Duration::from_hours(1);
    while Instant::now() < end {
        if cluster.state_if_any().await.as_ref() == Some(&before) {
            cluster.patch("a-janitor", &json!({"data": null})).await;
            losses += 1;
        }
        sleep(Duration::from_millis(500)).await;
    }
    // The first ones are answered at once.
    assert!((350..=371).contains(&losses), "{losses} losses");
    // Replicas choose their moments by chance: now and then two write in the same millisecond, and one of them is refused.
    let refused = cluster.writes().saturating_sub(losses);
    assert!(
        refused <= 20,
        "{refused} of {losses} writes were sent twice"
    );
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
}

#[tokio::test(start_paused = true)]
async fn an_api_server_that_is_away_for_an_hour_costs_nothing() {
    let cluster = Cluster::start();
    let timing = short().leaf(Duration::from_hours(4));
    let replica = cluster.replica(timing);
    let identity = replica.serves().await;
    sleep(Duration::from_hours(2)).await;
    cluster.is_down(true);
    for _ in 0..60 {
        sleep(Duration::from_mins(1)).await;
        let served = replica.served().unwrap();
        assert!(is_believed(&served, &cluster.bundle(), real_time()));
    }
    assert!(
        replica
            .trouble()
            .unwrap()
            .contains("cannot read the Secret")
    );
    let reasons = replica.reasons();
    let troubles = reasons
        .iter()
        .filter(|reason| **reason == "CertificateTrouble");
    assert_eq!(troubles.count(), 1, "said once");
    cluster.is_down(false);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(replica.trouble(), None);
    let renewed = replica.served().unwrap();
    assert_ne!(
        renewed.chain(),
        identity.chain(),
        "renewed as soon as it could be"
    );
    assert_eq!(renewed.trust(), identity.trust());
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_is_taken_away_is_reported_and_what_is_served_stays() {
    let cluster = Cluster::start();
    let (replica, identity) = served(&cluster).await;
    cluster.is_forbidden(true);
    sleep(Duration::from_hours(1)).await;
    assert_eq!(replica.served().unwrap().chain(), identity.chain());
    assert!(replica.trouble().unwrap().contains("forbidden"));
    cluster.is_forbidden(false);
    sleep(Duration::from_secs(30)).await;
    assert_eq!(replica.trouble(), None);
    assert_eq!(cluster.state().await.revision, 1);
}

#[tokio::test(start_paused = true)]
async fn nothing_shows_a_key() {
    let cluster = Cluster::start();
    let (replica, _) = served(&cluster).await;
    cluster
        .patch("a-janitor", &json!({"data": {"state": "e30="}}))
        .await;
    sleep(Duration::from_mins(1)).await;
    let secret = cluster.secret().await;
    let state = cluster.state().await;
    let record = Record::of(secret.clone());
    let events = locked(&replica.events).clone();
    let shown = format!("{record:?} {state:?} {events:?} {:?}", replica.trust);
    let data = secret.data.unwrap();
    let key = String::from_utf8(data["ca.key"].0.clone()).unwrap();
    let canary = key.lines().nth(1).unwrap();
    assert!(!canary.is_empty() && !shown.contains(canary));
    assert!(!shown.contains("[4"), "no bytes of keys: {shown}");
}
