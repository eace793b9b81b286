//! Calls that are answered, refused and failed.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, Version};
use http_body_util::Full;
use hyper::body::Bytes;
use kubewright_certificates::{Authority, SelfSigned};
use kubewright_server::{BindError, Body, BodyError, Limits, Readiness, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::Semaphore;
use tower::service_fn;

use crate::client::{Client, HTTP1, HTTP2, get, post, text};
use crate::running::{answer, length, server, start, within};

#[tokio::test]
async fn both_versions_of_http_are_served_and_chosen_by_the_client() {
    let running = start(server(service_fn(async |request: Request<Body>| {
        answer(format!("{:?}", request.version()))
    })))
    .await;
    let mut http1 = running.http1().http1().await.unwrap();
    assert_eq!(
        text(http1.send_request(get("/")).await.unwrap()).await,
        (200, "HTTP/1.1".into())
    );
    let mut http2 = running.http2().http2().await.unwrap();
    assert_eq!(
        text(http2.send_request(get("/")).await.unwrap()).await,
        (200, "HTTP/2.0".into())
    );
}

#[tokio::test]
async fn a_body_at_the_limit_passes_and_one_byte_more_is_answered_with_413() {
    const LIMIT: usize = 300_000;
    let running = start(server(service_fn(length)).limits(Limits::default().body(LIMIT))).await;
    let mut http2 = running.http2().http2().await.unwrap();
    for (size, expected) in [(LIMIT, 200), (LIMIT + 1, 413)] {
        let mut http1 = running.http1().http1().await.unwrap();
        let response = http1.send_request(post("/", vec![0; size])).await.unwrap();
        assert_eq!(response.status(), expected, "HTTP/1.1, {size} bytes");
        let response = http2.send_request(post("/", vec![0; size])).await.unwrap();
        let (status, sentence) = text(response).await;
        assert_eq!(status, expected, "HTTP/2, {size} bytes");
        if expected == 413 {
            assert_eq!(sentence, "the request's body is larger than 300000 bytes");
        }
    }
    assert_eq!(running.counts().bodies_too_large, 2);
}

#[tokio::test]
async fn a_body_without_a_length_is_held_to_the_limit_too() {
    let limits = Limits::default().body(10_000);
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut stream = running.http1().connect().await.unwrap();
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n")
        .await
        .unwrap();
    let chunk = format!("3e8\r\n{}\r\n", "x".repeat(1000));
    for _ in 0..11 {
        stream.write_all(chunk.as_bytes()).await.unwrap();
    }
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer), "the answer")
        .await
        .unwrap();
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.ends_with("the request's body is larger than 10000 bytes"),
        "{answer}"
    );
}

#[tokio::test]
async fn a_client_that_sends_on_still_reads_why_its_body_was_refused() {
    let running = start(server(service_fn(length))).await;
    let mut stream = running.http1().connect().await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 20000000\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    // More than the system's buffers hold: without reading on, the server's answer would be lost.
    for _ in 0..200 {
        stream.write_all(&vec![0; 65536]).await.unwrap();
    }
    let mut answer = vec![0; 12];
    within(stream.read_exact(&mut answer), "the answer")
        .await
        .unwrap();
    assert_eq!(answer, b"HTTP/1.1 413");
}

#[tokio::test]
async fn a_panic_is_the_failure_of_its_call_alone() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            assert!(std::thread::panicking(), "dropped");
        }
    }
    let service = service_fn(|request: Request<Body>| {
        assert_ne!(
            request.uri().path(),
            "/at-once",
            "a panic before the first await"
        );
        async move {
            let path = request.uri().path().to_owned();
            tokio::task::yield_now().await;
            assert_ne!(path, "/later", "a panic after an await");
            if path == "/drop" {
                let _bomb = Bomb;
                tokio::task::yield_now().await;
            }
            answer("fine")
        }
    });
    let running = start(server(service)).await;
    let mut http1 = running.http1().http1().await.unwrap();
    let mut http2 = running.http2().http2().await.unwrap();
    for path in ["/at-once", "/later", "/drop"] {
        let first = text(http1.send_request(get(path)).await.unwrap()).await;
        let second = text(http2.send_request(get(path)).await.unwrap()).await;
        let expected = (500, "the call failed: see the server's log".to_owned());
        assert_eq!((&first, &second), (&expected, &expected), "{path}");
    }
    assert_eq!(running.counts().panics, 6);
    assert_eq!(
        text(http2.send_request(get("/")).await.unwrap()).await,
        (200, "fine".into())
    );
    assert_eq!(
        text(http1.send_request(get("/")).await.unwrap()).await,
        (200, "fine".into())
    );
}

