//! Clients that are slow, lie, flood, or hold on to what they have.

use std::time::Duration;

use http::Request;
use kubewright_server::{Body, Limits};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tower::service_fn;

use crate::client::{post, text};
use crate::raw::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, PING, PRIORITY, RST_STREAM, Raw,
    SETTINGS, WINDOW_UPDATE, call, frame, post_block,
};
use crate::running::{Running, answer, length, server, start, within};

/// Deadlines that are short enough to be waited for.
fn impatient() -> Limits {
    let short = Duration::from_millis(200);
    Limits::default()
        .handshake(short)
        .header_time(short)
        .body_time(short)
        .send_time(short)
}

async fn impatient_server() -> Running {
    start(server(service_fn(length)).limits(impatient())).await
}

async fn assert_serves_others(running: &Running) {
    let mut sender = running.http2().http2().await.unwrap();
    let response = sender.send_request(post("/", "abcd")).await.unwrap();
    assert_eq!(text(response).await, (200, "4".into()));
}

/// Reads to the end of a connection that the server has closed, cleanly or not.
async fn rest(stream: &mut (impl tokio::io::AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    let _ = within(stream.read_to_end(&mut bytes), "the connection's end").await;
    String::from_utf8_lossy(&bytes).into_owned()
}

#[tokio::test]
async fn a_handshake_that_is_never_finished_is_cut() {
    let running = impatient_server().await;
    let mut silent = TcpStream::connect(running.address).await.unwrap();
    let mut partial = TcpStream::connect(running.address).await.unwrap();
    partial
        .write_all(&[0x16, 0x03, 0x01, 0x02, 0x00, 0x01])
        .await
        .unwrap();
    assert_eq!(rest(&mut silent).await, "");
    assert_eq!(rest(&mut partial).await, "");
    assert_eq!(running.counts().handshakes_slow, 2);
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn what_is_not_tls_is_a_failed_handshake() {
    let running = impatient_server().await;
    let mut plain = TcpStream::connect(running.address).await.unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    rest(&mut plain).await;
    assert_eq!(running.counts().handshakes_failed, 1);
}

#[tokio::test]
async fn slow_headers_are_cut_however_often_a_byte_comes() {
    let running = impatient_server().await;
    let stream = running.http1().connect().await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let drip = tokio::spawn(async move {
        writer
            .write_all(b"POST / HTTP/1.1\r\nhost: ")
            .await
            .unwrap();
        while writer.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    assert_eq!(rest(&mut reader).await, "");
    assert_eq!(running.counts().connections_slow_headers, 1);
    within(drip, "the client to notice").await.unwrap();
}

#[tokio::test]
async fn slow_http2_headers_and_prefaces_are_cut() {
    let running = impatient_server().await;
    let block = post_block();
    let head = frame(HEADERS, END_STREAM, 1, &block[..3]);
    for bytes in [&head[..4], &head[..10], &head] {
        let mut raw = Raw::connect(&running.http2(), &[]).await.unwrap();
        raw.send(bytes).await.unwrap();
        within(raw.until_closed(), "the cut").await;
    }
    let mut stream = running.http2().connect().await.unwrap();
    stream.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    rest(&mut stream).await;
    assert_eq!(running.counts().connections_slow_headers, 4);
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_connection_that_is_merely_idle_is_kept() {
    let running = impatient_server().await;
    let mut http1 = running.http1().http1().await.unwrap();
    let mut http2 = running.http2().http2().await.unwrap();
    for _ in 0..2 {
        assert_eq!(
            http1.send_request(post("/", "a")).await.unwrap().status(),
            200
        );
        assert_eq!(
            http2.send_request(post("/", "a")).await.unwrap().status(),
            200
        );
        tokio::time::sleep(Duration::from_millis(450)).await;
    }
    assert_eq!(running.counts().connections_open, 2);
}

#[tokio::test]
async fn a_connection_without_calls_is_closed_in_the_end() {
    let limits = Limits::default().idle(Duration::from_millis(100));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut http1 = running.http1().http1().await.unwrap();
    assert_eq!(
        http1.send_request(post("/", "a")).await.unwrap().status(),
        200
    );
    let _http2 = running.http2().http2().await.unwrap();
    let _silent = running.http1().connect().await.unwrap();
    running
        .until("all to be closed", |counts| counts.connections_open == 0)
        .await;
    assert_eq!(running.counts().connections_idle, 3);
}

#[tokio::test]
async fn a_slow_body_is_answered_with_408_however_often_a_byte_comes() {
    let running = impatient_server().await;
    let stream = running.http1().connect().await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let drip = tokio::spawn(async move {
        let head = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1000000\r\n\r\n";
        writer.write_all(head).await.unwrap();
        while writer.write_all(b"a").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
    let answer = rest(&mut reader).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(
        answer.ends_with("the request's body did not arrive within 0.2 s"),
        "{answer}"
    );
    within(drip, "the client to notice").await.unwrap();

    let mut raw = Raw::connect(&running.http2(), &[]).await.unwrap();
    raw.send(&frame(HEADERS, END_HEADERS, 1, &post_block()))
        .await
        .unwrap();
    raw.send(&frame(DATA, 0, 1, b"a")).await.unwrap();
    let answer = within(raw.receive_kind(DATA), "the answer").await.unwrap();
    assert_eq!(
        answer.payload,
        b"the request's body did not arrive within 0.2 s"
    );
    assert_eq!(running.counts().bodies_too_slow, 2);
}

#[tokio::test]
async fn lengths_that_lie_are_refused() {
    let running = impatient_server().await;
    for (head, status) in [
        ("content-length: 3\r\ncontent-length: 4\r\n\r\nabcd", "400"),
        ("content-length: -1\r\n\r\n", "400"),
        ("content-length: 99999999999999999999999\r\n\r\n", "400"),
        ("content-length: 9999999999\r\n\r\nabc", "413"),
        (
            "transfer-encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
            "400",
        ),
        ("transfer-encoding: chunked\r\n\r\nnonsense\r\n", "400"),
    ] {
        let mut stream = running.http1().connect().await.unwrap();
        let request = format!("POST / HTTP/1.1\r\nhost: localhost\r\n{head}");
        stream.write_all(request.as_bytes()).await.unwrap();
        let answer = rest(&mut stream).await;
        assert_eq!(answer.get(9..12), Some(status), "{head}: {answer}");
    }
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_body_that_breaks_off_is_the_end_of_its_call_alone() {
    let running = impatient_server().await;
    let mut stream = running.http1().connect().await.unwrap();
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nabc";
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    rest(&mut stream).await;
    running
        .until("the call's end", |counts| {
            counts.calls == 1 && counts.calls_in_flight == 0
        })
        .await;
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_compressed_body_is_passed_on_as_it_is() {
    let running = impatient_server().await;
    let mut sender = running.http2().http2().await.unwrap();
    let mut request = post("/", vec![0x1f; 1000]);
    request
        .headers_mut()
        .insert("content-encoding", "gzip".parse().unwrap());
    let response = sender.send_request(request).await.unwrap();
    assert_eq!(text(response).await, (200, "1000".into()));
}

#[tokio::test]
async fn headers_beyond_all_measure_are_refused() {
    let running = impatient_server().await;
    let mut stream = running.http1().connect().await.unwrap();
    let head = format!(
        "GET / HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n",
        "a".repeat(100_000)
    );
    let _ = stream.write_all(head.as_bytes()).await;
    let answer = rest(&mut stream).await;
    assert!(
        answer.is_empty() || answer.starts_with("HTTP/1.1 431"),
        "{answer}"
    );
    let mut raw = Raw::connect(&running.http2(), &[]).await.unwrap();
    let _ = raw.send(&frame(HEADERS, 0, 1, &post_block())).await;
    for _ in 0..200 {
        if raw
            .send(&frame(CONTINUATION, 0, 1, &[0x82; 16_000]))
            .await
            .is_err()
        {
            break;
        }
    }
    within(raw.until_closed(), "the cut").await;
    assert_serves_others(&running).await;
}

/// Sends a frame again and again until the server has had enough.
async fn flood(running: &Running, frames: impl Fn(u32) -> Vec<u8>) {
    let raw = Raw::connect(&running.http2(), &[]).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(raw.stream);
    let attack = async {
        for number in 0.. {
            let batch: Vec<u8> = (0..20).flat_map(|n| frames(number * 20 + n)).collect();
            if writer.write_all(&batch).await.is_err() || writer.flush().await.is_err() {
                return;
            }
            if number % 16 == 0 {
                tokio::task::yield_now().await;
            }
        }
    };
    let read =
        async { while matches!(reader.read(&mut [0; 256]).await, Ok(length) if length > 0) {} };
    within(async { tokio::join!(attack, read) }, "the flood's end").await;
}

#[tokio::test]
async fn a_flood_of_control_frames_ends_the_connection() {
    let running = impatient_server().await;
    flood(&running, |_| frame(PING, 0, 0, &[0; 8])).await;
    flood(&running, |_| frame(SETTINGS, 0, 0, &[])).await;
    flood(&running, |_| frame(PRIORITY, 0, 1, &[0, 0, 0, 0, 1])).await;
    flood(&running, |_| frame(WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1])).await;
    assert_eq!(running.counts().connections_flooding, 4);
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_flood_of_empty_data_ends_the_connection() {
    let running = start(server(service_fn(length))).await;
    flood(&running, |number| {
        let open = if number == 0 {
            frame(HEADERS, END_HEADERS, 1, &post_block())
        } else {
            Vec::new()
        };
        [open, frame(DATA, 0, 1, &[])].concat()
    })
    .await;
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn streams_that_are_opened_and_reset_at_once_end_the_connection() {
    let running = impatient_server().await;
    flood(&running, |number| {
        let stream = number * 2 + 1;
        [
            frame(HEADERS, END_HEADERS, stream, &post_block()),
            frame(RST_STREAM, 0, stream, &[0, 0, 0, 8]),
        ]
        .concat()
    })
    .await;
    running
        .until("nothing to be left", |counts| counts.calls_in_flight == 0)
        .await;
    assert!(running.counts().calls < 2000, "{:?}", running.counts());
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_client_that_never_takes_its_answers_is_cut() {
    let running = impatient_server().await;
    // SETTINGS_INITIAL_WINDOW_SIZE 0, and no credit ever.
    let mut raw = Raw::connect(&running.http2(), &[0, 4, 0, 0, 0, 0])
        .await
        .unwrap();
    for stream in [1, 3, 5] {
        raw.send(&call(stream)).await.unwrap();
    }
    within(raw.until_closed(), "the cut").await;
    assert_eq!(running.counts().connections_stalled, 1);
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_client_that_stops_reading_is_cut() {
    let service = service_fn(async |_: Request<Body>| answer(vec![0; 50_000_000]));
    let running = start(server(service).limits(impatient())).await;
    let mut stream = running.http1().connect().await.unwrap();
    stream
        .write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await
        .unwrap();
    running
        .until("the cut", |counts| counts.connections_stalled == 1)
        .await;
    running
        .until("its end", |counts| counts.connections_open == 0)
        .await;
}

#[tokio::test]
async fn ten_thousand_streams_on_one_connection_are_held_to_the_limit() {
    let limits = impatient().streams(10).body_time(Duration::from_secs(20));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let raw = Raw::connect(&running.http2(), &[]).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(raw.stream);
    let attack = async {
        for stream in (1..20_000).step_by(2) {
            if writer
                .write_all(&frame(HEADERS, END_HEADERS, stream, &post_block()))
                .await
                .is_err()
            {
                break;
            }
        }
        let _ = writer.shutdown().await;
    };
    let read =
        async { while matches!(reader.read(&mut [0; 256]).await, Ok(length) if length > 0) {} };
    within(async { tokio::join!(attack, read) }, "the attack's end").await;
    assert!(running.counts().calls <= 10, "{:?}", running.counts());
    assert_serves_others(&running).await;
}

#[tokio::test]
async fn a_client_with_many_calls_on_their_way_leaves_places_for_others() {
    // As few calls may be arriving as there are at least: 64.
    let limits = Limits::within(1 << 20).body_time(Duration::from_secs(30));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut greedy = Raw::connect(&running.http2(), &[]).await.unwrap();
    for stream in (1..200).step_by(2) {
        let begun = frame(HEADERS, END_HEADERS, stream, &post_block());
        greedy.send(&begun).await.unwrap();
    }
    running
        .until("the refused calls", |counts| counts.calls_refused > 30)
        .await;
    for _ in 0..3 {
        assert_serves_others(&running).await;
    }
    assert_eq!(running.counts().calls_in_flight, 48);
}

#[tokio::test]
async fn large_bodies_on_their_way_leave_room_for_small_ones() {
    // Bodies that have not asked for room may have 1 MiB together.
    let limits = Limits::within(1 << 20).body_time(Duration::from_mins(10));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut greedy = Raw::connect(&running.http2(), &[]).await.unwrap();
    let mut head = post_block();
    // `content-length: 200000`, the name by its number.
    head.extend(b"\x0f\x0d\x06200000");
    let streams = || (1..80).step_by(2);
    for stream in streams() {
        let begun = frame(HEADERS, END_HEADERS, stream, &head);
        greedy.send(&begun).await.unwrap();
    }
    for _ in 0..4 {
        for stream in streams() {
            let bytes = frame(DATA, 0, stream, &[0; 10_000]);
            greedy.send(&bytes).await.unwrap();
        }
    }
    // Those that have room are cut after three seconds, which a busy machine may need for the rest.
    running
        .until("the bodies", |counts| {
            counts.calls_in_flight + counts.calls_refused + counts.bodies_too_slow >= 40
        })
        .await;
    for _ in 0..20 {
        assert_serves_others(&running).await;
    }
    assert_eq!(running.counts().calls_refused, 0);
}
