//! A process that has no file descriptors left.

use std::process::Command;
use std::time::Duration;

use kubewright_server::Limits;
use tokio::net::TcpStream;
use tower::service_fn;

use crate::client::post;
use crate::running::{length, server, start, within};

/// Set in the process that has few of them.
const FEW: &str = "KUBEWRIGHT_TEST_WITH_FEW_FILES";

#[test]
fn the_listener_backs_off_without_file_descriptors_and_recovers() {
    if std::env::var_os(FEW).is_some() {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
            .block_on(run_out_and_recover());
        return;
    }
    let name = "exhaustion::the_listener_backs_off_without_file_descriptors_and_recovers";
    let output = Command::new("sh")
        .args(["-c", r#"ulimit -n 64; exec "$0" --exact "$1" --nocapture"#])
        .arg(std::env::current_exe().unwrap())
        .arg(name)
        .env(FEW, "1")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(text.contains("1 passed"), "{text}");
}

async fn run_out_and_recover() {
    let limits = Limits::default().handshake(Duration::from_secs(30));
    let running = start(server(service_fn(length)).limits(limits)).await;
    let mut kept = running.http2().http2().await.unwrap();
    let mut hoard = Vec::new();
    // Each connection takes a descriptor at either end: the server runs out while connections wait in its queue.
    while let Ok(stream) = TcpStream::connect(running.address).await {
        hoard.push(stream);
    }
    running
        .until("accepting to fail", |counts| counts.accept_failures > 0)
        .await;
    let response = kept.send_request(post("/", "abc")).await.unwrap();
    assert_eq!(response.status(), 200, "connections that are open go on");
    drop(hoard);
    let recovered = async {
        while running.http1().http1().await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    within(recovered, "the recovery").await;
    let failures = running.counts().accept_failures;
    assert!(failures < 1000, "the listener was spinning: {failures}");
}
