//! More connections than there may be: which of them makes room, and what is said of it.

use std::sync::Arc;
use std::time::Duration;

use kubewright_server::Limits;
use tokio::io::AsyncReadExt as _;
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::Semaphore;
use tower::service_fn;

use crate::client::{post, text};
use crate::running::{Running, answer, length, server, start, within};

async fn serving(limits: Limits) -> Running {
    start(server(service_fn(length)).limits(limits)).await
}

/// Whether the server has closed a connection, cleanly or not.
async fn is_closed(stream: &mut (impl tokio::io::AsyncRead + Unpin)) {
    let mut bytes = Vec::new();
    let _ = within(stream.read_to_end(&mut bytes), "the connection's end").await;
    assert!(bytes.is_empty());
}

#[tokio::test]
async fn a_connection_that_never_made_a_call_makes_room_for_a_new_one() {
    let running = serving(Limits::default().connections(4).connections_per_address(4)).await;
    let mut good = running.http2().http2().await.unwrap();
    let response = good.send_request(post("/", "four")).await.unwrap();
    assert_eq!(text(response).await, (200, "4".into()));
    let mut silent = Vec::new();
    for _ in 0..20 {
        silent.push(running.http1().connect().await.unwrap());
    }
    for stream in &mut silent[..17] {
        is_closed(stream).await;
    }
    let response = good.send_request(post("/", "four")).await.unwrap();
    assert_eq!(text(response).await, (200, "4".into()));
    let counts = running.counts();
    assert_eq!(
        (counts.connections_evicted, counts.connections_refused),
        (17, 0)
    );
    assert!(running.readiness.is_ready());
}

#[tokio::test]
async fn of_connections_that_made_calls_an_idle_one_makes_room_and_a_busy_one_does_not() {
    let gate = Arc::new(Semaphore::new(0));
    let service = {
        let gate = Arc::clone(&gate);
        service_fn(move |request: http::Request<kubewright_server::Body>| {
            let gate = Arc::clone(&gate);
            async move {
                if request.uri().path() == "/held" {
                    gate.acquire().await.unwrap().forget();
                }
                answer("done")
            }
        })
    };
    let limits = Limits::default().connections(2).connections_per_address(2);
    let running = start(server(service).limits(limits)).await;
    let mut busy = running.http1().http1().await.unwrap();
    let first = tokio::spawn(async move { busy.send_request(post("/held", "")).await });
    let mut idle = running.http1().http1().await.unwrap();
    assert_eq!(
        idle.send_request(post("/", "")).await.unwrap().status(),
        200
    );
    running
        .until("the held call", |counts| counts.calls_in_flight == 1)
        .await;

    let mut other = running.http1().http1().await.unwrap();
    let second = tokio::spawn(async move { other.send_request(post("/held", "")).await });
    running
        .until("both held calls", |counts| counts.calls_in_flight == 2)
        .await;
    assert_eq!(running.counts().connections_evicted, 1);
    idle.send_request(post("/", "")).await.unwrap_err();
    assert!(running.readiness.is_ready());

    running.http1().connect().await.unwrap_err();
    assert_eq!(running.counts().connections_refused, 1);
    let conditions = running.readiness.conditions();
    assert!(
        conditions.contains(&("connections".to_owned(), false)),
        "{conditions:?}"
    );
    gate.add_permits(2);
    for held in [first, second] {
        assert_eq!(held.await.unwrap().unwrap().status(), 200);
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn an_address_at_its_limit_makes_room_among_its_own_connections() {
    let limits = Limits::default().connections(10).connections_per_address(2);
    let running = serving(limits).await;
    let mut others = running.http1().connect().await.unwrap();
    let connect = async || {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 2], 0).into()).unwrap();
        let stream: TcpStream = socket.connect(running.address).await.unwrap();
        running.http1().secure(stream).await.unwrap()
    };
    let (mut first, second, third) = (connect().await, connect().await, connect().await);
    is_closed(&mut first).await;
    assert_eq!(running.counts().connections_evicted, 1);
    let mut byte = [0];
    let quiet = tokio::time::timeout(Duration::from_millis(50), others.read(&mut byte));
    quiet.await.unwrap_err();
    assert_eq!(running.counts().connections_open, 3);
    drop((second, third));
}

#[tokio::test]
async fn a_connection_without_a_first_call_is_told_to_close() {
    let limits = Limits::default().first_call(Duration::from_millis(100));
    let running = serving(limits).await;
    let mut used = running.http2().http2().await.unwrap();
    used.send_request(post("/", "a")).await.unwrap();
    let mut http1 = running.http1().connect().await.unwrap();
    let _http2 = running.http2().http2().await.unwrap();
    is_closed(&mut http1).await;
    running
        .until("the unused ones to be closed", |counts| {
            counts.connections_open == 1
        })
        .await;
    assert_eq!(running.counts().connections_unused, 2);
    assert_eq!(
        used.send_request(post("/", "a")).await.unwrap().status(),
        200
    );
}
