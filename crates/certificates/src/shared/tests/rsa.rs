//! Keys for clients that take no ECDSA.

use std::time::Duration;

use tokio::time::sleep;

use super::harness::{Cluster, SECRET, eventually, is_believed, real_time, short};
use crate::shared::clock::Clock;
use crate::{Identity, SharedAuthority, Timing, TrustBundle};

fn authority(timing: Timing) -> SharedAuthority {
    SharedAuthority::in_secret(SECRET)
        .for_service("policy")
        .timing(timing)
}

fn is_rsa(certificate: &[u8]) -> bool {
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate).unwrap();
    let key = parsed.public_key().parsed().unwrap();
    matches!(key, x509_parser::public_key::PublicKey::RSA(key) if key.key_size() == 2048)
}

fn kinds(identity: &Identity, bundle: &TrustBundle) -> (bool, Vec<bool>) {
    let authorities = bundle.certificates().iter();
    let authorities = authorities.map(|certificate| is_rsa(certificate));
    (is_rsa(&identity.chain()[0]), authorities.collect())
}

#[tokio::test(start_paused = true)]
async fn keys_are_rsa_for_those_who_ask_and_are_rotated_like_others() {
    let cluster = Cluster::start();
    let replica = cluster.replica_of(&authority(short()).rsa(), Clock::of(real_time));
    let first = replica.serves().await;
    assert_eq!(kinds(&first, &cluster.bundle()), (true, vec![true]));
    assert!(is_believed(&first, &cluster.bundle(), real_time()));
    cluster.ask_for_rotation().await;
    let second = eventually("a certificate of the next authority", async || {
        let served = replica.served()?;
        (served.trust() != first.trust()).then_some(served)
    });
    assert!(is_rsa(&second.await.chain()[0]));
    for _ in 0..48 {
        sleep(Duration::from_mins(15)).await;
        let served = replica.served().unwrap();
        assert!(is_believed(&served, &cluster.bundle(), real_time()));
    }
}

#[tokio::test(start_paused = true)]
async fn an_authority_that_is_there_is_kept_until_it_is_rotated() {
    let cluster = Cluster::start();
    let replica = cluster.replica(short());
    let served = replica.serves().await;
    assert_eq!(kinds(&served, &cluster.bundle()), (false, vec![false]));
    drop(replica);
    let replica = cluster.replica_of(&authority(short()).rsa(), Clock::of(real_time));
    let served = replica.serves().await;
    assert_eq!(kinds(&served, &cluster.bundle()), (true, vec![false]));
    assert!(is_believed(&served, &cluster.bundle(), real_time()));
    cluster.ask_for_rotation().await;
    eventually("trust in an RSA authority", async || {
        let (_, authorities) = kinds(&served, &cluster.bundle());
        authorities.contains(&true).then_some(())
    })
    .await;
}
