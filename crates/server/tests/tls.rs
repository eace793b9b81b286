//! The versions and suites of TLS that are spoken, by real handshakes and by hellos that no good client would send.

use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::cipher::{InboundOpaqueMessage, OutboundChunks, OutboundPlainMessage};
use rustls::{
    CipherSuite, ClientConfig, ConnectionTrafficSecrets, ContentType, ProtocolVersion,
    SupportedCipherSuite,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::service_fn;

use crate::client::{Client, HTTP1, get, roots, text};
use crate::running::{Running, length, server, start, within};

const HANDSHAKE: u8 = 22;
const ALERT: u8 = 21;

const HANDSHAKE_FAILURE: u8 = 40;
const PROTOCOL_VERSION: u8 = 70;
const NO_RENEGOTIATION: u8 = 100;

async fn tls13_only() -> Running {
    start(server(service_fn(length))).await
}

async fn tls12_too() -> Running {
    start(server(service_fn(length)).accept_tls12()).await
}

/// A ClientHello that offers one version and these suites.
fn hello(version: u16, suites: &[u16]) -> Vec<u8> {
    fn block(length: usize, content: &[u8]) -> Vec<u8> {
        let size = u32::try_from(content.len()).unwrap().to_be_bytes();
        [&size[4 - length..], content].concat()
    }
    fn extension(number: u16, content: &[u8]) -> Vec<u8> {
        [&number.to_be_bytes()[..], &block(2, content)].concat()
    }
    let suites: Vec<u8> = suites
        .iter()
        .flat_map(|suite| suite.to_be_bytes())
        .collect();
    let name = block(2, &[&[0][..], &block(2, b"localhost")].concat());
    let groups = block(2, &[0, 0x17]); // secp256r1
    let signatures = block(2, &[4, 3, 8, 4, 4, 1]); // ECDSA and RSA with SHA-256
    let mut extensions = [
        extension(0, &name),
        extension(10, &groups),
        extension(11, &block(1, &[0])),
        extension(13, &signatures),
    ]
    .concat();
    if version == 0x0304 {
        // A well-known point of secp256r1: its generator.
        let point = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
        let point: Vec<u8> = (0..point.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&point[at..at + 2], 16).unwrap())
            .collect();
        let share = block(2, &[&[0, 0x17][..], &block(2, &point)].concat());
        extensions.extend(extension(43, &block(1, &version.to_be_bytes())));
        extensions.extend(extension(51, &share));
    }
    let body = [
        &version.min(0x0303).to_be_bytes()[..],
        &[7; 32],
        &block(1, &[]),
        &block(2, &suites),
        &block(1, &[0]),
        &block(2, &extensions),
    ]
    .concat();
    [&[1][..], &block(3, &body)].concat()
}

/// The type of the first record that answers a hello, and the first bytes of its content.
async fn first_record(running: &Running, hello: &[u8]) -> (u8, [u8; 2]) {
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    let length = u16::try_from(hello.len()).unwrap().to_be_bytes();
    let record = [&[HANDSHAKE, 3, 1][..], &length, hello].concat();
    stream.write_all(&record).await.unwrap();
    let mut answer = [0; 7];
    within(stream.read_exact(&mut answer), "an answer")
        .await
        .unwrap();
    (answer[0], [answer[5], answer[6]])
}

/// The description of the fatal alert that answers a hello.
async fn alert(running: &Running, hello: &[u8]) -> u8 {
    let (kind, [level, description]) = first_record(running, hello).await;
    assert_eq!((kind, level), (ALERT, 2), "no fatal alert");
    description
}

fn numbers(wanted: impl Fn(&SupportedCipherSuite) -> bool) -> Vec<u16> {
    let suites = rustls::crypto::ring::default_provider().cipher_suites;
    let wanted = suites.iter().filter(|suite| wanted(suite));
    wanted.map(|suite| suite.suite().into()).collect()
}

#[tokio::test]
async fn old_versions_are_refused_whatever_they_offer() {
    let strong = numbers(|suite| suite.tls13().is_none());
    let old = [
        strong.as_slice(),
        &[0xc009, 0xc00a, 0xc013, 0xc014, 0x002f, 0x0035],
    ]
    .concat();
    let (only13, with12) = (tls13_only().await, tls12_too().await);
    for version in [0x0300, 0x0301, 0x0302] {
        for running in [&only13, &with12] {
            let said = alert(running, &hello(version, &old)).await;
            assert_eq!(said, PROTOCOL_VERSION, "{version:#x}");
        }
    }
    let tls12 = hello(0x0303, &old);
    assert_eq!(alert(&only13, &tls12).await, PROTOCOL_VERSION);
    assert_eq!(first_record(&with12, &tls12).await.0, HANDSHAKE);
}

