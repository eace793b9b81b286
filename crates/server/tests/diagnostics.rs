//! The diagnostics server among clients that hold on to connections, or ask without end.

use std::net::SocketAddr;

use kubewright_server::{DiagnosticsServer, Readiness};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use crate::process::again;
use crate::running::within;

const TEST: &str =
    "diagnostics::every_probe_is_answered_among_hundreds_of_clients_that_hold_on_or_flood";
/// Set in the process that may open many files.
const MANY: &str = "KUBEWRIGHT_TEST_WITH_MANY_FILES";
/// How many clients connect and say nothing, and as many ask for the metrics without end.
const EACH: usize = 250;
/// Where the clients are, another host than that of the probes: on Linux all of 127.0.0.0/8 is there.
const CLIENTS: [u8; 4] = [127, 0, 0, 2];

#[test]
fn every_probe_is_answered_among_hundreds_of_clients_that_hold_on_or_flood() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    if std::env::var_os(MANY).is_some() {
        return runtime.block_on(probe_in_a_flood());
    }
    let output = runtime.block_on(async { again(TEST).env(MANY, "1").output().await });
    let output = output.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

async fn probe_in_a_flood() {
    let page = "kubewright 1\n".repeat(4096);
    let diagnostics = DiagnosticsServer::new()
        .probes(Readiness::default(), Readiness::default())
        .page("/metrics", "text/plain", move || page.clone())
        .bind(([127, 0, 0, 1], 0))
        .await
        .unwrap();
    let address = diagnostics.local_addr();
    let mut tasks = JoinSet::new();
    tasks.spawn(diagnostics.run());
    for _ in 0..EACH {
        tasks.spawn(hold_on(address));
        tasks.spawn(flood(address));
    }
    for number in 0..20 {
        let probe = async {
            let stream = TcpStream::connect(address).await?;
            ask(stream, "/livez", "close").await
        };
        let probe = within(probe, "a probe").await;
        let probe = String::from_utf8(probe.unwrap()).unwrap();
        assert!(
            probe.starts_with("HTTP/1.1 200 OK\r\n"),
            "{number}: {probe}"
        );
    }
}

/// Says nothing, and connects again when the connection was closed for others.
async fn hold_on(address: SocketAddr) {
    loop {
        if let Ok(mut stream) = connect(address).await {
            let _ = stream.read(&mut [0]).await;
        }
    }
}

async fn flood(address: SocketAddr) {
    loop {
        // What becomes of it is nothing to this client.
        if let Ok(stream) = connect(address).await {
            let _ = ask(stream, "/metrics", "keep-alive").await;
        }
    }
}

async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((CLIENTS, 0).into())?;
    socket.connect(address).await
}

async fn ask(mut stream: TcpStream, path: &str, connection: &str) -> std::io::Result<Vec<u8>> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: {connection}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

#[tokio::test]
async fn a_client_that_reads_metrics_again_keeps_its_connection() {
    let diagnostics = DiagnosticsServer::new()
        .probes(Readiness::default(), Readiness::default())
        .page("/metrics", "text/plain", || "up 1\n".to_owned())
        .bind(([127, 0, 0, 1], 0))
        .await
        .unwrap();
    let address = diagnostics.local_addr();
    let _running = tokio::spawn(diagnostics.run());
    let mut stream = TcpStream::connect(address).await.unwrap();
    for _ in 0..3 {
        let request = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n";
        stream.write_all(request).await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"up 1\n") {
            let more = within(stream.read_buf(&mut answer), "the answer");
            assert!(more.await.unwrap() > 0);
        }
    }
}

#[tokio::test]
async fn clients_that_come_all_at_once_wait_instead_of_being_turned_away() {
    let diagnostics = DiagnosticsServer::new().probes(Readiness::default(), Readiness::default());
    // The server is bound, and does not accept connections yet.
    let diagnostics = diagnostics.bind(([127, 0, 0, 1], 0)).await.unwrap();
    let mut clients = Vec::new();
    for _ in 0..300 {
        let connecting = TcpStream::connect(diagnostics.local_addr());
        clients.push(within(connecting, "a place in the queue").await.unwrap());
    }
}
