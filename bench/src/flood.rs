//! Bursts against webhooks in 128 MiB: how long good calls take beside them, the memory that they take, and what is left of it.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

use crate::load;
use crate::payloads::{self, Case};
use crate::process::confined_webhooks;

/// The default memory limit of an installed program.
const MEMORY: usize = 128 * MIB;
const CONNECTIONS: usize = 20;
const STREAMS: usize = 20;
const REQUESTS: usize = 1_600;
/// How many pods with many annotations are sent.
const HEAVY: usize = 120;
/// More connections than a server with this memory takes.
const IDLE: usize = 900;
/// How many good calls are made while the server is idle.
const GOOD_CALLS: usize = 2_000;
const MIB: usize = 1 << 20;
/// 0.45 of what a server of Go's standard library takes.
const PEAK: usize = 90 * MIB;
const SECOND: Duration = Duration::from_secs(1);

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many servers are started and flooded with each burst.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Only this burst.
    #[arg(long)]
    burst: Option<Burst>,
    /// Where every round is kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// What a server is flooded with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
enum Burst {
    /// 400 at once of 1,600 reviews of 281 KB.
    Reviews,
    /// 40 at once of 120 pods with 120,000 annotations or more.
    Annotations,
    /// 900 connections without a call, held for five seconds.
    Connections,
}

impl Burst {
    /// What may be left, three seconds later, beside what the server had before.
    fn most_left(self) -> usize {
        match self {
            Self::Reviews => 12 * MIB,
            Self::Annotations | Self::Connections => 20 * MIB,
        }
    }
}

/// What one burst has done to a fresh server.
#[derive(Debug, Serialize)]
struct Round {
    burst: Burst,
    /// Resident memory, in bytes.
    idle: usize,
    peak: usize,
    after_3_s: usize,
    after_10_s: usize,
    /// Calls that were refused because there was no room for them.
    refused: usize,
    /// How long 99 of 100 good calls take at most, one after another, in microseconds: while the server is idle, and beside the
    /// burst.
    good_p99_idle: u64,
    good_p99_beside: u64,
}

/// Floods a fresh server in each round; the worst round counts.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    println!(
        "{:<12} {:>9} {:>9} {:>9} {:>9} {:>8} {:>12} {:>13}",
        "burst", "idle MiB", "peak MiB", "+3 s", "+10 s", "refused", "p99 idle us", "p99 beside us"
    );
    let mut rounds = Vec::new();
    for burst in [Burst::Reviews, Burst::Annotations, Burst::Connections] {
        if options.burst.is_some_and(|only| only != burst) {
            continue;
        }
        for _ in 0..options.rounds {
            let round = flood(burst).await?;
            round.print();
            rounds.push(round);
        }
    }
    let worst = |value: fn(&Round) -> usize| rounds.iter().map(value).max().unwrap_or_default();
    print_verdict("peak", worst(|round| round.peak), PEAK);
    for burst in [Burst::Reviews, Burst::Annotations, Burst::Connections] {
        let of_burst = rounds.iter().filter(|round| round.burst == burst);
        let left = of_burst.map(|round| round.after_3_s.saturating_sub(round.idle));
        if let Some(left) = left.max() {
            let what = format!("left after 3 s of {burst:?}, beside idle");
            print_verdict(&what, left, burst.most_left());
        }
    }
    let path = options.keep.join("flood.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&rounds)?)?;
    println!("every round is in {}", path.display());
    Ok(())
}

/// How to connect to a server.
#[derive(Clone)]
struct Server {
    address: SocketAddr,
    connector: TlsConnector,
}

type Sender = http2::SendRequest<Full<Bytes>>;

async fn flood(burst: Burst) -> Result<Round> {
    let (process, address, trust) = confined_webhooks(MEMORY).await?;
    let connector = load::connector(&trust)?;
    let server = Server { address, connector };
    tokio::time::sleep(SECOND).await;
    let good = server.connect().await?;
    let good_p99_idle = p99(good_calls(good.clone(), GOOD_CALLS, &Arc::default()).await?);
    let idle = process.memory()?.resident;

    let is_over = Arc::<AtomicBool>::default();
    let beside = Arc::clone(&is_over);
    let beside = tokio::spawn(async move { good_calls(good, usize::MAX, &beside).await });
    let refused = match burst {
        Burst::Reviews => server.reviews().await?,
        Burst::Annotations => server.annotations().await?,
        Burst::Connections => server.connections().await?,
    };
    is_over.store(true, Ordering::Relaxed);
    let good_p99_beside = p99(beside.await??);
    tokio::time::sleep(3 * SECOND).await;
    let memory = process.memory()?;
    tokio::time::sleep(7 * SECOND).await;
    Ok(Round {
        burst,
        idle,
        peak: memory.peak,
        after_3_s: memory.resident,
        after_10_s: process.memory()?.resident,
        refused,
        good_p99_idle,
        good_p99_beside,
    })
}

