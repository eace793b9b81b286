//! Clients that prove who they are, and those that do not.

use std::convert::Infallible;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use kubewright_certificates::{Authority, Identity};
use kubewright_server::{Body, ClientCheck, Server};
use rcgen::{CertificateParams, DnType, ExtendedKeyUsagePurpose, Issuer, KeyPair};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tower::service_fn;

use crate::client::{Client, HTTP1, HTTP2, get, post, roots, text};
use crate::running::{Running, answer, length, server, start, within};

const DAY: Duration = Duration::from_hours(24);
const NO_CERTIFICATE: &str = "the client has shown no certificate";

fn authority() -> Authority {
    Authority::new("clients").unwrap()
}

fn identity(authority: &Authority, user: &str) -> Identity {
    let issued = authority.sign_client(user, "system", DAY).unwrap();
    issued.identity().unwrap()
}

fn expired(authority: &Authority) -> Identity {
    let key = KeyPair::from_pem(&authority.key_pem()).unwrap();
    let issuer = Issuer::from_ca_cert_pem(&authority.certificate_pem(), key).unwrap();
    let mut params = CertificateParams::default();
    params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    params.not_before = rcgen::date_time_ymd(2019, 1, 1);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params.distinguished_name.push(DnType::CommonName, "api");
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &issuer).unwrap();
    Identity::from_pem(certificate.pem(), key.serialize_pem(), None).unwrap()
}

fn client(running: &Running, protocol: &[u8], identity: Option<&Identity>) -> Client {
    match identity {
        Some(identity) => Client::showing(running.address, &running.trust, protocol, identity),
        None => Client::new(running.address, &running.trust, protocol),
    }
}

/// One call on a new connection.
async fn call(client: &Client, request: Request<Full<Bytes>>) -> (u16, String) {
    let response = if client.is_http2() {
        let mut sender = client.http2().await.unwrap();
        sender.send_request(request).await.unwrap()
    } else {
        let mut sender = client.http1().await.unwrap();
        sender.send_request(request).await.unwrap()
    };
    text(response).await
}

#[tokio::test]
async fn only_clients_that_prove_a_name_on_the_list_reach_the_service() {
    let authority = authority();
    let calls = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&calls);
    let service = service_fn(move |request: Request<Body>| {
        counted.fetch_add(1, Ordering::Relaxed);
        length(request)
    });
    let check = ClientCheck::by_authorities(authority.trust()).named(["api"]);
    let running = start(server(service).clients(check)).await;

    let not = "the client's certificate is not believed: ";
    let foreign = Authority::new("others").unwrap();
    let servers = authority.sign_server(["api"], DAY).unwrap();
    let refused = [
        (None, NO_CERTIFICATE.to_owned()),
        (Some(expired(&authority)), format!("{not}it has expired")),
        (
            Some(identity(&foreign, "api")),
            format!("{not}it was signed by an authority that is not trusted"),
        ),
        (
            Some(servers.identity().unwrap()),
            format!("{not}it is not for clients"),
        ),
        (
            Some(identity(&authority, "jane")),
            r#"the client "jane" is not one of those that may call"#.to_owned(),
        ),
    ];
    for protocol in [HTTP1, HTTP2] {
        for (identity, why) in &refused {
            let client = client(&running, protocol, identity.as_ref());
            assert_eq!(call(&client, post("/", "abc")).await, (403, why.clone()));
        }
        let api = client(&running, protocol, Some(&identity(&authority, "api")));
        assert_eq!(call(&api, post("/", "abc")).await, (200, "3".to_owned()));
    }
    assert_eq!(calls.load(Ordering::Relaxed), 2);
    let counts = running.counts();
    assert_eq!((counts.clients_refused, counts.clients_observed), (10, 0));
    assert_eq!(counts.handshakes_failed, 0);
}

#[tokio::test]
async fn a_refusal_does_not_wait_for_the_body() {
    let check = ClientCheck::by_authorities(authority().trust());
    let running = start(server(service_fn(length)).clients(check)).await;
    let mut stream = running.http1().connect().await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\nexpect: 100-continue\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut first = [0; 12];
    within(stream.read_exact(&mut first), "an answer")
        .await
        .unwrap();
    assert_eq!(&first, b"HTTP/1.1 403");
}

#[tokio::test]
async fn health_checks_and_open_paths_need_no_certificate() {
    let check = ClientCheck::by_authorities(authority().trust()).except_at(["/convert"]);
    let running = start(server(service_fn(length)).clients(check)).await;
    let anonymous = running.http1();
    for path in ["/healthz", "/livez", "/readyz"] {
        assert_eq!(call(&anonymous, get(path)).await.0, 200, "{path}");
    }
    assert_eq!(call(&anonymous, post("/convert", "abc")).await.0, 200);
    assert_eq!(call(&anonymous, post("/convert?a=b", "abc")).await.0, 200);
    for path in [
        "/",
        "/convert/",
        "/convert/a",
        "/Convert",
        "//convert",
        "/%63onvert",
    ] {
        assert_eq!(call(&anonymous, post(path, "abc")).await.0, 403, "{path}");
    }
}

