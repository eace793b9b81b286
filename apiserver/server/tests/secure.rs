//! The HTTPS listener: who gets in, protocols, and the stop.

use std::fmt::Write as _;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use kubewright_apiserver::{ApiServer, Listening, SecureServing, ServiceAccountTokens};
use rustls::RootCertStore;
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

async fn listening() -> Listening {
    ApiServer::start()
        .listen(([127, 0, 0, 1], 0))
        .await
        .unwrap()
}

/// A client that trusts the server and has no credentials.
async fn anonymous(listening: &Listening) -> Config {
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .unwrap();
    config.auth_info = kube::config::AuthInfo::default();
    config
}

async fn code(config: Config, path: &str) -> u16 {
    let client = Client::try_from(config).unwrap();
    let request = http::Request::get(path).body(Vec::new()).unwrap();
    match client.request_text(request).await {
        Ok(_) => 200,
        Err(kube::Error::Api(status)) => status.code,
        Err(error) => panic!("{error}"),
    }
}

pub(crate) async fn connect(listening: &Listening, protocols: &[&[u8]]) -> TlsStream<TcpStream> {
    let authority = CertificateDer::from_pem_slice(listening.certificate_authority().as_bytes());
    let mut roots = RootCertStore::empty();
    roots.add(authority.unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let socket = TcpStream::connect(listening.local_addr()).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    TlsConnector::from(Arc::new(config))
        .connect(name, socket)
        .await
        .unwrap()
}

#[tokio::test]
async fn anonymous_clients_read_health_and_version_only() {
    let listening = listening().await;
    for path in ["/api/v1/namespaces", "/apis", "/", "/openapi/v3"] {
        assert_eq!(code(anonymous(&listening).await, path).await, 403, "{path}");
    }
    for path in ["/healthz", "/readyz", "/livez", "/version"] {
        assert_eq!(code(anonymous(&listening).await, path).await, 200, "{path}");
    }
    let mut wrong = anonymous(&listening).await;
    wrong.auth_info.token = Some("wrong".to_owned().into());
    assert_eq!(code(wrong, "/api/v1/namespaces").await, 401);
}

#[tokio::test]
async fn anonymous_clients_cannot_impersonate() {
    let listening = listening().await;
    let mut admin = anonymous(&listening).await;
    admin.auth_info.impersonate = Some("kubernetes-admin".to_owned());
    admin.auth_info.impersonate_groups = Some(vec!["system:masters".to_owned()]);
    for path in ["/api/v1/namespaces", "/healthz"] {
        assert_eq!(code(admin.clone(), path).await, 403, "{path}");
    }
}

#[tokio::test]
async fn the_admins_token_opens_the_door() {
    let listening = listening().await;
    let mut config = anonymous(&listening).await;
    config.auth_info.token = Some(listening.token().to_owned().into());
    assert_eq!(code(config, "/api/v1/namespaces").await, 200);
}

#[tokio::test]
async fn a_certificate_of_another_server_does_not() {
    let (ours, theirs) = (listening().await, listening().await);
    let kubeconfig = Kubeconfig::from_yaml(&theirs.kubeconfig()).unwrap();
    let stranger = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    let mut config = anonymous(&ours).await;
    config.auth_info = stranger;
    let client = Client::try_from(config).unwrap();
    assert!(client.apiserver_version().await.is_err());
}

#[tokio::test]
async fn both_protocols_are_spoken() {
    let listening = listening().await;
    let modern = connect(&listening, &[b"h2", b"http/1.1"]).await;
    assert_eq!(modern.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
    let mut plain = connect(&listening, &[]).await;
    let request = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    plain.write_all(request).await.unwrap();
    let mut answer = String::new();
    plain.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with("\r\n\r\nok"), "{answer}");
}

#[tokio::test]
async fn a_stop_closes_the_door_and_every_connection() {
    let listening = listening().await;
    let address = listening.local_addr();
    let mut idle = connect(&listening, &[]).await;
    idle.write_all(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut buffer = [0; 1024];
    assert!(idle.read(&mut buffer).await.unwrap() > 0);
    let token = listening.token().to_owned();
    let mut watch = connect(&listening, &[]).await;
    let request = format!(
        "GET /api/v1/namespaces?watch=1&resourceVersion=6 HTTP/1.1\r\nHost: localhost\r\n\
         Authorization: Bearer {token}\r\n\r\n"
    );
    watch.write_all(request.as_bytes()).await.unwrap();
    assert!(watch.read(&mut buffer).await.unwrap() > 0);

    listening.stop().await;
    assert_eq!(idle.read(&mut buffer).await.unwrap(), 0);
    let mut end = Vec::new();
    watch.read_to_end(&mut end).await.unwrap();
    assert!(end.ends_with(b"0\r\n\r\n"), "the watch ended cleanly");
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn an_address_in_use_says_so() {
    let listening = listening().await;
    let error = ApiServer::start()
        .listen(listening.local_addr())
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {}", listening.local_addr())
    );
}

/// An authority of the test's own, and a client certificate of it as kube wants it.
fn authority_and_client() -> (String, kube::config::AuthInfo) {
    use rcgen::{
        BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    };
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let certificate = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let mut client = CertificateParams::default();
    client.distinguished_name.push(DnType::CommonName, "jane");
    client
        .distinguished_name
        .push(DnType::OrganizationName, "system:masters");
    client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let key = KeyPair::generate().unwrap();
    let signed = client.signed_by(&key, &issuer).unwrap();
    let user = kube::config::AuthInfo {
        client_certificate_data: Some(STANDARD.encode(signed.pem())),
        client_key_data: Some(STANDARD.encode(key.serialize_pem()).into()),
        ..kube::config::AuthInfo::default()
    };
    (certificate, user)
}

#[tokio::test]
async fn a_client_ca_from_elsewhere_takes_the_place_of_the_servers_own() {
    let (authority, user) = authority_and_client();
    let serving = SecureServing::default().client_ca(authority).unwrap();
    let server = ApiServer::builder().rbac().start();
    let listening = server
        .listen_with(([127, 0, 0, 1], 0), serving)
        .await
        .unwrap();
    let mut jane = anonymous(&listening).await;
    jane.auth_info = user;
    assert_eq!(code(jane, "/api/v1/namespaces").await, 200);
    // The admin has a token instead of a certificate.
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
    let options = KubeConfigOptions::default();
    let admin = Config::from_custom_kubeconfig(kubeconfig, &options);
    assert_eq!(code(admin.await.unwrap(), "/api/v1/namespaces").await, 200);
}

#[tokio::test]
async fn a_certificate_of_an_unknown_authority_is_answered_401_unless_a_token_is_valid() {
    let (_, user) = authority_and_client();
    let listening = listening().await;
    let mut config = anonymous(&listening).await;
    config.auth_info = user;
    for path in ["/api/v1/namespaces", "/healthz"] {
        assert_eq!(code(config.clone(), path).await, 401, "{path}");
    }
    config.auth_info.token = Some(listening.token().to_owned().into());
    assert_eq!(code(config, "/api/v1/namespaces").await, 200);
}

#[tokio::test]
async fn a_serving_certificate_that_is_given_is_the_one_that_clients_see() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let serving = SecureServing::default()
        .certificate(made.cert.pem(), made.signing_key.serialize_pem())
        .unwrap();
    let server = ApiServer::start();
    let listening = server
        .listen_with(([127, 0, 0, 1], 0), serving)
        .await
        .unwrap();
    assert_eq!(listening.certificate_authority(), made.cert.pem());
    let stream = connect(&listening, &[]).await;
    let seen = stream.get_ref().1.peer_certificates().unwrap();
    assert_eq!(seen, [made.cert.der().clone()]);
}

#[test]
fn a_certificate_and_a_key_that_do_not_belong_together_are_refused() {
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (one, other) = (made(), made());
    let key = other.signing_key.serialize_pem();
    assert!(
        SecureServing::default()
            .certificate(one.cert.pem(), key)
            .is_err()
    );
    let error = SecureServing::default().client_ca("").unwrap_err();
    assert_eq!(error.to_string(), "cannot read the client CA");
}

#[tokio::test]
async fn a_client_certificate_that_is_its_own_authority_is_trusted() {
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params
        .distinguished_name
        .push(rcgen::DnType::CommonName, "jane");
    params
        .distinguished_name
        .push(rcgen::DnType::OrganizationName, "system:masters");
    let key = rcgen::KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap().pem();
    let serving = SecureServing::default().client_ca(&certificate).unwrap();
    let server = ApiServer::builder().rbac().start();
    let listening = server
        .listen_with(([127, 0, 0, 1], 0), serving)
        .await
        .unwrap();
    let mut jane = anonymous(&listening).await;
    jane.auth_info.client_certificate_data = Some(STANDARD.encode(certificate));
    jane.auth_info.client_key_data = Some(STANDARD.encode(key.serialize_pem()).into());
    assert_eq!(code(jane, "/api/v1/namespaces").await, 200);
}

#[tokio::test]
async fn tokens_of_service_accounts_are_those_of_the_issuer_and_the_key_that_are_given() {
    let key = rcgen::KeyPair::generate().unwrap();
    let tokens = ServiceAccountTokens::signed_with(key.serialize_pem()).unwrap();
    let tokens = tokens.issuers(["https://issuer.example.com", "https://old.example.com"]);
    let server = ApiServer::builder().service_account_tokens(tokens).start();
    let listening = server.listen(([127, 0, 0, 1], 0)).await.unwrap();
    let mut config = anonymous(&listening).await;
    config.auth_info.token = Some(listening.token().to_owned().into());
    let admin = Client::try_from(config.clone()).unwrap();
    let post = async |path: &str, body: &str| {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(body.as_bytes().to_vec()).unwrap();
        admin.request::<serde_json::Value>(request).await.unwrap()
    };
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    post(accounts, r#"{"metadata": {"name": "robot"}}"#).await;
    let made = post(&format!("{accounts}/robot/token"), r#"{"spec": {}}"#).await;
    let token = made["status"]["token"].as_str().unwrap();
    let claims = token.split('.').nth(1).unwrap();
    let claims: serde_json::Value =
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).unwrap()).unwrap();
    assert_eq!(claims["iss"], "https://issuer.example.com");
    assert_eq!(
        claims["aud"],
        serde_json::json!(["https://issuer.example.com"])
    );

    config.auth_info.token = Some(token.to_owned().into());
    assert_eq!(code(config.clone(), "/api/v1/namespaces").await, 200);
    config.auth_info.token = Some(format!("{token}x").into());
    assert_eq!(code(config, "/api/v1/namespaces").await, 401);
}

#[tokio::test]
async fn a_client_certificate_is_the_credential_that_reviews_name() {
    let listening = listening().await;
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
    let user = kubeconfig.auth_infos[0].auth_info.clone().unwrap();
    let decoded = |text: &str| STANDARD.decode(text).unwrap();
    let certificate = decoded(&user.client_certificate_data.unwrap());
    let certificate = CertificateDer::from_pem_slice(&certificate).unwrap();
    let mut expected = "X509SHA256=".to_owned();
    for byte in ring::digest::digest(&ring::digest::SHA256, &certificate).as_ref() {
        write!(expected, "{byte:02x}").unwrap();
    }

    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let client = Client::try_from(config.unwrap()).unwrap();
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    let request = http::Request::post(path).body(b"{}".to_vec()).unwrap();
    let review: Value = client.request(request).await.unwrap();
    assert_eq!(
        review["status"]["userInfo"]["extra"],
        json!({"authentication.kubernetes.io/credential-id": [expected]})
    );
}

#[tokio::test]
async fn the_key_of_the_kubeconfig_is_in_the_form_that_every_client_reads() {
    let listening = listening().await;
    let kubeconfig = Kubeconfig::from_yaml(&listening.kubeconfig()).unwrap();
    let kubeconfig = serde_json::to_value(&kubeconfig).unwrap();
    let key = &kubeconfig["users"][0]["user"]["client-key-data"];
    let key = STANDARD.decode(key.as_str().unwrap()).unwrap();
    assert!(key.starts_with(b"-----BEGIN EC PRIVATE KEY-----\n"));
}

/// Asks for a watch over WebSocket.
async fn upgraded(listening: &Listening, path: &str, headers: &str) -> TlsStream<TcpStream> {
    let mut stream = connect(listening, &[b"http/1.1"]).await;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n{headers}\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

/// Reads up to an empty line.
async fn head(stream: &mut TlsStream<TcpStream>) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

/// Reads one frame of less than 64 KiB: its first byte and what it carries.
async fn frame(stream: &mut TlsStream<TcpStream>) -> (u8, Vec<u8>) {
    let first = stream.read_u8().await.unwrap();
    let length = match stream.read_u8().await.unwrap() {
        126 => stream.read_u16().await.unwrap().into(),
        length => usize::from(length),
    };
    let mut payload = vec![0; length];
    stream.read_exact(&mut payload).await.unwrap();
    (first, payload)
}

const KEY: &str = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n";
const WATCH: &str = "/api/v1/namespaces?watch=true&fieldSelector=metadata.name%3Ddefault";

#[tokio::test]
async fn each_event_of_a_watch_over_a_websocket_is_one_message() {
    let listening = listening().await;
    let authorized = format!("Authorization: Bearer {}\r\n", listening.token());
    let headers =
        format!("{KEY}{authorized}Origin: http://localhost\r\nSec-WebSocket-Protocol: x\r\n");
    let mut stream = upgraded(&listening, WATCH, &headers).await;
    let answer = head(&mut stream).await.to_ascii_lowercase();
    assert!(answer.starts_with("http/1.1 101 "), "{answer}");
    assert!(
        answer.contains("sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n"),
        "{answer}"
    );
    assert!(answer.contains("sec-websocket-protocol: x\r\n"), "{answer}");

    let (kind, event) = frame(&mut stream).await;
    assert_eq!(kind, 0x81);
    assert!(event.ends_with(b"}\n"));
    let event: Value = serde_json::from_slice(&event).unwrap();
    assert_eq!(
        (&event["type"], &event["object"]["metadata"]["name"]),
        (&json!("ADDED"), &json!("default"))
    );

    // What a client says is ignored, and its pings are answered.
    let mask = [0; 4];
    for (kind, payload) in [(0x81_u8, &b"hello"[..]), (0x89, b"hi")] {
        let length = 0x80 | u8::try_from(payload.len()).unwrap();
        stream
            .write_all(&[&[kind, length], &mask[..], payload].concat())
            .await
            .unwrap();
    }
    assert_eq!(frame(&mut stream).await, (0x8a, b"hi".to_vec()));
    listening.stop().await;
    assert_eq!(frame(&mut stream).await, (0x88, vec![0x03, 0xe8]));
}

#[tokio::test]
async fn a_client_that_breaks_the_protocol_is_closed_with_the_reason() {
    let listening = listening().await;
    let authorized = format!("Authorization: Bearer {}\r\n", listening.token());
    let headers = format!("{KEY}{authorized}Origin: http://localhost\r\n");
    let long = [&[0x82, 0xff, 0, 0, 0, 1, 0, 0, 0, 0][..], &[0; 4]].concat();
    let pings = [0x89, 0x80, 0, 0, 0, 0].repeat(2000);
    // Without a mask; of four gigabytes; without end.
    for (sent, reason) in [
        (vec![0x81, 2, b'h', b'i'], 1002_u16),
        (long, 1009),
        (pings, 1008),
    ] {
        let mut stream = upgraded(&listening, WATCH, &headers).await;
        head(&mut stream).await;
        stream.write_all(&sent).await.unwrap();
        let (_, code) = loop {
            let (kind, payload) = frame(&mut stream).await;
            if kind == 0x88 {
                break (kind, payload);
            }
        };
        assert_eq!(code, reason.to_be_bytes());
    }
}

#[tokio::test]
async fn a_handshake_is_refused_as_by_the_real_server() {
    let listening = listening().await;
    let authorized = format!("Authorization: Bearer {}\r\n", listening.token());
    let origin = "Origin: http://localhost\r\n";
    let token = format!(
        "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.{}",
        URL_SAFE_NO_PAD.encode(listening.token())
    );
    for (headers, code) in [
        (format!("{KEY}{authorized}"), 403),
        (format!("{KEY}{authorized}Origin: null\r\n"), 403),
        (format!("{authorized}{origin}"), 400),
        (
            format!("{KEY}{authorized}{origin}Sec-WebSocket-Protocol: a, b\r\n"),
            400,
        ),
        (
            format!("{}{authorized}{origin}", KEY.replace("13", "8")),
            400,
        ),
        (format!("{KEY}{origin}"), 403),
        (format!("{KEY}{origin}{token}\r\n"), 401),
        (format!("{KEY}{origin}{token}, a\r\n"), 101),
    ] {
        let mut stream = upgraded(&listening, WATCH, &headers).await;
        let answer = head(&mut stream).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {code} ")),
            "{headers}: {answer}"
        );
        assert_eq!(
            answer.contains("sec-websocket-protocol: a\r\n"),
            code == 101
        );
    }
}

#[tokio::test]
async fn a_client_that_pings_without_end_is_cut_off() {
    let listening = listening().await;
    let mut stream = connect(&listening, &[b"h2"]).await;
    let begin = [
        &b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"[..],
        &[0, 0, 0, 4, 0, 0, 0, 0, 0],
    ]
    .concat();
    stream.write_all(&begin).await.unwrap();
    let pings = [0, 0, 8, 6, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0].repeat(1500);
    let (mut reader, mut writer) = tokio::io::split(stream);
    let sending = async { while writer.write_all(&pings).await.is_ok() {} };
    let reading = async {
        let mut answers = [0; 4096];
        while matches!(reader.read(&mut answers).await, Ok(read) if read > 0) {}
    };
    tokio::join!(sending, reading);
}