#[tokio::test]
async fn weak_suites_are_refused_one_by_one() {
    let with12 = tls12_too().await;
    for (suite, name) in [
        (0x0000, "NULL"),
        (0x0002, "RSA, NULL, SHA"),
        (0x0003, "RSA export, RC4-40"),
        (0x0005, "RSA, RC4"),
        (0x000a, "RSA, 3DES"),
        (0x0018, "anonymous, RC4"),
        (0x002f, "RSA, AES-128-CBC"),
        (0x0033, "DHE, AES-128-CBC"),
        (0x0034, "anonymous, AES-128-CBC"),
        (0x0035, "RSA, AES-256-CBC"),
        (0x003c, "RSA, AES-128-CBC, SHA-256"),
        (0x009c, "RSA, AES-128-GCM: no forward secrecy"),
        (0x009e, "DHE, AES-128-GCM"),
        (0xc006, "ECDHE, NULL"),
        (0xc007, "ECDHE-ECDSA, RC4"),
        (0xc008, "ECDHE-ECDSA, 3DES"),
        (0xc009, "ECDHE-ECDSA, AES-128-CBC"),
        (0xc00a, "ECDHE-ECDSA, AES-256-CBC"),
        (0xc011, "ECDHE-RSA, RC4"),
        (0xc013, "ECDHE-RSA, AES-128-CBC"),
        (0xc018, "anonymous ECDH, AES-128-CBC"),
        (0xc023, "ECDHE-ECDSA, AES-128-CBC, SHA-256"),
        (0xc0ae, "ECDHE-ECDSA, AES-128-CCM-8"),
    ] {
        let said = alert(&with12, &hello(0x0303, &[suite])).await;
        assert_eq!(said, HANDSHAKE_FAILURE, "{name}");
    }
    let only13 = tls13_only().await;
    for suite in [0x1304, 0x1305] {
        let said = alert(&only13, &hello(0x0304, &[suite])).await;
        assert_eq!(said, HANDSHAKE_FAILURE, "AES-128-CCM, {suite:#x}");
    }
}

#[tokio::test]
async fn a_strong_suite_among_weak_ones_is_the_one_that_is_taken() {
    let with12 = tls12_too().await;
    for suite in [0xc02b, 0xc02c, 0xcca9] {
        let mixed = hello(0x0303, &[0x0005, 0x002f, suite, 0xc009]);
        assert_eq!(
            first_record(&with12, &mixed).await.0,
            HANDSHAKE,
            "{suite:#x}"
        );
    }
    let only13 = tls13_only().await;
    for suite in [0x1301, 0x1302, 0x1303] {
        let mixed = hello(0x0304, &[0x1305, suite]);
        assert_eq!(
            first_record(&only13, &mixed).await.0,
            HANDSHAKE,
            "{suite:#x}"
        );
    }
}

#[tokio::test]
async fn strict_clients_handshake_with_every_suite_of_the_versions_that_are_on() {
    let (only13, with12) = (tls13_only().await, tls12_too().await);
    for suite in rustls::crypto::ring::default_provider().cipher_suites {
        let version = suite.version();
        let is_tls12 = suite.tls13().is_none();
        // The server's key is ECDSA: suites for RSA keys have nothing to sign with.
        let is_for_rsa = format!("{:?}", suite.suite()).contains("_RSA_");
        for (running, speaks) in [(&only13, !is_tls12), (&with12, true)] {
            let mut provider = rustls::crypto::ring::default_provider();
            provider.cipher_suites = vec![suite];
            let config = ClientConfig::builder_with_provider(Arc::new(provider))
                .with_protocol_versions(&[version])
                .unwrap()
                .with_root_certificates(roots(&running.trust))
                .with_no_client_auth();
            let client = Client::of(running.address, config, HTTP1);
            let expected = speaks && !is_for_rsa;
            match client.connect().await {
                Ok(stream) => {
                    assert!(expected, "{suite:?}");
                    let mut sender = Client::http1_over(stream).await.unwrap();
                    let response = sender.send_request(get("/healthz")).await.unwrap();
                    assert_eq!(text(response).await.0, 200);
                }
                Err(error) => assert!(!expected, "{suite:?}: {error}"),
            }
        }
    }
}

