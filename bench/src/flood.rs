//! A burst of large reviews: the memory that it takes at most, and what is left of it afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use kubewright_certificates::TrustBundle;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::load;
use crate::payloads::Case;
use crate::process::{Kind, Memory, Process};

const CONNECTIONS: usize = 20;
const STREAMS: usize = 20;
const REQUESTS: usize = 1_600;
/// How many good calls are made beside nothing.
const GOOD_CALLS: usize = 2_000;
const MIB: u64 = 1 << 20;
/// 0.45 of what a server of Go's standard library takes.
const PEAK: u64 = 90 * MIB;
/// What may be left, three seconds later, beside what the server had before.
const LEFT: u64 = 12 * MIB;

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many servers are started and flooded.
    #[arg(long, default_value_t = 5)]
    rounds: usize,
    /// Where every round is kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

/// What one burst has done to a fresh server.
#[derive(Debug, Serialize)]
struct Round {
    idle: u64,
    peak: u64,
    after_3_s: u64,
    after_10_s: u64,
    /// Calls that were refused because the bodies in flight left no room.
    refused: usize,
    /// How long 99 of 100 good calls take at most, one after another, in microseconds: beside nothing, and beside the burst.
    good_p99_idle: u64,
    good_p99_beside: u64,
}

/// Floods a fresh server in each round; the worst round counts.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    println!(
        "{:<6} {:>9} {:>9} {:>9} {:>9} {:>8} {:>12} {:>12}",
        "round", "idle MiB", "peak MiB", "+3 s", "+10 s", "refused", "p99 idle us", "p99 beside"
    );
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let round = flood(&options.keep).await?;
        println!(
            "{number:<6} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8} {:>12} {:>12}",
            mebibytes(round.idle),
            mebibytes(round.peak),
            mebibytes(round.after_3_s),
            mebibytes(round.after_10_s),
            round.refused,
            round.good_p99_idle,
            round.good_p99_beside,
        );
        rounds.push(round);
    }
    let worst = |value: fn(&Round) -> u64| rounds.iter().map(value).max().unwrap_or_default();
    print_verdict("peak", worst(|round| round.peak), PEAK);
    let left = worst(|round| round.after_3_s.saturating_sub(round.idle));
    print_verdict("left after 3 s, beside idle", left, LEFT);
    let path = options.keep.join("flood.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&rounds)?)?;
    println!("every round is in {}", path.display());
    Ok(())
}

async fn flood(keep: &Path) -> Result<Round> {
    let server = Process::start(Kind::Webhooks, None, keep)?;
    let trust = TrustBundle::from_pem(std::fs::read(&server.trust)?)?;
    let connector = load::connector(&trust)?;
    let pause = Duration::from_secs(1);
    tokio::time::sleep(pause).await;
    let good = load::connect(server.address, &connector).await?;
    let good_p99_idle = p99(good_calls(good.clone(), GOOD_CALLS, &Arc::default()).await?);
    let idle = server.memory()?.now;

    let is_over = Arc::<AtomicBool>::default();
    let beside = Arc::clone(&is_over);
    let beside = tokio::spawn(async move { good_calls(good, usize::MAX, &beside).await });
    let sent = Arc::new(AtomicUsize::new(0));
    let mut streams = JoinSet::new();
    for _ in 0..CONNECTIONS {
        let sender = load::connect(server.address, &connector).await?;
        for _ in 0..STREAMS {
            streams.spawn(stream(sender.clone(), Arc::clone(&sent)));
        }
    }
    let mut refused = 0;
    while let Some(stream) = streams.join_next().await {
        refused += stream??;
    }
    is_over.store(true, Ordering::Relaxed);
    let good_p99_beside = p99(beside.await??);
    tokio::time::sleep(3 * pause).await;
    let Memory {
        now: after_3_s,
        peak,
    } = server.memory()?;
    tokio::time::sleep(7 * pause).await;
    let after_10_s = server.memory()?.now;
    Ok(Round {
        idle,
        peak,
        after_3_s,
        after_10_s,
        refused,
        good_p99_idle,
        good_p99_beside,
    })
}

/// Makes good calls one after another, and returns how long each took, in microseconds.
async fn good_calls(
    mut sender: http2::SendRequest<Full<bytes::Bytes>>,
    count: usize,
    is_over: &AtomicBool,
) -> Result<Vec<u128>> {
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
        times.push(begun.elapsed().as_micros());
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

/// Sends reviews one after another, and returns how many were refused.
async fn stream(
    mut sender: http2::SendRequest<Full<bytes::Bytes>>,
    sent: Arc<AtomicUsize>,
) -> Result<usize> {
    let case = Case::ConfigMap;
    let uri = format!("https://localhost{}?timeout=30s", case.path());
    let body = case.body();
    let mut refused = 0;
    loop {
        let number = sent.fetch_add(1, Ordering::Relaxed);
        if number >= REQUESTS {
            return Ok(refused);
        }
        let request = Request::post(&uri)
            .header("content-type", "application/json")
            .body(Full::new(body.of(number)))?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let answer = response.into_body().collect().await?.to_bytes();
        let text = String::from_utf8_lossy(&answer);
        if status == StatusCode::SERVICE_UNAVAILABLE {
            refused += 1;
        } else {
            ensure!(
                status == case.status() && text.contains(case.proof()),
                "a wrong answer: {status} {text}"
            );
        }
    }
}

fn print_verdict(what: &str, bytes: u64, bar: u64) {
    let verdict = if bytes <= bar { "met" } else { "missed" };
    println!(
        "{what}: {:.1} MiB, bar {:.1} MiB: {verdict}",
        mebibytes(bytes),
        mebibytes(bar)
    );
}

#[expect(clippy::cast_precision_loss, reason = "it is only shown")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / MIB as f64
}
