//! The load: a few HTTP/2 connections with a few streams each, every answer checked.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use kubewright_certificates::TrustBundle;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use serde::{Deserialize, Serialize};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::payloads::{Body, Case};

const CONNECTIONS: usize = 4;
const STREAMS: usize = 8;

/// What one run has seen.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) requests: usize,
    pub(crate) seconds: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
}

/// What one run sends.
#[derive(clap::Args)]
pub(crate) struct Plan {
    /// The name of the case.
    pub(crate) case: Case,
    /// How many requests.
    pub(crate) requests: usize,
    /// The number of the first one.
    pub(crate) first: usize,
    /// Whether the constant answer is measured instead of the case.
    #[arg(long)]
    pub(crate) echo: bool,
    /// The token to show.
    #[arg(long)]
    pub(crate) token: Option<String>,
}

/// Is the load process: sends the requests and prints what it has seen.
pub(crate) async fn run(address: SocketAddr, trust: &Path, plan: Plan) -> Result<()> {
    let trust = TrustBundle::from_pem(std::fs::read(trust)?)?;
    let connector = connector(&trust)?;
    let requests = plan.requests;
    let plan = Arc::new(plan);
    let body = plan.case.body();
    let sent = Arc::new(AtomicUsize::new(0));
    let begin = Instant::now();
    let mut streams = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let sender = connect(address, &connector).await?;
        for _ in 0..STREAMS {
            let (sender, plan) = (sender.clone(), Arc::clone(&plan));
            let (body, sent) = (body.clone(), Arc::clone(&sent));
            streams.spawn(async move { stream(sender, &plan, &body, &sent).await });
        }
    }
    let mut latencies = Vec::with_capacity(requests);
    while let Some(stream) = streams.join_next().await {
        latencies.extend(stream??);
    }
    latencies.sort_unstable();
    let at = |share: usize| {
        latencies[(latencies.len() * share / 100).min(latencies.len() - 1)].as_secs_f64() * 1e3
    };
    let seen = Seen {
        requests: latencies.len(),
        seconds: (Instant::now() - begin).as_secs_f64(),
        p50_ms: at(50),
        p99_ms: at(99),
    };
    println!("{}", serde_json::to_string(&seen)?);
    Ok(())
}

async fn stream(
    mut sender: http2::SendRequest<Full<Bytes>>,
    plan: &Plan,
    body: &Body,
    sent: &AtomicUsize,
) -> Result<Vec<Duration>> {
    let uri = format!("https://localhost{}?timeout=10s", plan.case.path());
    let expected = if plan.echo { 200 } else { plan.case.status() };
    let mut latencies = Vec::new();
    loop {
        let number = sent.fetch_add(1, Ordering::Relaxed);
        if number >= plan.requests {
            break;
        }
        let mut request = Request::post(&uri)
            .header("content-type", "application/json")
            .header("accept", "application/json");
        if let Some(token) = &plan.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(Full::new(body.of(plan.first + number)))?;
        let begin = Instant::now();
        let response = sender.send_request(request).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        latencies.push(Instant::now() - begin);
        let text = String::from_utf8_lossy(&answer);
        ensure!(
            status == expected && (plan.echo || text.contains(plan.case.proof())),
            "a wrong answer: {status} {text}"
        );
    }
    Ok(latencies)
}

pub(crate) async fn connect(
    address: SocketAddr,
    connector: &TlsConnector,
) -> Result<http2::SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let tls = connector
        .connect(ServerName::try_from("localhost")?, stream)
        .await?;
    let (sender, connection) = http2::Builder::new(TokioExecutor::new())
        .initial_stream_window_size(1 << 20)
        .initial_connection_window_size(4 << 20)
        .handshake(TokioIo::new(tls))
        .await
        .context("no HTTP/2 connection")?;
    tokio::spawn(connection);
    Ok(sender)
}

pub(crate) fn connector(trust: &TrustBundle) -> Result<TlsConnector> {
    let mut roots = RootCertStore::empty();
    for certificate in trust.certificates() {
        roots.add(certificate.clone())?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}
