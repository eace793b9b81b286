//! A.13: how long the client waits for a connection, and how many it keeps for how long.
//!
//! The clock of these tests stands still until they move it.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use futures::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::sync::Barrier;
use tokio::time::{Instant, advance};

use super::hook::{Authority, Hook, Reply, allow, answer, but, webhook};
use super::setting::Setting;

const NAME: &str = "one.example.com";

/// Keeps a paused clock from going on by itself while sockets are waited for: it does not while a blocking task runs.
pub(super) struct StandStill {
    _end: mpsc::Sender<()>,
}

impl StandStill {
    pub(super) fn new() -> Self {
        let (end, ended) = mpsc::channel::<()>();
        tokio::task::spawn_blocking(move || ended.recv());
        Self { _end: end }
    }
}

/// A webhook that has all the time a webhook may have.
fn patient(url: &str, ca_bundle: &str) -> Value {
    let config = json!({"url": url, "caBundle": ca_bundle});
    but(webhook(NAME, &config), json!({"timeoutSeconds": 30}))
}

fn any_bundle() -> String {
    base64::Engine::encode(
        &base64::engine::general_purpose::STANDARD,
        Authority::new("ca").pem,
    )
}

#[tokio::test(start_paused = true)]
async fn a13_a_handshake_is_given_up_after_ten_seconds() {
    let _still = StandStill::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let setting = Setting::new().mutating("a", [patient(&url, &any_bundle())]);
    let begin = Instant::now();
    let silent = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        advance(Duration::from_millis(9_900)).await;
        advance(Duration::from_millis(100)).await;
        std::future::pending::<()>().await;
    };
    let why = tokio::select! {
        created = setting.create() => created.unwrap_err(),
        () = silent => unreachable!("it never ends"),
    };
    let expected = format!("Post \"{url}?timeout=30s\": net/http: TLS handshake timeout");
    assert!(why.ends_with(&expected), "{why}");
    assert_eq!(Instant::now() - begin, Duration::from_secs(10));
}

#[tokio::test(start_paused = true)]
async fn a13_a_connection_is_kept_for_ninety_seconds_and_closed_then() {
    let _still = StandStill::new();
    let hook = Hook::start(allow).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    setting.create().await.unwrap();
    for _ in 0..2 {
        advance(Duration::from_secs(89)).await;
        setting.create().await.unwrap();
    }
    assert_eq!((hook.calls(), hook.connections()), (3, 1));
    advance(Duration::from_secs(90)).await;
    hook.closed(1).await;
    setting.create().await.unwrap();
    assert_eq!((hook.calls(), hook.connections()), (4, 2));
}

#[tokio::test]
async fn a13_twenty_five_connections_to_a_host_are_kept() {
    const AT_ONCE: usize = 30;
    let together = Arc::new(Barrier::new(AT_ONCE));
    let hook = Hook::start(move |call| {
        let reply = answer(call, json!({"allowed": true}));
        Reply::Together(Arc::clone(&together), Box::new(reply))
    })
    .await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    let all = || join_all((0..AT_ONCE).map(|_| setting.create()));
    assert!(all().await.iter().all(Result::is_ok));
    assert_eq!(hook.connections(), AT_ONCE);
    hook.closed(AT_ONCE - 25).await;
    assert!(all().await.iter().all(Result::is_ok));
    assert_eq!(hook.connections(), AT_ONCE + AT_ONCE - 25);
}

#[tokio::test]
async fn a13_tls_1_2_is_enough() {
    let authority = Authority::new("ca");
    let identity = authority.sign(&["127.0.0.1"]);
    let versions = &[&rustls::version::TLS12];
    let hook = Hook::start_with(versions, authority, identity, allow).await;
    let setting = Setting::new().mutating("a", [hook.webhook(NAME)]);
    setting.create().await.unwrap();
    assert_eq!(hook.calls(), 1);
}

#[tokio::test]
async fn a13_an_older_tls_is_refused_with_its_number() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}/", listener.local_addr().unwrap());
    let setting = Setting::new().mutating("a", [patient(&url, &any_bundle())]);
    // What a server says that knows nothing newer than TLS 1.1 (RFC 4346, 7.4.1.3): version, random, no session, a suite.
    let hello = [&[0x03, 0x02][..], &[7; 32], &[0], &[0x00, 0x2f], &[0]].concat();
    let length = u8::try_from(hello.len()).unwrap();
    let message = [&[0x02, 0, 0, length][..], &hello].concat();
    let record = [&[0x16, 0x03, 0x02, 0, length + 4][..], &message].concat();
    let old = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&record).await.unwrap();
        std::future::pending::<()>().await;
    };
    let why = tokio::select! {
        created = setting.create() => created.unwrap_err(),
        () = old => unreachable!("it never ends"),
    };
    let expected = format!(
        "Post \"{url}?timeout=30s\": tls: server selected unsupported protocol version 302"
    );
    assert!(why.ends_with(&expected), "{why}");
}
