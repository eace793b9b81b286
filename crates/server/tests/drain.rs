//! Stopping without losing a call.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Bytes;
use kubewright_server::{Body, Drain, RunError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tower::{Service, service_fn};

use crate::client::{get, post, text};
use crate::raw::{DATA, GOAWAY, Raw, call};
use crate::running::{answer, length, quick, server, start, within};

/// Calls that wait until the test lets them go.
fn gated(
    gate: &Arc<Semaphore>,
) -> impl Service<Request<Body>, Response = Response<Full<Bytes>>, Error = Infallible, Future: Send>
+ Clone
+ Send
+ use<> {
    let gate = Arc::clone(gate);
    service_fn(move |_: Request<Body>| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            answer("done")
        }
    })
}

/// A drain whose propagation lasts until the test has seen enough.
fn patient() -> Drain {
    Drain::default().propagation(Duration::from_secs(2))
}

#[tokio::test]
async fn readiness_fails_first_and_new_calls_are_still_served() {
    let mut running = start(server(service_fn(length)).drain(patient())).await;
    let mut kept = running.http1().http1().await.unwrap();
    assert_eq!(
        kept.send_request(get("/readyz")).await.unwrap().status(),
        200
    );
    running.stop();
    let unready = async {
        while running.readiness.is_ready() {
            tokio::task::yield_now().await;
        }
    };
    within(unready, "readiness to fail").await;
    let mut fresh = running.http1().http1().await.unwrap();
    assert_eq!(
        fresh.send_request(get("/readyz")).await.unwrap().status(),
        503
    );
    let mut fresh = running.http2().http2().await.unwrap();
    assert_eq!(
        text(fresh.send_request(post("/", "four")).await.unwrap()).await,
        (200, "4".into())
    );
    let response = kept.send_request(post("/", "abc")).await.unwrap();
    assert_eq!(
        response.headers()["connection"],
        "close",
        "the next answer tells the client"
    );
    assert_eq!(text(response).await, (200, "3".into()));
    running.stopped().await.unwrap();
    running.http1().connect().await.unwrap_err();
}

#[tokio::test]
async fn calls_in_flight_are_finished_and_their_clients_told_to_go_away() {
    let gate = Arc::new(Semaphore::new(0));
    let mut running = start(server(gated(&gate))).await;
    let http2 = running.http2().http2().await.unwrap();
    let mut raw = Raw::connect(&running.http2(), &[]).await.unwrap();
    raw.send(&call(1)).await.unwrap();
    let mut calls = JoinSet::new();
    for _ in 0..32 {
        calls.spawn(http2.clone().send_request(get("/")));
        let client = running.http1();
        calls.spawn(async move { client.http1().await.unwrap().send_request(get("/")).await });
    }
    running
        .until("all calls", |counts| counts.calls_in_flight == 65)
        .await;
    running.stop();
    let goaway = within(raw.receive_kind(GOAWAY), "GOAWAY").await.unwrap();
    assert_eq!(goaway.payload[4..8], [0; 4], "it is no error");
    gate.add_permits(65);
    within(raw.receive_kind(DATA), "the answer after GOAWAY")
        .await
        .unwrap();
    while let Some(call) = calls.join_next().await {
        assert_eq!(text(call.unwrap().unwrap()).await, (200, "done".into()));
    }
    running.stopped().await.unwrap();
}

#[tokio::test]
async fn calls_beyond_the_grace_are_answered_with_503_and_never_cut_silently() {
    let gate = Arc::new(Semaphore::new(0));
    let drain = quick().grace(Duration::from_millis(500));
    let mut running = start(server(gated(&gate)).drain(drain)).await;
    let http2 = running.http2().http2().await.unwrap();
    let mut http1 = running.http1().http1().await.unwrap();
    let calls = [
        tokio::spawn(http2.clone().send_request(get("/"))),
        tokio::spawn(http1.send_request(get("/"))),
    ];
    running
        .until("both calls", |counts| counts.calls_in_flight == 2)
        .await;
    running.stop();
    for call in calls {
        let answer = text(call.await.unwrap().unwrap()).await;
        assert_eq!(
            answer,
            (503, "the server stops before the call is done".into())
        );
    }
    let error = running.stopped().await.unwrap_err();
    assert!(
        matches!(error, RunError::GraceExceeded { calls: 2 }),
        "{error}"
    );
    assert_eq!(running.counts().calls_cut, 2);
}

#[tokio::test]
async fn a_second_signal_ends_everything_at_once() {
    let gate = Arc::new(Semaphore::new(0));
    let mut running = start(server(gated(&gate))).await;
    let mut http1 = running.http1().http1().await.unwrap();
    let call = tokio::spawn(http1.send_request(get("/")));
    running
        .until("the call", |counts| counts.calls_in_flight == 1)
        .await;
    running.stop();
    running.abort();
    within(call, "the connection's end")
        .await
        .unwrap()
        .unwrap_err();
    running
        .until("the end", |counts| {
            counts.calls_in_flight + counts.connections_open == 0
        })
        .await;
    running.http1().connect().await.unwrap_err();
}

#[tokio::test]
async fn who_connected_before_the_end_may_still_make_a_call() {
    let mut running = start(server(service_fn(length))).await;
    let mut http2 = running.http2().http2().await.unwrap();
    let mut stream = running.http1().connect().await.unwrap();
    running
        .until("both connections", |counts| counts.connections_open == 2)
        .await;
    running.stop();
    let closed = async { while running.http1().connect().await.is_ok() {} };
    within(closed, "the listener's end").await;
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer), "the answer")
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!(http2.send_request(get("/")).await.unwrap().status(), 200);
    running.stopped().await.unwrap();
}

#[tokio::test]
async fn connections_without_a_call_do_not_hold_the_end_up() {
    let mut running = start(server(service_fn(length))).await;
    let mut used = running.http1().http1().await.unwrap();
    assert_eq!(used.send_request(get("/")).await.unwrap().status(), 200);
    let mut used = running.http2().http2().await.unwrap();
    assert_eq!(used.send_request(get("/")).await.unwrap().status(), 200);
    let _silent = running.http1().connect().await.unwrap();
    running.stop();
    running.stopped().await.unwrap();
}