#[tokio::test]
async fn observing_answers_every_client_and_counts_those_it_would_refuse() {
    let authority = authority();
    let check = ClientCheck::by_authorities(authority.trust()).named(["api"]);
    let running = start(server(service_fn(length)).clients(check.observing())).await;
    for identity in [
        None,
        Some(expired(&authority)),
        Some(identity(&authority, "jane")),
    ] {
        let client = client(&running, HTTP2, identity.as_ref());
        assert_eq!(call(&client, post("/", "abc")).await, (200, "3".to_owned()));
    }
    let api = client(&running, HTTP1, Some(&identity(&authority, "api")));
    assert_eq!(call(&api, post("/", "abc")).await.0, 200);
    let counts = running.counts();
    assert_eq!((counts.clients_refused, counts.clients_observed), (0, 3));
}

#[tokio::test]
async fn new_authorities_take_effect_on_open_connections_and_broken_ones_never() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client-ca.crt");
    let (old, new) = (authority(), authority());
    fs::write(&path, old.certificate_pem()).unwrap();
    let running = start(server(service_fn(length)).clients(ClientCheck::by_file(&path))).await;
    let (by_old, by_new) = (identity(&old, "api"), identity(&new, "api"));
    let mut first = client(&running, HTTP2, Some(&by_old))
        .http2()
        .await
        .unwrap();
    let mut second = client(&running, HTTP2, Some(&by_new))
        .http2()
        .await
        .unwrap();
    let both = old.trust().and(&new.trust()).to_pem();
    let steps = [
        (old.certificate_pem(), 0, (200, 403)),
        (both.clone(), 1, (200, 200)),
        (new.certificate_pem(), 2, (403, 200)),
        (both[..100].to_owned(), 2, (403, 200)),
        (both, 3, (200, 200)),
    ];
    for (authorities, replaced, (by_old, by_new)) in steps {
        fs::write(&path, &authorities).unwrap();
        running
            .until("the change", |counts| {
                counts.client_authorities_replaced == replaced
            })
            .await;
        for (sender, expected) in [(&mut first, by_old), (&mut second, by_new)] {
            let response = sender.send_request(post("/", "abc")).await.unwrap();
            assert_eq!(text(response).await.0, expected, "{replaced}");
        }
    }
}

#[tokio::test]
async fn the_server_waits_for_the_authorities_of_clients() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("client-ca.crt");
    let binding = start(server(service_fn(length)).clients(ClientCheck::by_file(&path)));
    let mut binding = std::pin::pin!(binding);
    let early = tokio::time::timeout(Duration::from_millis(50), &mut binding).await;
    assert!(early.is_err(), "serves without knowing whom");
    let authority = authority();
    fs::write(&path, authority.certificate_pem()).unwrap();
    let running = within(binding, "the server").await;
    let api = client(&running, HTTP1, Some(&identity(&authority, "api")));
    assert_eq!(call(&api, post("/", "abc")).await.0, 200);
}

#[tokio::test]
async fn who_lacks_the_key_of_its_certificate_has_no_connection() {
    let authority = authority();
    let check = ClientCheck::by_authorities(authority.trust());
    let service = service_fn(
        async |_: Request<Body>| -> Result<Response<Full<Bytes>>, Infallible> { answer("reached") },
    );
    let running = start(server(service).accept_tls12().clients(check)).await;
    let (api, thief) = (identity(&authority, "api"), identity(&authority, "thief"));
    let stolen = CertifiedKey::new(api.chain().to_vec(), thief.certified_key().key.clone());
    let versions = [&rustls::version::TLS13, &rustls::version::TLS12];
    for (version, failed) in versions.into_iter().zip(1..) {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&[version])
            .unwrap()
            .with_root_certificates(roots(&running.trust))
            .with_client_cert_resolver(Arc::new(SingleCertAndKey::from(stolen.clone())));
        // In TLS 1.3 the client is done before the server has looked.
        let _ = Client::of(running.address, config, HTTP1).connect().await;
        running
            .until("the handshake to fail", |counts| {
                counts.handshakes_failed == failed
            })
            .await;
    }
}

#[tokio::test]
async fn authorities_that_cannot_be_used_stop_the_start() {
    let check = ClientCheck::by_authorities(kubewright_certificates::TrustBundle::default());
    let source = kubewright_certificates::SelfSigned::for_names(["localhost"]);
    let server = Server::new(service_fn(length), source).listen(([127, 0, 0, 1], 0));
    let error = server.clients(check).bind().await.err().unwrap();
    assert_eq!(error.to_string(), "cannot tell which clients to believe");
}
