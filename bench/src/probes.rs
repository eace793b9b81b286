//! How long probes take while 500 clients hold connections to the same port, or read metrics from it without end.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Result, ensure};
use kubewright_server::{DiagnosticsServer, Readiness};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::process::{Kind, Process};

/// How many clients connect and send nothing, and as many read metrics without end.
const EACH: usize = 250;
/// The default `timeoutSeconds` of a probe.
const BAR: Duration = Duration::from_secs(1);

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many probes are sent, one after another.
    #[arg(long, default_value_t = 500)]
    probes: usize,
    /// Where the files of the server are kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// A diagnostics server with metrics of 52 KB.
pub(crate) fn diagnostics() -> DiagnosticsServer {
    let page = "kubewright 1\n".repeat(4096);
    DiagnosticsServer::new()
        .probes(Readiness::default(), Readiness::default())
        .page("/metrics", "text/plain", move || page.clone())
}

/// Sends probes without clients and among them, and prints how long they took.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    let server = Process::start(Kind::Diagnostics, None, &options.keep)?;
    let address = server.address;
    println!("{:<14} {:>9} {:>9}", "probes", "p99 ms", "worst ms");
    print("alone", &probes(address, options.probes).await?);

    let mut clients = JoinSet::new();
    for _ in 0..EACH {
        clients.spawn(connect_for_ever(address));
        clients.spawn(read_for_ever(address));
    }
    let times = probes(address, options.probes).await?;
    let worst = print("beside clients", &times);
    let verdict = if worst <= BAR { "met" } else { "missed" };
    println!("worst probe: {worst:.1?}, bar {BAR:?}: {verdict}");
    Ok(())
}

/// Probes one after another, each on a connection of its own, and returns how long each took, the longest last.
async fn probes(address: SocketAddr, count: usize) -> Result<Vec<Duration>> {
    let mut times = Vec::new();
    for _ in 0..count {
        let begun = Instant::now();
        let answer = ask(TcpStream::connect(address).await?, "/livez").await?;
        times.push(Instant::now() - begun);
        ensure!(
            answer.starts_with(b"HTTP/1.1 200 OK\r\n"),
            "a probe is answered {:?}",
            String::from_utf8_lossy(&answer)
        );
    }
    times.sort_unstable();
    Ok(times)
}

/// Sends nothing, and connects again when the connection is closed for another client.
async fn connect_for_ever(address: SocketAddr) {
    loop {
        if let Ok(mut stream) = connect(address).await {
            let _ = stream.read(&mut [0]).await;
        }
    }
}

async fn read_for_ever(address: SocketAddr) {
    loop {
        // A connection that was closed for another client is as good.
        if let Ok(stream) = connect(address).await {
            let _ = ask(stream, "/metrics").await;
        }
    }
}

/// Connects from another host than that of the probes.
async fn connect(address: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 2], 0).into())?;
    socket.connect(address).await
}

async fn ask(mut stream: TcpStream, path: &str) -> std::io::Result<Vec<u8>> {
    let request = format!("GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    Ok(answer)
}

/// Prints a line about probes, and returns the longest time.
fn print(what: &str, times: &[Duration]) -> Duration {
    let at = |place: usize| times.get(place).copied().unwrap_or_default();
    let worst = at(times.len().saturating_sub(1));
    let p99 = at(times.len() * 99 / 100);
    println!(
        "{what:<14} {:>9.2} {:>9.2}",
        p99.as_secs_f64() * 1e3,
        worst.as_secs_f64() * 1e3
    );
    worst
}