impl Server {
    async fn connect(&self) -> Result<Sender> {
        load::connect(self.address, &self.connector).await
    }

    async fn reviews(&self) -> Result<usize> {
        let body = Case::ConfigMap.body();
        let body = move |number| body.of(number);
        self.send(Case::ConfigMap, STREAMS, REQUESTS, body).await
    }

    async fn annotations(&self) -> Result<usize> {
        // The second is too heavy for a server with this memory, and is refused.
        let pods = [120_000, 220_000].map(payloads::annotated_pod);
        let body = move |number: usize| pods[number % pods.len()].clone();
        self.send(Case::Typed, 2, HEAVY, body).await
    }

    async fn connections(&self) -> Result<usize> {
        let mut held = Vec::new();
        for _ in 0..IDLE {
            held.push(self.connect().await?);
        }
        tokio::time::sleep(5 * SECOND).await;
        Ok(0)
    }

    /// Sends requests on several connections with several streams each, and returns how many were refused.
    async fn send(
        &self,
        case: Case,
        streams: usize,
        requests: usize,
        body: impl Fn(usize) -> Bytes + Clone + Send + 'static,
    ) -> Result<usize> {
        let sent = Arc::new(AtomicUsize::new(0));
        let mut tasks = JoinSet::new();
        for _ in 0..CONNECTIONS {
            let sender = self.connect().await?;
            for _ in 0..streams {
                let (sender, sent, body) = (sender.clone(), Arc::clone(&sent), body.clone());
                tasks.spawn(stream(case, sender, sent, requests, body));
            }
        }
        let mut refused = 0;
        while let Some(stream) = tasks.join_next().await {
            refused += stream??;
        }
        Ok(refused)
    }
}

/// Sends reviews one after another, and returns how many were refused.
async fn stream(
    case: Case,
    mut sender: Sender,
    sent: Arc<AtomicUsize>,
    requests: usize,
    body: impl Fn(usize) -> Bytes,
) -> Result<usize> {
    let uri = format!("https://localhost{}?timeout=30s", case.path());
    let mut refused = 0;
    loop {
        let number = sent.fetch_add(1, Ordering::Relaxed);
        if number >= requests {
            return Ok(refused);
        }
        let request = Request::post(&uri)
            .header("content-type", "application/json")
            .body(Full::new(body(number)))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&answer);
        if NO_ROOM.contains(&status) {
            refused += 1;
        } else {
            ensure!(
                status == case.status() && text.contains(case.proof()),
                "a wrong answer: {status} {text}"
            );
        }
    }
}

/// What is answered to a review that has no room, has waited for room for too long, or is too heavy for the server.
const NO_ROOM: [StatusCode; 3] = [
    StatusCode::SERVICE_UNAVAILABLE,
    StatusCode::REQUEST_TIMEOUT,
    StatusCode::PAYLOAD_TOO_LARGE,
];

/// Makes good calls one after another, and returns how long each took, in microseconds.
async fn good_calls(mut sender: Sender, count: usize, is_over: &AtomicBool) -> Result<Vec<u128>> {
    let case = Case::Typed;
    let (uri, body) = (format!("https://localhost{}", case.path()), case.body());
    let mut times = Vec::new();
    while times.len() < count && !is_over.load(Ordering::Relaxed) {
        let request = Request::post(&uri)
            .header("content-type", "application/json")
            .body(Full::new(body.of(times.len())))?;
        let begun = Instant::now();
        let response = sender.send_request(request).await?;
        let status = response.status();
        response.into_body().collect().await?;
        times.push((Instant::now() - begun).as_micros());
        ensure!(status == case.status(), "a good call is answered {status}");
    }
    Ok(times)
}

fn p99(mut times: Vec<u128>) -> u64 {
    times.sort_unstable();
    let place = times.len() * 99 / 100;
    let time = times.get(place).copied().unwrap_or_default();
    u64::try_from(time).unwrap_or(u64::MAX)
}

impl Round {
    fn print(&self) {
        println!(
            "{:<12} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8} {:>12} {:>13}",
            format!("{:?}", self.burst).to_lowercase(),
            mebibytes(self.idle),
            mebibytes(self.peak),
            mebibytes(self.after_3_s),
            mebibytes(self.after_10_s),
            self.refused,
            self.good_p99_idle,
            self.good_p99_beside,
        );
    }
}

fn print_verdict(what: &str, bytes: usize, bar: usize) {
    let verdict = if bytes <= bar { "met" } else { "missed" };
    println!(
        "{what}: {:.1} MiB, bar {:.1} MiB: {verdict}",
        mebibytes(bytes),
        mebibytes(bar)
    );
}

#[expect(clippy::cast_precision_loss, reason = "it is only shown")]
fn mebibytes(bytes: usize) -> f64 {
    bytes as f64 / MIB as f64
}
