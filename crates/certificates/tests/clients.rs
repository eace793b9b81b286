//! Which clients are believed, and what the others are told.

use std::time::{Duration, SystemTime};

use kubewright_certificates::{Authority, CertificateError, ClientError, ClientTrust, TrustBundle};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;

const DAY: Duration = Duration::from_hours(24);

fn chain(authority: &Authority, user: &str) -> Vec<CertificateDer<'static>> {
    let issued = authority.sign_client(user, "system:masters", DAY).unwrap();
    issued.identity().unwrap().chain().to_vec()
}

fn any(authority: &Authority) -> ClientTrust {
    ClientTrust::new(&authority.trust(), [""; 0]).unwrap()
}

fn said(refused: Result<String, ClientError>) -> String {
    refused.unwrap_err().to_string()
}

/// A client certificate with the common names given.
fn with_names(authority: &Authority, names: &[&str]) -> Vec<CertificateDer<'static>> {
    let key = KeyPair::from_pem(&authority.key_pem()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate_pem(), key).unwrap();
    let mut params = CertificateParams::default();
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.distinguished_name = rcgen::DistinguishedName::new();
    // One type can be there once, so that further names get the same type by its number.
    let mut kinds = [DnType::CommonName, DnType::CustomDnType(vec![2, 5, 4, 3])].into_iter();
    for name in names {
        params.distinguished_name.push(kinds.next().unwrap(), *name);
    }
    let key = KeyPair::generate().unwrap();
    vec![params.signed_by(&key, &issuer).unwrap().der().clone()]
}

#[test]
fn clients_of_the_authorities_are_believed_under_every_name_unless_names_are_given() {
    let authority = Authority::new("clients").unwrap();
    let now = SystemTime::now();
    let (api, jane) = (chain(&authority, "api"), chain(&authority, "jane"));
    assert_eq!(any(&authority).verify(&jane, now).unwrap(), "jane");

    let named = ClientTrust::new(&authority.trust(), ["api", "other"]).unwrap();
    assert_eq!(named.verify(&api, now).unwrap(), "api");
    assert_eq!(
        said(named.verify(&jane, now)),
        r#"the client "jane" is not one of those that may call"#
    );
}

#[test]
fn two_authorities_can_be_believed_while_one_takes_over_from_the_other() {
    let (old, new) = (
        Authority::new("clients").unwrap(),
        Authority::new("clients").unwrap(),
    );
    let both = ClientTrust::new(&old.trust().and(&new.trust()), ["api"]).unwrap();
    for authority in [&old, &new] {
        let judged = both.verify(&chain(authority, "api"), SystemTime::now());
        assert_eq!(judged.unwrap(), "api");
    }
}

#[test]
fn who_is_not_believed_is_told_why() {
    let authority = Authority::new("clients").unwrap();
    let trust = any(&authority);
    let now = SystemTime::now();
    let mine = chain(&authority, "api");
    let foreign = chain(&Authority::new("clients").unwrap(), "api");
    let server = authority.sign_server(["api"], DAY).unwrap();
    let server = server.identity().unwrap().chain().to_vec();
    let garbage = vec![CertificateDer::from(vec![0x30, 0x03, 1, 2, 3])];

    assert_eq!(
        said(trust.verify(&[], now)),
        "the client has shown no certificate"
    );
    let not = "the client's certificate is not believed";
    for (chain, at, why) in [
        (&mine, now + 2 * DAY, "it has expired"),
        (&mine, now - DAY, "it is not valid yet"),
        (&server, now, "it is not for clients"),
    ] {
        assert_eq!(said(trust.verify(chain, at)), format!("{not}: {why}"));
    }
    // The foreign authority has the same name: what is wrong is its signature.
    assert!(said(trust.verify(&foreign, now)).starts_with(not));
    assert!(said(trust.verify(&garbage, now)).starts_with(not));
    let other = chain(&Authority::new("others").unwrap(), "api");
    assert_eq!(
        said(trust.verify(&other, now)),
        format!("{not}: it was signed by an authority that is not trusted")
    );
}

#[test]
fn several_common_names_are_none_and_none_is_no_empty_name() {
    let authority = Authority::new("clients").unwrap();
    let trust = ClientTrust::new(&authority.trust(), ["api", ""]).unwrap();
    let now = SystemTime::now();
    assert_eq!(
        trust
            .verify(&with_names(&authority, &["api"]), now)
            .unwrap(),
        "api"
    );
    for names in [&[][..], &["api", "jane"], &["jane", "api"]] {
        assert!(
            matches!(
                trust.verify(&with_names(&authority, names), now),
                Err(ClientError::NotAllowed { name }) if name.is_empty()
            ),
            "{names:?}"
        );
    }
}

#[test]
fn a_name_that_would_break_a_line_is_told_in_quotes_and_cut() {
    let authority = Authority::new("clients").unwrap();
    let trust = ClientTrust::new(&authority.trust(), ["api"]).unwrap();
    let name = format!("a\nb{}", "c".repeat(10_000));
    let text = said(trust.verify(&chain(&authority, &name), SystemTime::now()));
    assert!(text.starts_with(r#"the client "a\nbccc"#), "{text}");
    assert!(text.len() < 300, "{}", text.len());
}

#[test]
fn without_an_authority_no_client_can_be_trusted() {
    let trust = ClientTrust::new(&TrustBundle::default(), ["api"]);
    assert!(matches!(trust, Err(CertificateError::NothingFound { .. })));
}
