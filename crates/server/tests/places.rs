//! Which calls count among those in flight, and what their bodies may take.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use kubewright_server::{Body, BodyError, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_rustls::client::TlsStream;
use tower::service_fn;

use crate::client::{get, post, text};
use crate::running::{Running, answer, length, server, start, within};

/// Begins a call whose body has three of its bytes.
async fn begin(running: &Running, length: usize) -> TlsStream<TcpStream> {
    let mut stream = running.http1().connect().await.unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\nabc"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn rest(mut stream: TlsStream<TcpStream>) -> String {
    let mut text = String::new();
    within(stream.read_to_string(&mut text), "the answer")
        .await
        .unwrap();
    text
}

#[tokio::test]
async fn calls_with_slow_bodies_do_not_block_other_calls() {
    let limits = Limits::default()
        .calls(1)
        .body_time(Duration::from_secs(30));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut slow = Vec::new();
    for _ in 0..5 {
        slow.push(begin(&running, 4).await);
    }
    running
        .until("the slow calls", |counts| counts.calls_in_flight == 5)
        .await;
    for mut client in [
        running.http1().http1().await.unwrap(),
        running.http1().http1().await.unwrap(),
    ] {
        let response = client.send_request(post("/", "four")).await.unwrap();
        assert_eq!(text(response).await, (200, "4".into()));
    }
    for mut stream in slow {
        stream.write_all(b"d").await.unwrap();
        let answer = rest(stream).await;
        assert!(answer.ends_with("\r\n\r\n4"), "{answer}");
    }
    assert_eq!(running.counts().calls_refused, 0);
}

#[tokio::test]
async fn a_call_counts_from_when_its_body_is_there() {
    let gate = Arc::new(Semaphore::new(0));
    let service = {
        let gate = Arc::clone(&gate);
        service_fn(move |request: Request<Body>| {
            let gate = Arc::clone(&gate);
            async move {
                let waits = request.method() == http::Method::POST;
                let answer = length(request).await?;
                if waits {
                    gate.acquire().await.unwrap().forget();
                }
                Ok::<_, BodyError>(answer)
            }
        })
    };
    let running = start(server(service).limits(Limits::default().calls(1))).await;
    let (mut first, mut second) = (begin(&running, 4).await, begin(&running, 4).await);
    running
        .until("both calls", |counts| counts.calls_in_flight == 2)
        .await;
    first.write_all(b"d").await.unwrap();
    let http2 = running.http2().http2().await.unwrap();
    let refused = async {
        loop {
            let response = http2.clone().send_request(get("/")).await.unwrap();
            if response.status() == 503 {
                return;
            }
        }
    };
    within(refused, "the first call to count").await;
    second.write_all(b"d").await.unwrap();
    let answer = rest(second).await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.ends_with("too many calls are in flight"), "{answer}");
    gate.add_permits(1);
    let answer = rest(first).await;
    assert!(answer.ends_with("\r\n\r\n4"), "{answer}");
}

#[tokio::test]
async fn a_service_that_works_without_the_body_counts_at_once() {
    let gate = Arc::new(Semaphore::new(0));
    let service = {
        let gate = Arc::clone(&gate);
        service_fn(move |_: Request<Body>| {
            let gate = Arc::clone(&gate);
            async move {
                gate.acquire().await.unwrap().forget();
                answer("done")
            }
        })
    };
    let running = start(server(service).limits(Limits::default().calls(1))).await;
    let first = begin(&running, 4).await;
    running
        .until("the first call", |counts| counts.calls_in_flight == 1)
        .await;
    let answer = rest(begin(&running, 4).await).await;
    assert!(answer.ends_with("too many calls are in flight"), "{answer}");
    gate.add_permits(1);
    let answer = rest(first).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test]
async fn small_bodies_together_are_held_to_a_limit_too() {
    let limits = Limits::default()
        .calls(1)
        .body_time(Duration::from_secs(30));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut slow = begin(&running, 50_000).await;
    slow.write_all(&vec![0; 40_000]).await.unwrap();
    // The first may still be arriving: what is certain is that there is no place for both.
    let mut other = begin(&running, 50_000).await;
    other.write_all(&vec![0; 40_000]).await.unwrap();
    running
        .until("one to be refused", |counts| counts.calls_refused == 1)
        .await;
    let (slow, other) = (
        tokio::spawn(finish(slow, 9_997)),
        tokio::spawn(finish(other, 9_997)),
    );
    let mut answers = [slow.await.unwrap(), other.await.unwrap()];
    answers.sort();
    let [served, refused] = answers;
    assert!(served.ends_with("\r\n\r\n50000"), "{served}");
    let sentence = "the bodies of the calls in flight leave no room for this one";
    assert!(refused.ends_with(sentence), "{refused}");
}

/// Sends what is left of a body, as far as the server takes it, and reads the answer.
async fn finish(mut stream: TlsStream<TcpStream>, left: usize) -> String {
    let _ = stream.write_all(&vec![0; left]).await;
    let mut answer = Vec::new();
    let _ = within(stream.read_to_end(&mut answer), "the answer").await;
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn bodies_that_wait_for_room_do_not_hold_up_the_one_that_has_it() {
    const SIZE: usize = 500_000;
    let limits = Limits::default()
        .bodies_in_flight(SIZE)
        .body_time(Duration::from_mins(1));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let http2 = running.http2().http2().await.unwrap();
    let calls: JoinSet<_> = (0..20)
        .map(|_| http2.clone().send_request(post("/", vec![0; SIZE])))
        .collect();
    for answer in within(calls.join_all(), "the answers").await {
        assert_eq!(text(answer.unwrap()).await, (200, SIZE.to_string()));
    }
}

#[tokio::test]
async fn a_body_that_the_server_cuts_is_answered_by_the_server_whatever_the_service_says() {
    let service = service_fn(async |request: Request<Body>| {
        let mut response = Response::new(Full::new(Bytes::from_static(b"broken")));
        if request.into_body().collect().await.is_err() {
            *response.status_mut() = StatusCode::BAD_REQUEST;
        }
        Ok::<_, std::convert::Infallible>(response)
    });
    let limits = Limits::default().body_time(Duration::from_millis(100));
    let running = start(server(service).limits(limits)).await;
    let answer = rest(begin(&running, 4).await).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    let sentence = "the request's body did not arrive within 0.1 s";
    assert!(answer.ends_with(sentence), "{answer}");
}
