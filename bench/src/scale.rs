//! A large cluster in the embedded API server, and the same load on it and on a real kube-apiserver with etcd.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use kubewright_testing::ControlPlane;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::cluster::{CONFIG_MAPS, Cluster, config_map, lines};
use crate::process::{Kind, Memory, Process};

/// Watches of one connection: servers allow 250 streams on each.
const WATCHES_A_CONNECTION: usize = 100;
const ROUNDS: usize = 20;

/// How large the cluster is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Size {
    pub(crate) pods: usize,
    pub(crate) watches: usize,
    pub(crate) namespaces: usize,
}

/// What both servers are asked for.
const SHARED_LOAD: Size = Size {
    pods: 10_000,
    watches: 1_000,
    namespaces: 1,
};

/// What a server took.
#[derive(Debug)]
struct Figures {
    creates_a_second: f64,
    list: Duration,
    list_bytes: usize,
    fan_out: Duration,
    memory: u64,
    memory_an_object: u64,
}

/// Measures the large cluster alone, and then both servers with a smaller one.
pub(crate) async fn run(size: Size, keep: &Path) -> Result<()> {
    {
        let server = Process::start(Kind::ApiServer, None, keep)?;
        let figures = measure(&Cluster::of(&server)?, &[server.id()], size).await?;
        print(&format!("embedded, {size:?}"), &figures);
    }
    let embedded = {
        let server = Process::start(Kind::ApiServer, None, keep)?;
        measure(&Cluster::of(&server)?, &[server.id()], SHARED_LOAD).await?
    };
    print(&format!("embedded, {SHARED_LOAD:?}"), &embedded);
    let tokens = keep.join("tokens.csv");
    std::fs::write(&tokens, "bench-token,admin,admin,system:masters\n")?;
    let control_plane = ControlPlane::builder()
        .flag(format!(
            "--token-auth-file={}",
            tokens.canonicalize()?.display()
        ))
        .start();
    let control_plane = match control_plane.await {
        Ok(control_plane) => control_plane,
        Err(error) => {
            println!("no real kube-apiserver to compare with: {error}");
            return Ok(());
        }
    };
    let trust = keep.join("kube-apiserver.pem");
    std::fs::write(&trust, control_plane.ca_pem())?;
    let address = control_plane.url().rsplit('/').next().context("a URL")?;
    let cluster = Cluster {
        address: address.parse()?,
        trust,
        token: "bench-token".to_owned(),
    };
    let processes = processes_with(&control_plane.folder().to_string_lossy())?;
    let real = measure(&cluster, &processes, SHARED_LOAD).await?;
    print(&format!("kube-apiserver and etcd, {SHARED_LOAD:?}"), &real);
    verdict(
        "creates a second",
        embedded.creates_a_second / real.creates_a_second,
        5.0,
    );
    #[expect(
        clippy::cast_precision_loss,
        reason = "bytes of memory are far below 2^52"
    )]
    let memory = real.memory as f64 / embedded.memory as f64;
    verdict("less memory", memory, 10.0);
    verdict(
        "faster list",
        real.list.as_secs_f64() / embedded.list.as_secs_f64(),
        1.0,
    );
    verdict(
        "faster fan-out",
        real.fan_out.as_secs_f64() / embedded.fan_out.as_secs_f64(),
        1.0,
    );
    Ok(())
}

fn verdict(name: &str, times: f64, bar: f64) {
    let met = if times >= bar { "met" } else { "missed" };
    println!("{name}: {times:.1} times, bar {bar}: {met}");
}

fn print(title: &str, figures: &Figures) {
    let Figures {
        creates_a_second,
        list,
        list_bytes,
        fan_out,
        memory,
        memory_an_object,
    } = figures;
    println!(
        "{title}: {creates_a_second:.0} creates a second; list of 10,000 ({} KiB) {list:.1?}; \
         fan-out to all watches {fan_out:.1?}; memory {} MiB, {memory_an_object} bytes for each pod",
        list_bytes >> 10,
        memory >> 20,
    );
}

async fn measure(cluster: &Cluster, processes: &[u32], size: Size) -> Result<Figures> {
    make_namespaces(cluster, size.namespaces).await?;
    let empty = memory(processes)?;
    let begin = Instant::now();
    fill(cluster, size).await?;
    let took = Instant::now() - begin;
    let filled = memory(processes)?;
    let (list, list_bytes) = list(cluster).await?;
    let fan_out = fan_out(cluster, size.watches).await?;
    #[expect(
        clippy::cast_precision_loss,
        reason = "the numbers of objects are small"
    )]
    let creates_a_second = size.pods as f64 / took.as_secs_f64();
    Ok(Figures {
        creates_a_second,
        list,
        list_bytes,
        fan_out,
        memory: memory(processes)?,
        memory_an_object: filled.saturating_sub(empty) / size.pods as u64,
    })
}

