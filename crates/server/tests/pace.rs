//! Large bodies, which others may have to wait for, and the pace at which they come.

use std::time::Duration;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::client::conn::http2;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::client::{post, text};
use crate::process::{Process, serve_if_told};
use crate::running::within;

const MIB: usize = 1 << 20;
/// What a body may have without asking for room.
const FREE: usize = 64 << 10;

#[test]
fn a_large_body_that_comes_too_slowly_is_cut_and_one_at_a_fair_pace_is_not() {
    if serve_if_told() {
        return;
    }
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
        .block_on(send_at_different_paces());
}

async fn send_at_different_paces() {
    const TEST: &str =
        "pace::a_large_body_that_comes_too_slowly_is_cut_and_one_at_a_fair_pace_is_not";
    let mut server = Process::start(TEST).await;
    let half_a_second = Duration::from_millis(500);

    let fair = send(&mut server, &[2 * MIB, 2 * MIB, MIB, MIB], half_a_second).await;
    assert!(fair.ends_with(&format!("\r\n\r\n{}", 6 * MIB)), "{fair}");

    let slow = send(&mut server, &[FREE; 20], half_a_second).await;
    assert!(slow.starts_with("HTTP/1.1 408 "), "{slow}");
    let sentence = "the request's body, for which others may have to wait, came at less than 4194304 bytes a second";
    assert!(slow.ends_with(sentence), "{slow}");

    // Who needs no room has the whole time of a body.
    let small = send(&mut server, &[FREE / 16; 15], half_a_second).await;
    assert!(small.ends_with("\r\n\r\n61440"), "{small}");
}

/// Sends a body in parts with pauses between them, and returns the answer, which may come before all is sent.
async fn send(server: &mut Process, parts: &[usize], pause: Duration) -> String {
    let mut barrier = server.http2().http2().await.unwrap();
    let mut stream = server.http1().connect().await.unwrap();
    let length: usize = parts.iter().sum();
    let head = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let (mut reader, mut writer) = tokio::io::split(stream);
    let mut answer = Vec::new();
    let write = async {
        for (number, part) in parts.iter().enumerate() {
            if number > 0 {
                server.advance(pause).await;
            }
            if writer.write_all(&vec![0; *part]).await.is_err() {
                return;
            }
            has_been_read(&mut barrier).await;
        }
    };
    let read = within(reader.read_to_end(&mut answer), "the answer");
    let ((), _) = tokio::join!(write, read);
    String::from_utf8(answer).unwrap()
}

/// The server's system tells it of what has come in in order: once this call is answered, what was sent before it has
/// been read.
async fn has_been_read(barrier: &mut http2::SendRequest<Full<Bytes>>) {
    let response = within(barrier.send_request(post("/", "four")), "a good call");
    assert_eq!(text(response.await.unwrap()).await, (200, "4".into()));
}
