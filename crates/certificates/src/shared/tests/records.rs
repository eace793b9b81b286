//! The content of a Secret, and the CA bundles that follow from it.

use std::time::{Duration, SystemTime};

use k8s_openapi::ByteString;

use super::harness::{Cluster, is_believed};
use crate::keys::Keys;
use crate::shared::record::{Content, Record};
use crate::shared::root::{Owner, Root};
use crate::shared::state::{Ca, State};
use crate::shared::trust::Trust;
use crate::{Authority, CertificateError, CertificateSource as _, SharedAuthority, TrustBundle};

const YEAR: Duration = Duration::from_hours(365 * 24);

fn owner() -> Owner {
    Owner::new("blue", "policy-certs")
}

fn root(generation: u64, now: SystemTime) -> Root {
    Root::make(&owner(), generation, now, YEAR, key()).unwrap()
}

fn key() -> rcgen::KeyPair {
    Keys::default().make().unwrap()
}

/// A state with everything in it.
fn full() -> State<Root> {
    let now = SystemTime::now();
    let timing = crate::Timing::new();
    let long_ago = now - YEAR / 2;
    let second = State::first(root(1, now))
        .staged(root(2, now))
        .switched(long_ago)
        .retired(now, &timing);
    let third = second.staged(root(3, now)).switched(now);
    third.staged(root(4, now)).published(Some(now))
}

fn record(state: &State<Root>) -> Record {
    Record::absent("blue", "policy-certs").with(state, false)
}

fn content(
    record: &Record,
    change: impl FnOnce(&mut k8s_openapi::api::core::v1::Secret),
) -> Content {
    let mut secret = record.as_secret().clone();
    change(&mut secret);
    Record::of(secret).content()
}

fn set(
    secret: &mut k8s_openapi::api::core::v1::Secret,
    key: &str,
    change: impl FnOnce(String) -> String,
) {
    let data = secret.data.as_mut().unwrap();
    let text = String::from_utf8(data[key].0.clone()).unwrap();
    data.insert(key.to_owned(), ByteString(change(text).into_bytes()));
}

#[test]
fn a_state_comes_back_as_it_was_written() {
    let state = full();
    assert_eq!((state.retired.len(), state.previous.len()), (1, 1));
    let record = record(&state);
    let Content::State(read) = record.content() else {
        panic!("{:?}", record.content());
    };
    assert_eq!(*read, state);
    // A second time, over what is there: nothing of the last rotation stays.
    let stable = State::first(root(9, SystemTime::now()));
    let again = record.with(&stable, false);
    let keys: Vec<_> = again.as_secret().data.as_ref().unwrap().keys().collect();
    assert_eq!(keys, ["ca.crt", "ca.key", "state"]);
}

#[test]
fn a_count_that_leaves_no_room_for_the_next_is_broken() {
    for field in ["generation", "revision"] {
        let most = |text: String| {
            let mut story: serde_json::Value = serde_json::from_str(&text).unwrap();
            story[field] = u64::MAX.into();
            story.to_string()
        };
        let found = content(&record(&full()), |secret| set(secret, "state", most));
        assert!(
            matches!(&found, Content::Broken(why) if why.contains("counts further")),
            "{found:?}"
        );
    }
}

#[test]
fn what_a_newer_program_wrote_is_left_to_it() {
    let record = record(&full());
    let newer = |text: String| text.replace("\"version\": 1", "\"version\": 2");
    let found = content(&record, |secret| set(secret, "state", newer));
    assert!(matches!(found, Content::Foreign(why) if why.contains("newer")));
}

#[test]
fn each_part_that_is_missing_or_another_is_found_out_and_none_is_quoted() {
    let record = record(&full());
    let other = Authority::new("another").unwrap();
    for key in [
        "ca.crt",
        "ca.key",
        "next.crt",
        "next.key",
        "previous.crt",
        "state",
    ] {
        let found = content(&record, |secret| {
            secret.data.as_mut().unwrap().remove(key);
        });
        assert!(
            matches!(&found, Content::Broken(why) if why.contains(key)),
            "{found:?}"
        );
        let found = content(&record, |secret| set(secret, key, |_| "c4n4ry".to_owned()));
        assert!(
            matches!(&found, Content::Broken(why) if !why.contains("c4n4ry")),
            "{found:?}"
        );
    }
    let found = content(&record, |secret| {
        set(secret, "next.crt", |_| other.certificate_pem());
        set(secret, "next.key", |_| other.key_pem());
    });
    assert!(matches!(found, Content::Broken(_)), "{found:?}");
}

