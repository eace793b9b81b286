//! What an authority signs, as strict clients and x509 readers see it.

use std::time::{Duration, SystemTime};

use kubewright_certificates::{Authority, CertificateError, Identity, TrustBundle};
use rustls::pki_types::UnixTime;

use crate::handshake::{verify, verify_at};

const DAY: Duration = Duration::from_hours(24);

#[test]
fn a_server_is_believed_under_its_names_and_no_other() {
    let authority = Authority::new("test").unwrap();
    let identity = authority
        .sign_server(["a.example", "127.0.0.1"], DAY)
        .unwrap()
        .identity()
        .unwrap();
    for name in ["a.example", "127.0.0.1"] {
        verify(&identity, &authority.trust(), name).unwrap();
    }
    for name in ["b.example", "127.0.0.2", "x.a.example"] {
        verify(&identity, &authority.trust(), name).unwrap_err();
    }
}

#[test]
fn another_authority_of_the_same_name_is_not_believed() {
    let (mine, other) = (
        Authority::new("test").unwrap(),
        Authority::new("test").unwrap(),
    );
    let identity = other
        .sign_server(["a.example"], DAY)
        .unwrap()
        .identity()
        .unwrap();
    verify(&identity, &mine.trust(), "a.example").unwrap_err();
    verify(&identity, &mine.trust().and(&other.trust()), "a.example").unwrap();
}

#[test]
fn pem_text_goes_out_and_comes_back() {
    let authority = Authority::new("test").unwrap();
    let again = Authority::from_pem(&authority.certificate_pem(), &authority.key_pem()).unwrap();
    let issued = again.sign_server(["a.example"], DAY).unwrap();
    let trust = TrustBundle::from_pem(authority.certificate_pem()).unwrap();
    let identity = Identity::from_pem(
        issued.certificate_pem(),
        issued.key_pem(),
        Some(trust.clone()),
    )
    .unwrap();
    verify(&identity, &trust, "a.example").unwrap();
    assert_eq!(identity.trust(), &authority.trust());
    assert_eq!(again.expires(), authority.expires());
}

#[test]
fn a_leaf_starts_an_hour_ago_and_never_outlives_its_authority() {
    let authority = Authority::living_for("test", DAY).unwrap();
    let identity = authority
        .sign_server(["a.example"], 30 * DAY)
        .unwrap()
        .identity()
        .unwrap();
    assert_eq!(identity.expires(), authority.expires());
    let age = SystemTime::now()
        .duration_since(identity.not_before())
        .unwrap();
    assert!((3600..3660).contains(&age.as_secs()), "{age:?}");
    let late = UnixTime::since_unix_epoch(Duration::from_secs(UnixTime::now().as_secs() - 3500));
    verify_at(&identity, &authority.trust(), "a.example", late).unwrap();
}

#[test]
fn an_expired_authority_signs_nothing() {
    let authority = Authority::living_for("test", Duration::ZERO).unwrap();
    assert!(matches!(
        authority.sign_server(["a.example"], DAY),
        Err(CertificateError::AuthorityExpired)
    ));
}

#[test]
fn a_client_certificate_carries_the_user_and_its_group() {
    let authority = Authority::new("test").unwrap();
    let issued = authority
        .sign_client("jane", "system:masters", DAY)
        .unwrap();
    let identity = issued.identity().unwrap();
    let (_, parsed) = x509_parser::parse_x509_certificate(&identity.chain()[0]).unwrap();
    let subject = parsed.subject();
    let names = |values: Vec<&x509_parser::x509::AttributeTypeAndValue<'_>>| -> Vec<String> {
        values
            .iter()
            .map(|value| value.as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(subject.iter_common_name().collect()), ["jane"]);
    assert_eq!(
        names(subject.iter_organization().collect()),
        ["system:masters"]
    );
    let usage = parsed.extended_key_usage().unwrap().unwrap().value;
    assert!(usage.client_auth && !usage.server_auth);
}

#[test]
fn what_is_not_an_authority_cannot_sign() {
    let authority = Authority::new("test").unwrap();
    let leaf = authority.sign_server(["a.example"], DAY).unwrap();
    let read = |certificate: &str, key: &str| Authority::from_pem(certificate, key).map(drop);
    assert!(matches!(
        read(&leaf.certificate_pem(), &leaf.key_pem()),
        Err(CertificateError::NotAnAuthority)
    ));
    assert!(matches!(
        read(&authority.certificate_pem(), &leaf.key_pem()),
        Err(CertificateError::KeyMismatch)
    ));
    assert!(matches!(
        read(&authority.key_pem(), &authority.key_pem()),
        Err(CertificateError::NothingFound { .. })
    ));
}

#[test]
fn no_private_key_stands_in_debug_output() {
    let authority = Authority::new("test").unwrap();
    let issued = authority.sign_server(["a.example"], DAY).unwrap();
    let identity = issued.identity().unwrap();
    let output = format!("{authority:?} {issued:?} {identity:?}");
    for key in [authority.key_pem(), issued.key_pem()] {
        let canary = key.lines().nth(1).unwrap();
        assert!(!output.contains(canary));
    }
    assert!(!output.contains("[4"), "no bytes: {output}");
}
