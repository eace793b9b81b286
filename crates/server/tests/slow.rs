//! Thousands of clients that begin a call and never end it.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::client::TlsStream;

use crate::client::{Client, post, text};
use crate::process::{Process, again, serve_if_told};
use crate::running::within;

const TEST: &str =
    "slow::five_thousand_slow_clients_are_cut_at_their_limits_and_cost_little_until_then";
/// Set in the process of the clients.
const ATTACK: &str = "KUBEWRIGHT_TEST_ATTACKS";
/// How many clients are slow with their headers, and as many with their bodies.
const EACH: usize = 2500;
/// What all of them may cost together: of 28 KB for each, TLS and HTTP take more than 20.
const MEMORY: usize = 200_000_000;
/// How many calls a good client makes for one figure.
const GOOD_CALLS: usize = 200;

const SLOW_HEADERS: &str = "POST / HTTP/1.1\r\nhost: localh";
const SLOW_BODY: &str = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nabc";

/// The server and its clients are processes of their own: together they would need more file descriptors than a process
/// may have by default, and the server's memory is not to be confused with theirs.
#[test]
fn five_thousand_slow_clients_are_cut_at_their_limits_and_cost_little_until_then() {
    if serve_if_told() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    if std::env::var_os(ATTACK).is_some() {
        return runtime.block_on(attack());
    }
    let attack = async { again(TEST).env(ATTACK, "1").output().await };
    let output = runtime.block_on(attack).unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

async fn attack() {
    let mut server = Process::start(TEST).await;
    let mut good = server.http2().http2().await.unwrap();
    let before = median_of_calls(&mut good).await;
    let memory = server.memory();

    let headers = open(&server.http1(), SLOW_HEADERS, &mut good).await;
    let bodies = open(&server.http1(), SLOW_BODY, &mut good).await;
    let during = median_of_calls(&mut good).await;
    fresh_call(&server).await;
    let cost = server.memory().zip(memory);
    let counts = server.counts().await;
    assert_contains(&counts, "calls_in_flight", EACH);
    if let Some((now, then)) = cost {
        assert!(now < then + MEMORY, "memory has grown from {then} to {now}");
    }
    assert!(
        during < before * 10,
        "a good call takes {during:?} instead of {before:?}"
    );

    // Headers have 2 seconds from their first byte on, bodies 10.
    server.advance(Duration::from_secs(1)).await;
    let (mut headers, mut bodies) = (one_byte_more(headers).await, one_byte_more(bodies).await);
    fresh_call(&server).await;
    server.advance(Duration::from_secs(1)).await;
    for (text, number) in rest(&mut headers).await.into_iter().zip(0..) {
        assert_eq!(text, "", "client {number}");
    }
    let counts = server.counts().await;
    assert_contains(&counts, "connections_slow_headers", EACH);
    assert_contains(&counts, "calls_in_flight", EACH);
    assert_contains(&counts, "bodies_too_slow", 0);
    server.advance(Duration::from_secs(8)).await;
    for (text, number) in rest(&mut bodies).await.into_iter().zip(0..) {
        assert!(text.starts_with("HTTP/1.1 408 "), "client {number}: {text}");
    }
    let counts = server.counts().await;
    assert_contains(&counts, "bodies_too_slow", EACH);
    assert_contains(&counts, "calls_in_flight", 0);
    median_of_calls(&mut good).await;
}

type Slow = TlsStream<TcpStream>;

/// Opens slow connections, and makes a good call for each hundred of them.
async fn open(
    client: &Client,
    text: &'static str,
    good: &mut http2::SendRequest<Full<Bytes>>,
) -> Vec<Slow> {
    let mut opened = Vec::with_capacity(EACH);
    while opened.len() < EACH {
        let mut opening = JoinSet::new();
        for _ in 0..100 {
            let client = client.clone();
            opening.spawn(async move {
                let mut stream = client.connect().await.unwrap();
                stream.write_all(text.as_bytes()).await.unwrap();
                stream
            });
        }
        let call = within(good.send_request(post("/", "four")), "a good call");
        assert_eq!(call.await.unwrap().status(), 200);
        opened.extend(within(opening.join_all(), "a hundred handshakes").await);
    }
    opened
}

async fn one_byte_more(mut streams: Vec<Slow>) -> Vec<Slow> {
    for stream in &mut streams {
        stream.write_all(b"a").await.unwrap();
    }
    streams
}

/// Reads what the server sends to each client until it closes the connection.
async fn rest(streams: &mut [Slow]) -> Vec<String> {
    let mut answers = Vec::with_capacity(streams.len());
    for stream in streams {
        let mut text = Vec::new();
        let _ = within(stream.read_to_end(&mut text), "the connection's end").await;
        answers.push(String::from_utf8(text).unwrap());
    }
    answers
}

async fn median_of_calls(good: &mut http2::SendRequest<Full<Bytes>>) -> Duration {
    let mut times = Vec::with_capacity(GOOD_CALLS);
    for _ in 0..GOOD_CALLS {
        let begin = Instant::now();
        let response = within(good.send_request(post("/", "four")), "a good call");
        assert_eq!(text(response.await.unwrap()).await, (200, "4".into()));
        times.push(Instant::now() - begin);
    }
    times.sort_unstable();
    times[times.len() / 2]
}

async fn fresh_call(server: &Process) {
    let mut sender = server.http1().http1().await.unwrap();
    let response = within(sender.send_request(post("/", "four")), "a fresh call");
    assert_eq!(text(response.await.unwrap()).await, (200, "4".into()));
}

fn assert_contains(counts: &str, counter: &str, value: usize) {
    let expected = format!(" {counter}: {value},");
    assert!(counts.contains(&expected), "no{expected} in {counts}");
}