/// The keys of a TLS 1.2 connection, taken from a client that has finished its handshake, so that a test can write what no
/// client would.
struct Records {
    stream: TcpStream,
    suite: &'static rustls::Tls12CipherSuite,
    sent: (u64, ConnectionTrafficSecrets),
    received: (u64, ConnectionTrafficSecrets),
}

impl Records {
    async fn of(running: &Running) -> Self {
        let mut provider = rustls::crypto::ring::default_provider();
        let name = CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256;
        provider.cipher_suites.retain(|suite| suite.suite() == name);
        let [SupportedCipherSuite::Tls12(suite)] = provider.cipher_suites[..] else {
            unreachable!("ring has one suite of this name");
        };
        let mut config = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_protocol_versions(&[&rustls::version::TLS12])
            .unwrap()
            .with_root_certificates(roots(&running.trust))
            .with_no_client_auth();
        config.enable_secret_extraction = true;
        let client = Client::of(running.address, config, HTTP1);
        let (stream, connection) = client.connect().await.unwrap().into_inner();
        let secrets = connection.dangerous_extract_secrets().unwrap();
        Self {
            stream,
            suite,
            sent: secrets.tx,
            received: secrets.rx,
        }
    }

    async fn write(&mut self, kind: ContentType, content: &[u8]) {
        let (sequence, ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = &mut self.sent
        else {
            unreachable!("the suite is ChaCha20");
        };
        let key = key.as_ref().try_into().map(<[u8; 32]>::into).unwrap();
        let mut encrypter = self.suite.aead_alg.encrypter(key, iv.as_ref(), &[]);
        let message = OutboundPlainMessage {
            typ: kind,
            version: ProtocolVersion::TLSv1_2,
            payload: OutboundChunks::Single(content),
        };
        let record = encrypter.encrypt(message, *sequence).unwrap().encode();
        *sequence += 1;
        self.stream.write_all(&record).await.unwrap();
    }

    async fn read(&mut self) -> (ContentType, Vec<u8>) {
        let mut header = [0; 5];
        self.stream.read_exact(&mut header).await.unwrap();
        let mut content = vec![0; usize::from(u16::from_be_bytes([header[3], header[4]]))];
        self.stream.read_exact(&mut content).await.unwrap();
        let (sequence, ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv }) = &mut self.received
        else {
            unreachable!("the suite is ChaCha20");
        };
        let key = key.as_ref().try_into().map(<[u8; 32]>::into).unwrap();
        let mut decrypter = self.suite.aead_alg.decrypter(key, iv.as_ref());
        let kind = ContentType::from(header[0]);
        let record = InboundOpaqueMessage::new(kind, ProtocolVersion::TLSv1_2, &mut content);
        let plain = decrypter.decrypt(record, *sequence).unwrap();
        *sequence += 1;
        (plain.typ, plain.payload.to_vec())
    }
}

#[tokio::test]
async fn a_client_that_asks_to_renegotiate_is_told_no_and_keeps_its_connection() {
    let running = tls12_too().await;
    let mut records = Records::of(&running).await;
    let again = hello(0x0303, &[0xcca9]);
    records.write(ContentType::Handshake, &again).await;
    let (kind, content) = within(records.read(), "an answer").await;
    assert_eq!(kind, ContentType::Alert);
    assert_eq!(content, [1, NO_RENEGOTIATION], "a warning");

    let request = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n";
    records.write(ContentType::ApplicationData, request).await;
    let (kind, content) = within(records.read(), "an answer").await;
    assert_eq!(kind, ContentType::ApplicationData);
    assert!(content.starts_with(b"HTTP/1.1 200"));
}

#[tokio::test]
async fn a_client_that_does_not_stop_asking_to_renegotiate_is_cut_off() {
    let running = tls12_too().await;
    let mut records = Records::of(&running).await;
    let again = hello(0x0303, &[0xcca9]);
    for _ in 0..10 {
        records.write(ContentType::Handshake, &again).await;
    }
    let mut rest = Vec::new();
    let end = tokio::time::timeout(
        Duration::from_mins(1),
        records.stream.read_to_end(&mut rest),
    );
    // The end may be a reset, as there is more that the server has not read.
    let _ = end.await.expect("the connection ends");
}
