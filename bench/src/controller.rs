//! Controllers: what their caches take, how soon they hear of a change, and what a reconcile costs by itself.

use std::path::PathBuf;

use anyhow::Result;
use bytes::Bytes;
use serde::Serialize;

use crate::caches::{self, Followed, Taken};
use crate::cluster::{CONFIG_MAPS, Cluster, config_map};
use crate::heap::IS_COUNTED;
use crate::patches::{self, Patched};
use crate::payloads::Case;
use crate::process::{Kind, Process};
use crate::reconciles::{self, Added, Idle};

const PODS: &str = "/api/v1/namespaces/default/pods";
const KIB: f64 = 1024.0;
/// For a pod of 10.6 KB, half of it managed fields; without those it is the second.
const ENTRY: [f64; 2] = [8.0, 5.0];
/// The most memory during the first list, as a multiple of what there is after it.
const PEAK: f64 = 1.25;
/// What a reconcile comes later than the event on a bare watch, in milliseconds: median and 99th percentile.
const ADDED: [f64; 2] = [0.15, 0.5];
const RECONCILES: f64 = 300_000.0;
const PATCHES: usize = 3_000;

/// How to measure.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How many pods the cache holds.
    #[arg(long, default_value_t = 5_000)]
    pods: usize,
    /// The numbers of small objects at which time and memory are compared.
    #[arg(long, value_delimiter = ',', default_value = "10000,100000")]
    growth: Vec<usize>,
    /// How many objects are created to see how soon a controller hears of each.
    #[arg(long, default_value_t = 2_000)]
    creates: usize,
    /// Where the figures are kept.
    #[arg(long, default_value = "target/bench")]
    keep: PathBuf,
}

#[derive(Serialize)]
struct Figures {
    added: Added,
    /// Typed, and metadata alone.
    idle: [Idle; 2],
    patched: Patched,
    pods: Taken,
    growth: Vec<Taken>,
}

/// Measures everything, prints the figures and keeps them.
pub(crate) async fn run(options: &Options) -> Result<()> {
    std::fs::create_dir_all(&options.keep)?;
    let (added, idle) = reconciling(options).await?;
    let patched = patched(options).await?;
    let pods = pods(options).await?;
    let growth = growth(options).await?;
    let figures = Figures {
        added,
        idle,
        patched,
        pods,
        growth,
    };
    let path = options.keep.join("controller.json");
    std::fs::write(&path, serde_json::to_vec_pretty(&figures)?)?;
    println!("the figures are in {}", path.display());
    Ok(())
}

async fn reconciling(options: &Options) -> Result<(Added, [Idle; 2])> {
    let server = Process::start(Kind::ApiServer, None, &options.keep)?;
    let cluster = Cluster::of(&server)?;
    let added = reconciles::added(&cluster, 0, options.creates).await?;
    println!(
        "create to event on a bare watch: p50 {:.3} ms; to reconcile: p50 +{:.3} ms (bar {}), p99 +{:.3} ms (bar {}): {}",
        added.watch_p50,
        added.p50,
        ADDED[0],
        added.p99,
        ADDED[1],
        verdict(added.p50 <= ADDED[0] && added.p99 <= ADDED[1]),
    );
    cluster
        .fill(CONFIG_MAPS, config_map, options.creates, 10_000)
        .await?;
    let idle = tokio::task::spawn_blocking(move || reconciles::both(&cluster)).await??;
    for (what, idle) in ["typed", "metadata"].into_iter().zip(&idle) {
        println!(
            "reconciles that do nothing, {what}: {:.0} a second and processor (bar {RECONCILES}): {}; decoding alone: {:.0}{}",
            idle.per_second,
            verdict(idle.per_second >= RECONCILES),
            idle.decoded_per_second,
            counted(|| format!("; {:.1} allocations beside it (bar 3)", idle.allocations)),
        );
    }
    Ok((added, idle))
}

async fn patched(options: &Options) -> Result<Patched> {
    let server = Process::start(Kind::ApiServer, None, &options.keep)?;
    let cluster = Cluster::of(&server)?;
    cluster.fill(CONFIG_MAPS, config_map, 0, PATCHES).await?;
    let patched = patches::measure(&cluster, PATCHES)?;
    #[expect(clippy::cast_precision_loss, reason = "sizes that are shown")]
    let (each, resident) = (
        patched.processor_seconds * 1e6 / patched.objects as f64,
        patched.memory.now as f64 / KIB / KIB,
    );
    println!(
        "a program that patches {PATCHES} objects: {:.2} s from its start, {each:.0} us of the processor for each, {resident:.1} MiB resident",
        patched.seconds,
    );
    Ok(patched)
}

async fn pods(options: &Options) -> Result<Taken> {
    let server = Process::start(Kind::ApiServer, None, &options.keep)?;
    let cluster = Cluster::of(&server)?;
    cluster.fill(PODS, pod, 0, options.pods).await?;
    let taken = caches::measure(&cluster, Followed::Pods)?;
    #[expect(clippy::cast_precision_loss, reason = "sizes that are shown")]
    let each = |bytes: f64| bytes / taken.objects as f64 / KIB;
    #[expect(clippy::cast_precision_loss, reason = "sizes that are shown")]
    let (resident, heap) = (each(taken.added() as f64), each(taken.heap_bytes as f64));
    println!(
        "a cached pod, {} of them: {resident:.2} KiB resident{} (bars {} and {})",
        taken.objects,
        counted(|| format!(", {heap:.2} KiB of heap: {}", verdict(heap <= ENTRY[1]))),
        ENTRY[0],
        ENTRY[1],
    );
    println!(
        "the most memory during the first list: {:.2} of what there is after it (bar {PEAK}): {}",
        taken.peak(),
        verdict(taken.peak() <= PEAK),
    );
    Ok(taken)
}

async fn growth(options: &Options) -> Result<Vec<Taken>> {
    let server = Process::start(Kind::ApiServer, None, &options.keep)?;
    let cluster = Cluster::of(&server)?;
    println!(
        "{:>8} {:>9} {:>11} {:>13} {:>13}",
        "objects", "seconds", "processor s", "resident MiB", "us for each"
    );
    let mut all = Vec::new();
    let mut first = 0;
    for end in options.growth.iter().copied() {
        cluster.fill(CONFIG_MAPS, config_map, first, end).await?;
        first = end;
        let taken = caches::measure(&cluster, Followed::ConfigMaps)?;
        #[expect(clippy::cast_precision_loss, reason = "sizes that are shown")]
        let (mebibytes, objects) = (taken.added() as f64 / KIB / KIB, taken.objects as f64);
        println!(
            "{:>8} {:>9.2} {:>11.2} {mebibytes:>13.1} {:>13.1}",
            taken.objects,
            taken.seconds,
            taken.processor_seconds,
            taken.processor_seconds * 1e6 / objects,
        );
        all.push(taken);
    }
    Ok(all)
}

fn verdict(is_met: bool) -> &'static str {
    if is_met { "met" } else { "missed" }
}

fn counted(text: impl FnOnce() -> String) -> String {
    if IS_COUNTED { text() } else { String::new() }
}

fn pod(number: usize) -> Bytes {
    Case::Create.body().of(number)
}
