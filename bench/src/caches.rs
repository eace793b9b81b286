//! What caches hold: a process of its own that follows the objects of a kind, and what that takes.

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kubewright_controller::{Cached, Informers, Scope};
use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use crate::cluster::Cluster;
use crate::heap::{self, Heap};
use crate::process::{Memory, this_program};

/// Which objects are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Followed {
    Pods,
    #[value(name = "configmaps")]
    ConfigMaps,
}

/// What to follow.
#[derive(clap::Args)]
pub(crate) struct Follow {
    kind: Followed,
    #[command(flatten)]
    cluster: Cluster,
}

/// What a cache took when it knew everything.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct Taken {
    pub(crate) objects: usize,
    /// From the first request to a complete cache.
    pub(crate) seconds: f64,
    /// The program's processor time for it.
    pub(crate) processor_seconds: f64,
    pub(crate) heap_bytes: usize,
    /// Before there was anything in the cache.
    pub(crate) idle: Memory,
    pub(crate) memory: Memory,
}

impl Taken {
    /// The resident memory that the objects have added.
    pub(crate) fn added(&self) -> u64 {
        self.memory.now.saturating_sub(self.idle.now)
    }

    /// How much more there was at the peak than in the end.
    #[expect(clippy::cast_precision_loss, reason = "a ratio that is shown")]
    pub(crate) fn peak(&self) -> f64 {
        self.memory.peak as f64 / self.memory.now as f64
    }
}

/// Is the process with the cache: fills it, says what that has taken, and ends.
pub(crate) async fn follow(follow: &Follow) -> Result<()> {
    let client = follow.cluster.client()?;
    // The connection is no part of the cache.
    client.apiserver_version().await?;
    let informers = Informers::new();
    let count: Box<dyn Fn() -> usize> = match follow.kind {
        Followed::Pods => {
            let pods = Cached::<Pod>::new(&informers, Scope::all());
            Box::new(move || pods.entries().len())
        }
        Followed::ConfigMaps => {
            let maps = Cached::<ConfigMap>::new(&informers, Scope::all());
            Box::new(move || maps.entries().len())
        }
    };
    let (idle, before) = (Memory::of("self")?, heap::now());
    let (begin, processor) = (Instant::now(), processor_seconds()?);
    tokio::select! {
        () = informers.run(client) => {}
        () = informers.synced() => {}
    }
    let taken = Taken {
        seconds: begin.elapsed().as_secs_f64(),
        processor_seconds: processor_seconds()? - processor,
        heap_bytes: grown(before, heap::now()),
        objects: count(),
        idle,
        memory: Memory::of("self")?,
    };
    println!("{}", serde_json::to_string(&taken)?);
    Ok(())
}

fn grown(before: Heap, after: Heap) -> usize {
    after.bytes.saturating_sub(before.bytes)
}

/// The time that the threads of this process have run.
pub(crate) fn processor_seconds() -> Result<f64> {
    let mut nanoseconds = 0;
    for task in std::fs::read_dir("/proc/self/task")? {
        let account = std::fs::read_to_string(task?.path().join("schedstat"))?;
        let first = account.split(' ').next().context("an empty account")?;
        nanoseconds += first.parse::<u64>()?;
    }
    Ok(std::time::Duration::from_nanos(nanoseconds).as_secs_f64())
}

/// Has a fresh process follow the objects of a kind.
pub(crate) fn measure(cluster: &Cluster, kind: Followed) -> Result<Taken> {
    use clap::ValueEnum as _;

    let kind = kind.to_possible_value().context("a kind without a name")?;
    let output = this_program(None)
        .args(["follow", kind.get_name()])
        .arg(cluster.address.to_string())
        .arg(&cluster.trust)
        .arg(&cluster.token)
        .stderr(std::process::Stdio::inherit())
        .output()
        .context("cannot start the process with the cache")?;
    ensure!(
        output.status.success(),
        "the process with the cache has failed"
    );
    serde_json::from_slice(&output.stdout).context("the process with the cache said nothing")
}
