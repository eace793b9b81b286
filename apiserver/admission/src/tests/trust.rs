//! A.11 and A.13: whom the client trusts, and what it says when it does not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use super::hook::{Authority, Hook, allow, but, webhook};
use super::setting::Setting;

const NAME: &str = "one.example.com";
const CALL: &str = r#"Internal error occurred: failed calling webhook "one.example.com": "#;

async fn why(setting: &Setting) -> String {
    let message = setting.create().await.unwrap_err();
    message.strip_prefix(CALL).unwrap().to_owned()
}

fn at(url: &str, ca: &str) -> serde_json::Value {
    webhook(NAME, &json!({"url": url, "caBundle": STANDARD.encode(ca)}))
}

#[tokio::test]
async fn a11_an_unknown_authority_is_named_as_go_does() {
    let hook = Hook::start(allow).await;
    let url = format!("https://{}/", hook.address);
    let setting = Setting::new().mutating("a", [at(&url, &Authority::new("other").pem)]);
    assert_eq!(
        why(&setting).await,
        format!(
            "failed to call webhook: Post \"{url}?timeout=10s\": tls: failed to verify certificate: x509: certificate signed by unknown authority"
        )
    );
}

#[tokio::test]
async fn a11_an_old_bundle_with_the_same_name_gives_a_hint() {
    let hook = Hook::start(allow).await;
    let url = format!("https://{}/", hook.address);
    let setting = Setting::new().mutating("a", [at(&url, &Authority::new("hook-ca").pem)]);
    assert_eq!(
        why(&setting).await,
        format!(
            "failed to call webhook: Post \"{url}?timeout=10s\": tls: failed to verify certificate: x509: certificate signed by unknown authority (possibly because of \"x509: ECDSA verification failure\" while trying to verify candidate authority certificate \"hook-ca\")"
        )
    );
}

#[tokio::test]
async fn a11_an_empty_bundle_means_the_systems_roots() {
    let hook = Hook::start(allow).await;
    let config = json!({"url": format!("https://{}/", hook.address)});
    let setting = Setting::new().mutating("a", [webhook(NAME, &config)]);
    assert!(
        why(&setting)
            .await
            .ends_with("x509: certificate signed by unknown authority")
    );
}

#[tokio::test]
async fn a11_a_wrong_host_name_lists_the_right_ones() {
    let authority = Authority::new("ca");
    let hook = Hook::start_as(
        authority.clone(),
        authority.sign(&["a.example.com", "b.example.com"]),
        allow,
    )
    .await;
    let url = format!("https://localhost:{}/", hook.address.port());
    let setting = Setting::new().mutating("a", [at(&url, &authority.pem)]);
    assert!(
        why(&setting).await.ends_with(
            "tls: failed to verify certificate: x509: certificate is valid for a.example.com, b.example.com, not localhost"
        )
    );
}

#[tokio::test]
async fn a11_a_wrong_address_lists_the_right_ones_or_says_that_there_are_none() {
    let authority = Authority::new("ca");
    for (names, expected) in [
        (
            &["127.0.0.9"][..],
            "x509: certificate is valid for 127.0.0.9, not 127.0.0.1",
        ),
        (
            &["localhost"],
            "x509: cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs",
        ),
    ] {
        let hook = Hook::start_as(authority.clone(), authority.sign(names), allow).await;
        let setting = Setting::new().mutating(
            "a",
            [at(&format!("https://{}/", hook.address), &authority.pem)],
        );
        assert!(why(&setting).await.ends_with(expected), "{names:?}");
    }
}

#[tokio::test]
async fn a11_a_service_needs_a_certificate_for_its_name() {
    let authority = Authority::new("ca");
    let hook = Hook::start_as(authority.clone(), authority.sign(&["127.0.0.1"]), allow).await;
    let config = json!({
        "service": {"namespace": "blue", "name": "hook"},
        "caBundle": STANDARD.encode(&authority.pem),
    });
    let setting = Setting::new().mutating("a", [webhook(NAME, &config)]);
    setting
        .chain
        .services()
        .set("blue", "hook", 443, hook.address);
    assert!(why(&setting).await.ends_with(
        "x509: certificate is not valid for any names, but wanted to match hook.blue.svc"
    ));
}