fn namespace(number: usize) -> String {
    format!("bench-{number}")
}

async fn make_namespaces(cluster: &Cluster, count: usize) -> Result<()> {
    let mut sender = cluster.connect().await?;
    for number in 0..count {
        let object = json!({"metadata": {"name": namespace(number)}}).to_string();
        cluster
            .create(&mut sender, "/api/v1/namespaces", object.into())
            .await?;
    }
    Ok(())
}

/// Creates the pods, as 32 clients at a time.
async fn fill(cluster: &Cluster, size: Size) -> Result<()> {
    let next = Arc::new(AtomicUsize::new(0));
    let sender = cluster.connect().await?;
    let mut streams = JoinSet::new();
    for _ in 0..32 {
        let (cluster, next, mut sender) = (cluster.clone(), next.clone(), sender.clone());
        streams.spawn(async move {
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= size.pods {
                    return anyhow::Ok(());
                }
                let namespace = namespace(number % size.namespaces);
                let path = format!("/api/v1/namespaces/{namespace}/pods");
                cluster.create(&mut sender, &path, pod(number)).await?;
            }
        });
    }
    while let Some(stream) = streams.join_next().await {
        stream??;
    }
    Ok(())
}

fn pod(number: usize) -> Bytes {
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": format!("web-{number}"),
            "labels": {"app": format!("web-{}", number / 10), "tier": "front"},
        },
        "spec": {"containers": [{
            "name": "web", "image": "registry.example.com/web:1.2.3",
            "ports": [{"containerPort": 8080}],
            "env": [{"name": "MODE", "value": "plain"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}},
        }]},
    });
    pod.to_string().into()
}

/// The median of lists of 10,000 pods, and their length.
async fn list(cluster: &Cluster) -> Result<(Duration, usize)> {
    let mut sender = cluster.connect().await?;
    let mut times = Vec::new();
    let mut length = 0;
    for _ in 0..5 {
        let begin = Instant::now();
        let answer = sender
            .send_request(cluster.get("/api/v1/pods?limit=10000")?)
            .await?;
        ensure!(answer.status().is_success(), "{}", answer.status());
        length = answer.into_body().collect().await?.to_bytes().len();
        times.push(Instant::now() - begin);
    }
    Ok((median(times), length))
}

/// The median time from a write until the last of the watches has its event.
async fn fan_out(cluster: &Cluster, watches: usize) -> Result<Duration> {
    let (seen, mut all_seen) = mpsc::unbounded_channel();
    let mut following = JoinSet::new();
    let mut sender = cluster.connect().await?;
    let listed = sender.send_request(cluster.get(CONFIG_MAPS)?).await?;
    let listed: Value = serde_json::from_slice(&listed.into_body().collect().await?.to_bytes())?;
    let version = listed["metadata"]["resourceVersion"]
        .as_str()
        .context("a list")?;
    let mut path = String::from(CONFIG_MAPS);
    write!(path, "?watch=true&resourceVersion={version}")?;
    for first in (0..watches).step_by(WATCHES_A_CONNECTION) {
        let sender = cluster.connect().await?;
        for _ in first..watches.min(first + WATCHES_A_CONNECTION) {
            let request = cluster.get(&path)?;
            let answer = sender.clone().send_request(request).await?;
            ensure!(answer.status().is_success(), "{}", answer.status());
            let seen = seen.clone();
            following.spawn(lines(answer.into_body(), move |_| {
                // The measurement may be over.
                let _ = seen.send(Instant::now());
            }));
        }
    }
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let begin = Instant::now();
        cluster
            .create(&mut sender, CONFIG_MAPS, config_map(1_000_000 + round))
            .await?;
        let mut last = begin;
        for _ in 0..watches {
            let next = timeout(Duration::from_mins(1), all_seen.recv()).await;
            last = next
                .context("a watch missed an event")?
                .context("a channel")?;
        }
        times.push(last - begin);
    }
    following.abort_all();
    Ok(median(times))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn memory(processes: &[u32]) -> Result<u64> {
    let each = processes.iter().map(|id| Memory::of(&id.to_string()));
    each.map(|memory| memory.map(|memory| memory.now)).sum()
}

/// The kube-apiserver and the etcd whose command lines name a folder.
fn processes_with(folder: &str) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc")? {
        let entry = entry?;
        let Some(id) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok())
        else {
            continue;
        };
        // A process may have ended meanwhile.
        let line = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line);
        let program = line.split('\0').next().unwrap_or_default();
        let is_one = program.ends_with("/etcd") || program.ends_with("/kube-apiserver");
        if is_one && line.contains(folder) {
            found.push(id);
        }
    }
    ensure!(
        found.len() == 2,
        "expected kube-apiserver and etcd, found {found:?}"
    );
    Ok(found)
}
