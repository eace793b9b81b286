//! How soon a controller hears of a change, and what a reconcile costs that does nothing.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use kube_core::ResourceExt as _;
use kube_core::metadata::PartialObjectMeta;
use kubewright_controller::{
    Action, AnyController, Cached, Context, Controller, Error, Informers, Object, Scope,
};
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::cluster::{self, CONFIG_MAPS, Cluster, config_map};
use crate::heap;

/// When something was heard of an object.
type Times = HashMap<String, Instant>;

/// What passed between a creation as a bare watch hears of it and its reconcile: the median and the 99th percentile.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Added {
    pub(crate) watch_p50: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
}

/// Creates objects one after another, and compares when two bare watches and a controller's reconcile hear of each.
///
/// The server tells its watches in the order in which they were opened: one is opened before that of the controller and one
/// after it, and their mean is what the controller is measured against.
pub(crate) async fn added(cluster: &Cluster, first: usize, creates: usize) -> Result<Added> {
    let before = watch(cluster).await?;
    let (sender, mut reconciled) = mpsc::unbounded_channel();
    let reconcile = move |map: Arc<ConfigMap>, _: Context| {
        drop(sender.send((map.name_any(), Instant::now())));
        async { Ok::<_, Error>(Action::await_change()) }
    };
    let controller = Controller::new("added", reconcile);
    let client = cluster.client()?;
    let running = tokio::spawn(controller.run(client, std::future::pending()));
    tokio::time::sleep(Duration::from_secs(2)).await;
    while reconciled.try_recv().is_ok() {}
    let after = watch(cluster).await?;
    let mut sender = cluster.connect().await?;
    let mut created = Times::new();
    for number in first..first + creates {
        created.insert(name(number), Instant::now());
        cluster
            .create(&mut sender, CONFIG_MAPS, config_map(number))
            .await?;
        // An event at a time: queues are another measurement's matter.
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    let mut reconciles = Times::new();
    while let Ok((name, at)) = reconciled.try_recv() {
        reconciles.entry(name).or_insert(at);
    }
    running.abort();
    let (before, after) = (before.close().await?, after.close().await?);
    let mut added = Vec::new();
    let mut watched = Vec::new();
    for (name, begun) in &created {
        let at = |times: &Times| -> Result<f64> {
            let at = times
                .get(name)
                .with_context(|| format!("{name} was missed"))?;
            Ok(at.duration_since(*begun).as_secs_f64() * 1e3)
        };
        let bare = f64::midpoint(at(&before)?, at(&after)?);
        watched.push(bare);
        added.push(at(&reconciles)? - bare);
    }
    Ok(Added {
        watch_p50: share(&mut watched, 50),
        p50: share(&mut added, 50),
        p99: share(&mut added, 99),
    })
}

fn name(number: usize) -> String {
    format!("map-{number}")
}

fn share(values: &mut [f64], percent: usize) -> f64 {
    values.sort_by(f64::total_cmp);
    values[(values.len() * percent / 100).min(values.len() - 1)]
}

/// A watch with nothing around it.
struct Watch {
    task: tokio::task::JoinHandle<()>,
    heard: mpsc::UnboundedReceiver<(String, Instant)>,
}

async fn watch(cluster: &Cluster) -> Result<Watch> {
    let mut sender = cluster.connect().await?;
    let path = format!("{CONFIG_MAPS}?watch=true&resourceVersion=0");
    let answer = sender.send_request(cluster.get(&path)?).await?;
    ensure!(answer.status().is_success(), "{}", answer.status());
    let (heard_sender, heard) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        let _sender = sender;
        // It ends when it is aborted: what was heard by then counts.
        drop(
            cluster::lines(answer.into_body(), |line| {
                let now = Instant::now();
                if let Some(name) = name_in(line) {
                    drop(heard_sender.send((name, now)));
                }
            })
            .await,
        );
    });
    Ok(Watch { task, heard })
}

impl Watch {
    async fn close(mut self) -> Result<Times> {
        self.task.abort();
        let mut times = Times::new();
        while let Some((name, at)) = self.heard.recv().await {
            times.insert(name, at);
        }
        Ok(times)
    }
}

/// The name in an event, without reading the event.
fn name_in(line: &[u8]) -> Option<String> {
    let line = std::str::from_utf8(line).ok()?;
    let (_, after) = line.split_once(r#""name":""#)?;
    Some(after.split('"').next()?.to_owned())
}

/// What reconciles that do nothing cost, one after another on one processor.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub(crate) struct Idle {
    pub(crate) per_second: f64,
    /// How many objects are decoded in a second with nothing around it.
    pub(crate) decoded_per_second: f64,
    /// Beside those of decoding; nothing where it is not counted.
    pub(crate) allocations: f64,
}

/// What a round has cost; the best round counts.
struct Cost {
    time: Duration,
    allocations: usize,
}

/// Where a round began.
struct Start(Instant, usize);

impl Cost {
    fn most() -> Self {
        Self {
            time: Duration::MAX,
            allocations: usize::MAX,
        }
    }

    fn now() -> Start {
        Start(Instant::now(), heap::now().allocations)
    }

    fn least(self, Start(begin, allocations): Start) -> Self {
        Self {
            time: self.time.min(begin.elapsed()),
            allocations: self.allocations.min(heap::now().allocations - allocations),
        }
    }
}

/// Reconciles every `ConfigMap` of a full cache a few times over, on this thread alone.
pub(crate) fn idle<K: Object>(cluster: &Cluster, rounds: usize) -> Result<Idle> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let informers = Informers::new();
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let reconcile = move |_: Arc<K>, _: Context| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok::<_, Error>(Action::await_change()) }
        };
        let controller = AnyController::from(Controller::new("idle", reconcile));
        let running = controller.attach(&informers);
        let cached = Cached::<K>::new(&informers, Scope::all());
        tokio::select! {
            () = informers.run(cluster.client()?) => {}
            () = informers.synced() => {}
        }
        let objects = cached.entries().len();
        let (mut decodes, mut reconciles) = (Cost::most(), Cost::most());
        for _ in 0..rounds {
            let entries = cached.entries();
            let start = Cost::now();
            for entry in &entries {
                std::hint::black_box(entry.decode::<K>()?);
            }
            decodes = decodes.least(start);
            let goal = done.load(Ordering::Relaxed) + objects;
            let all_done = async {
                while done.load(Ordering::Relaxed) < goal {
                    tokio::task::yield_now().await;
                }
            };
            let start = Cost::now();
            running.run(all_done).await;
            reconciles = reconciles.least(start);
        }
        #[expect(clippy::cast_precision_loss, reason = "thousands of objects")]
        let (objects, beside) = (
            objects as f64,
            reconciles.allocations.saturating_sub(decodes.allocations) as f64,
        );
        Ok(Idle {
            per_second: objects / reconciles.time.as_secs_f64(),
            decoded_per_second: objects / decodes.time.as_secs_f64(),
            allocations: beside / objects,
        })
    })
}

/// The same for a typed object and for one of which only the metadata is read.
pub(crate) fn both(cluster: &Cluster) -> Result<[Idle; 2]> {
    Ok([
        idle::<ConfigMap>(cluster, 7)?,
        idle::<PartialObjectMeta<ConfigMap>>(cluster, 7)?,
    ])
}