#[tokio::test]
async fn a_thousand_panics_leave_nothing_behind() {
    let service = service_fn(async |request: Request<Body>| {
        assert_ne!(request.uri().path(), "/panic");
        answer("fine")
    });
    let running = start(server(service).limits(Limits::default().calls(4))).await;
    let http2 = running.http2().http2().await.unwrap();
    for _ in 0..1000 {
        let response = http2.clone().send_request(get("/panic")).await.unwrap();
        assert_eq!(response.status(), 500);
    }
    let response = http2.clone().send_request(get("/")).await.unwrap();
    assert_eq!(response.status(), 200);
    let counts = running.counts();
    assert_eq!((counts.panics, counts.calls_refused), (1000, 0));
    running
        .until("all calls to end", |counts| counts.calls_in_flight == 0)
        .await;
}

#[tokio::test]
async fn an_error_of_the_service_shows_the_client_nothing_of_its_causes() {
    let service = service_fn(async |_: Request<Body>| {
        Err::<Response<Full<Bytes>>, _>(std::io::Error::other("password of the database"))
    });
    let running = start(server(service)).await;
    let mut http1 = running.http1().http1().await.unwrap();
    let answer = text(http1.send_request(get("/")).await.unwrap()).await;
    assert_eq!(
        answer,
        (500, "the call failed: see the server's log".into())
    );
}

/// A service whose calls wait until the test lets them go.
fn gated() -> (
    Arc<Semaphore>,
    impl tower::Service<
        Request<Body>,
        Response = Response<Full<Bytes>>,
        Error = Infallible,
        Future: Send,
    > + Clone
    + Send,
) {
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
    (gate, service)
}