#[test]
fn a_bundle_keeps_all_but_what_was_retired_or_is_ours_and_expired() {
    let now = SystemTime::now();
    let old = now - YEAR - Duration::from_hours(2);
    let state = full();
    let trust = Trust::of(&state, &owner());
    let expired = root(1, old);
    let of_another =
        Root::make(&Owner::new("blue", "policy-certs-2"), 1, old, YEAR, key()).unwrap();
    let unknown = root(7, now);
    let foreign = Authority::new("policy-certs 1").unwrap().trust();
    let bundle = |roots: &[&Root]| {
        TrustBundle::of(
            roots
                .iter()
                .map(|root| root.certificate().clone())
                .collect(),
        )
    };
    let present = foreign.and(&bundle(&[&expired, &of_another, &unknown]));
    let merged = trust.merged_into(&present, now);
    let wanted = foreign
        .and(&bundle(&[&of_another, &unknown]))
        .and(trust.trusted());
    assert_eq!(merged, wanted);
    assert_eq!(trust.merged_into(&merged, now), merged, "once is enough");
    let first = State::first(root(1, now));
    let retired = first.current.certificate().clone();
    let later = first
        .staged(root(2, now))
        .switched(now - YEAR / 2)
        .retired(now, &crate::Timing::new());
    let trust = Trust::of(&later, &owner());
    let merged = trust.merged_into(&TrustBundle::of(vec![retired.clone()]), now);
    assert_eq!(&merged, trust.trusted());
    assert!(trust.must_leave(&retired, now) && trust.is_ours(&retired));
    assert!(!trust.is_ours(&foreign.certificates()[0]));
}

#[test]
fn names_that_are_too_long_for_a_certificate_are_told_apart_all_the_same() {
    let long = "n".repeat(63);
    let names = ["a", "b"].map(|end| "s".repeat(200) + end);
    let owners = names.each_ref().map(|name| Owner::new(&long, name));
    let roots = owners
        .each_ref()
        .map(|owner| Root::make(owner, u64::MAX, SystemTime::now(), YEAR, key()).unwrap());
    for (number, root) in roots.iter().enumerate() {
        let (_, parsed) = x509_parser::parse_x509_certificate(root.certificate()).unwrap();
        let name = parsed.subject().iter_common_name().next().unwrap();
        assert!(name.as_str().unwrap().len() <= 64);
        for (other, owner) in owners.iter().enumerate() {
            assert_eq!(owner.owns(&parsed), number == other);
        }
    }
    assert_ne!(roots[0].fingerprint(), roots[1].fingerprint());
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_for_every_name_of_its_service() {
    let cluster = Cluster::start();
    let authority = SharedAuthority::in_secret("certs")
        .for_service("policy")
        .also_for(["127.0.0.1"])
        .cluster_domain("k8s.example");
    assert_eq!(
        authority.names("default"),
        [
            "policy.default.svc",
            "policy.default.svc.k8s.example",
            "policy.default",
            "policy",
            "127.0.0.1",
        ]
    );
    let (mut source, rotation) = authority.connect(cluster.client(), "default");
    let identity = tokio::select! {
        identity = source.next() => identity.unwrap(),
        () = rotation.run(()) => unreachable!("it runs for ever"),
    };
    assert!(is_believed(&identity, identity.trust(), SystemTime::now()));
}

#[tokio::test]
async fn a_missing_or_invalid_name_is_an_error_at_once() {
    let cluster = Cluster::start();
    let nameless = SharedAuthority::in_secret("certs");
    let (mut source, _rotation) = nameless.connect(cluster.client(), "default");
    assert!(matches!(
        source.next().await,
        Err(CertificateError::NoNames)
    ));
    let wrong = nameless.also_for(["no name"]);
    let (mut source, _rotation) = wrong.connect(cluster.client(), "default");
    assert!(matches!(
        source.next().await,
        Err(CertificateError::InvalidName { .. })
    ));
}
