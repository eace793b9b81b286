//! A burst of large reviews: the memory that it takes at most, and what is left of it afterwards.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Result, ensure};
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kubewright_certificates::TrustBundle;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::load;
use crate::payloads::Case;
use crate::process::{Kind, Memory, Process};

const CONNECTIONS: usize = 20;
const STREAMS: usize = 20;
const REQUESTS: usize = 1_600;
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
}

/// Floods a fresh server in each round; the worst round counts.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    println!(
        "{:<6} {:>9} {:>9} {:>9} {:>9} {:>8}",
        "round", "idle MiB", "peak MiB", "+3 s", "+10 s", "refused"
    );
    let mut rounds = Vec::new();
    for number in 1..=options.rounds {
        let round = flood(&options.keep).await?;
        println!(
            "{number:<6} {:>9.1} {:>9.1} {:>9.1} {:>9.1} {:>8}",
            mebibytes(round.idle),
            mebibytes(round.peak),
            mebibytes(round.after_3_s),
            mebibytes(round.after_10_s),
            round.refused,
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
    let idle = server.memory()?.now;

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
    })
}

/// Sends reviews one after another, and returns how many were refused.
async fn stream(
    mut sender: hyper::client::conn::http2::SendRequest<Full<bytes::Bytes>>,
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