#[tokio::test]
async fn a11_a_certificate_without_names_relies_on_a_legacy_field() {
    let authority = Authority::new("ca");
    let hook = Hook::start_as(authority.clone(), authority.sign(&[]), allow).await;
    let url = format!("https://localhost:{}/", hook.address.port());
    let setting = Setting::new().mutating("a", [at(&url, &authority.pem)]);
    assert!(
        why(&setting)
            .await
            .ends_with("x509: certificate relies on legacy Common Name field, use SANs instead")
    );
}

#[tokio::test]
async fn a11_an_expired_certificate_says_when() {
    let authority = Authority::new("ca");
    let identity = authority.sign_with(&["127.0.0.1"], |leaf| {
        leaf.not_before = rcgen::date_time_ymd(2001, 1, 1);
        leaf.not_after = rcgen::date_time_ymd(2002, 2, 3);
    });
    let hook = Hook::start_as(authority.clone(), identity, allow).await;
    let setting = Setting::new().mutating(
        "a",
        [at(&format!("https://{}/", hook.address), &authority.pem)],
    );
    let why = why(&setting).await;
    assert!(
        why.contains("x509: certificate has expired or is not yet valid: current time 2"),
        "{why}"
    );
    assert!(why.ends_with("Z is after 2002-02-03T00:00:00Z"), "{why}");
}

#[tokio::test]
async fn a13_a_server_certificate_in_the_bundle_is_trusted_by_itself() {
    let authority = Authority::new("ca");
    let (chain, key) = authority.sign(&["127.0.0.1"]);
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        STANDARD.encode(&chain[0])
    );
    let hook = Hook::start_as(authority, (chain, key), allow).await;
    let setting = Setting::new().mutating("a", [at(&format!("https://{}/", hook.address), &pem)]);
    setting.create().await.unwrap();
}

#[tokio::test]
async fn correction_11_a_bad_bundle_fails_each_call() {
    for (bundle, expected) in [
        ("no pem", "unable to parse bytes as PEM block"),
        (
            "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            "failed to parse certificate: x509: malformed certificate",
        ),
    ] {
        let setting = Setting::new().mutating("a", [at("https://127.0.0.1:1/", bundle)]);
        assert_eq!(
            why(&setting).await,
            format!("could not get REST client: unable to load root certificates: {expected}")
        );
        let ignoring = but(
            at("https://127.0.0.1:1/", bundle),
            json!({"failurePolicy": "Ignore"}),
        );
        Setting::new()
            .mutating("a", [ignoring])
            .create()
            .await
            .unwrap();
    }
}

async fn plain_server(answer: &'static [u8]) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut hello = [0; 1024];
        let _ = stream.read(&mut hello).await;
        let _ = stream.write_all(answer).await;
        let _ = stream.shutdown().await;
        let _ = stream.read(&mut hello).await;
    });
    url
}

#[tokio::test]
async fn a11_a_server_without_tls_is_told_by_its_answer() {
    for (answer, expected) in [
        (
            &b"HTTP/1.1 400 Bad Request\r\n\r\n"[..],
            "http: server gave HTTP response to HTTPS client",
        ),
        (
            b"SSH-2.0-OpenSSH_9.6\r\n",
            "tls: first record does not look like a TLS handshake",
        ),
        (b"", "EOF"),
    ] {
        let url = plain_server(answer).await;
        let setting = Setting::new().mutating("a", [at(&url, &Authority::new("ca").pem)]);
        assert_eq!(
            why(&setting).await,
            format!("failed to call webhook: Post \"{url}?timeout=10s\": {expected}")
        );
    }
}