#[tokio::test]
async fn one_call_too_many_is_refused_at_once_and_probes_are_not() {
    let (gate, service) = gated();
    let running = start(server(service).limits(Limits::default().calls(2))).await;
    let http2 = running.http2().http2().await.unwrap();
    let calls: Vec<_> = (0..2)
        .map(|_| tokio::spawn(http2.clone().send_request(get("/"))))
        .collect();
    running
        .until("both calls", |counts| counts.calls_in_flight == 2)
        .await;
    let refused = text(http2.clone().send_request(get("/")).await.unwrap()).await;
    assert_eq!(refused, (503, "too many calls are in flight".into()));
    assert_eq!(running.counts().calls_refused, 1);
    let probe = text(http2.clone().send_request(get("/readyz")).await.unwrap()).await;
    assert_eq!(probe, (200, "ok".into()));
    gate.add_permits(3);
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap().status(), 200);
    }
    assert_eq!(
        http2.clone().send_request(get("/")).await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn large_bodies_wait_for_room_and_are_refused_when_there_is_none_in_time() {
    let gate = Arc::new(Semaphore::new(0));
    let service = {
        let gate = Arc::clone(&gate);
        service_fn(move |request: Request<Body>| {
            let gate = Arc::clone(&gate);
            async move {
                let answer = length(request).await?;
                gate.acquire().await.unwrap().forget();
                Ok::<_, BodyError>(answer)
            }
        })
    };
    let limits = Limits::default()
        .body(100_000)
        .bodies_in_flight(150_000)
        .body_time(Duration::from_millis(300));
    let running = start(server(service).limits(limits)).await;
    let http2 = running.http2().http2().await.unwrap();
    let call = |size: usize| tokio::spawn(http2.clone().send_request(post("/", vec![0; size])));
    let large = call(90_000);
    running
        .until("the large call", |counts| counts.calls_in_flight == 1)
        .await;
    let refused = text(
        http2
            .clone()
            .send_request(post("/", vec![0; 90_000]))
            .await
            .unwrap(),
    )
    .await;
    let sentence = "the bodies of the calls in flight leave no room for this one";
    assert_eq!(refused, (503, sentence.into()));
    assert_eq!(running.counts().calls_refused, 1);
    let small = call(60_000);
    running
        .until("the small call", |counts| counts.calls_in_flight == 2)
        .await;
    gate.add_permits(2);
    assert_eq!(
        text(large.await.unwrap().unwrap()).await,
        (200, "90000".into())
    );
    assert_eq!(
        text(small.await.unwrap().unwrap()).await,
        (200, "60000".into())
    );
    gate.add_permits(1);
    assert_eq!(
        text(call(90_000).await.unwrap().unwrap()).await,
        (200, "90000".into())
    );
}

#[tokio::test]
async fn clients_that_only_promise_large_bodies_take_no_room() {
    let limits = Limits::default().bodies_in_flight(7 << 20);
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut promises = Vec::new();
    for _ in 0..5 {
        let mut stream = running.http1().connect().await.unwrap();
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 7000000\r\n\r\nabc";
        stream.write_all(head.as_bytes()).await.unwrap();
        promises.push(stream);
    }
    running
        .until("the promises", |counts| counts.calls_in_flight == 5)
        .await;
    let mut http1 = running.http1().http1().await.unwrap();
    let response = http1
        .send_request(post("/", vec![0; 1_000_000]))
        .await
        .unwrap();
    assert_eq!(text(response).await, (200, "1000000".into()));
}

#[tokio::test]
async fn readiness_holds_the_conditions_of_the_program_and_of_the_server() {
    let readiness = Readiness::default();
    let caches = readiness.condition("caches");
    let running = start(server(service_fn(length)).readiness(readiness)).await;
    let mut http1 = running.http1().http1().await.unwrap();
    let (status, list) = text(http1.send_request(get("/readyz")).await.unwrap()).await;
    assert_eq!(status, 503);
    insta::assert_snapshot!(list, @r"
    [-]caches failed
    [+]serving ok
    [+]certificate ok
    [+]connections ok
    readyz check failed
    ");
    caches.set(true);
    assert_eq!(
        http1.send_request(get("/readyz")).await.unwrap().status(),
        200
    );
    assert_eq!(
        http1.send_request(get("/healthz")).await.unwrap().status(),
        200
    );
}

#[tokio::test]
async fn an_expired_certificate_is_not_ready() {
    let authority = Authority::new("test").unwrap();
    let issued = authority
        .sign_server(["localhost"], Duration::ZERO)
        .unwrap();
    let source = vec![issued.identity().unwrap()].into_iter();
    let running = start(Server::new(service_fn(length), source)).await;
    assert!(!running.readiness.is_ready());
    assert!(
        running
            .readiness
            .conditions()
            .contains(&("certificate".to_owned(), false))
    );
}

#[tokio::test]
async fn probes_can_be_left_to_the_service() {
    let service =
        service_fn(async |request: Request<Body>| answer(request.uri().path().to_owned()));
    let running = start(server(service).pass_probes_on()).await;
    let mut http1 = running.http1().http1().await.unwrap();
    assert_eq!(
        text(http1.send_request(get("/readyz")).await.unwrap()).await,
        (200, "/readyz".into())
    );
}

#[tokio::test]
async fn tls_1_2_is_served_only_by_choice() {
    let modern = start(server(service_fn(length))).await;
    let lenient = start(server(service_fn(length)).accept_tls12()).await;
    let old: &[&rustls::SupportedProtocolVersion] = &[&rustls::version::TLS12];
    let old_client = |running: &crate::running::Running| {
        Client::with_versions(running.address, &running.trust, HTTP1, old)
    };
    old_client(&modern).connect().await.unwrap_err();
    modern
        .until("the failure", |counts| counts.handshakes_failed == 1)
        .await;
    let stream = old_client(&lenient).connect().await.unwrap();
    assert_eq!(
        stream.get_ref().1.protocol_version(),
        Some(rustls::ProtocolVersion::TLSv1_2)
    );
    let stream = lenient.http1().connect().await.unwrap();
    assert_eq!(
        stream.get_ref().1.protocol_version(),
        Some(rustls::ProtocolVersion::TLSv1_3)
    );
}

#[tokio::test]
async fn a_client_that_speaks_neither_version_of_http_is_told_so_in_the_handshake() {
    let running = start(server(service_fn(length))).await;
    Client::new(running.address, &running.trust, b"spdy/3")
        .connect()
        .await
        .unwrap_err();
    Client::new(running.address, &running.trust, HTTP2)
        .connect()
        .await
        .unwrap();
}

#[tokio::test]
async fn a_port_that_is_taken_is_an_error_of_the_start() {
    let running = start(server(service_fn(length))).await;
    let error = server(service_fn(length))
        .listen(running.address)
        .bind()
        .await
        .unwrap_err();
    assert!(matches!(error, BindError::Listen { address, .. } if address == running.address));
}

#[tokio::test]
async fn a_certificate_that_cannot_be_made_is_an_error_of_the_start() {
    let source = SelfSigned::for_names(["not a name"]);
    let server = Server::new(service_fn(length), source).listen(([127, 0, 0, 1], 0));
    assert!(matches!(
        server.bind().await.unwrap_err(),
        BindError::Certificate { .. }
    ));
}

#[tokio::test]
async fn an_old_http_version_is_answered_and_closed() {
    let running = start(server(service_fn(async |request: Request<Body>| {
        assert_eq!(request.version(), Version::HTTP_10);
        answer("old")
    })))
    .await;
    let mut stream = running.http1().connect().await.unwrap();
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    within(stream.read_to_string(&mut answer), "the end")
        .await
        .unwrap();
    assert!(
        answer.starts_with("HTTP/1.0 200 OK") && answer.ends_with("\r\n\r\nold"),
        "{answer}"
    );
}
