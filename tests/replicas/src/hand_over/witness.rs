//! The writes of the replicas, and the holder of the Lease at each write: both are in one store, whose versions tell the
//! order.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use futures::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client};
use kubewright_controller::Object;
use kubewright_testing::{TestCluster, eventually};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// The namespace of all objects.
pub const NAMESPACE: &str = "default";
/// The ConfigMap that the leader writes.
pub const WITNESS: &str = "witness";
/// The Lease that is passed on.
pub const LEASE: &str = "replicas";

/// Every write, as stored.
#[derive(Debug)]
pub(crate) struct Witness {
    writes: Arc<Mutex<Vec<(u64, String)>>>,
    holders: Arc<Mutex<Vec<(u64, String)>>>,
    /// The last writer, and the time of its watch event.
    latest: watch::Receiver<(String, Instant)>,
    _watches: JoinSet<()>,
}

impl Witness {
    pub(crate) fn of(client: Client) -> Self {
        let (writes, holders): (Arc<Mutex<Vec<_>>>, Arc<Mutex<Vec<_>>>) = Default::default();
        let (sender, latest) = watch::channel((String::new(), Instant::now()));
        let mut watches = JoinSet::new();
        let kept = Arc::clone(&writes);
        watches.spawn(follow(client.clone(), WITNESS, move |map: ConfigMap| {
            let Some(writer) = map.data.as_ref().and_then(|data| data.get("writer")) else {
                return;
            };
            keep(&kept, version(&map), writer);
            sender.send_replace((writer.clone(), Instant::now()));
        }));
        let kept = Arc::clone(&holders);
        watches.spawn(follow(client, LEASE, move |lease: Lease| {
            let holder = lease
                .spec
                .as_ref()
                .and_then(|spec| spec.holder_identity.as_deref());
            keep(&kept, version(&lease), holder.unwrap_or_default());
        }));
        Self {
            writes,
            holders,
            latest,
            _watches: watches,
        }
    }

    /// The last writer.
    pub(crate) fn writer(&self) -> String {
        self.latest.borrow().0.clone()
    }

    /// Waits until another replica writes, and returns the time of its write.
    pub(crate) async fn next_writer(&mut self, before: &str) -> Result<Instant> {
        let other = self
            .latest
            .wait_for(|(writer, _)| !writer.is_empty() && writer != before);
        let heard = tokio::time::timeout(TIMEOUT, other).await;
        let heard = heard
            .context("no replica leads")?
            .context("the watch has ended")?;
        Ok(heard.1)
    }

    /// Checks that every writer held the Lease when it wrote, and returns the numbers of writers and of writes.
    pub(crate) async fn verdict(&self, cluster: &TestCluster) -> Result<(usize, usize)> {
        let last = cluster
            .get::<ConfigMap>(WITNESS)
            .await
            .context("no witness")?;
        heard(&self.writes, version(&last)).await;
        let last = cluster.get::<Lease>(LEASE).await.context("no Lease")?;
        heard(&self.holders, version(&last)).await;
        let holders = self
            .holders
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let writes = self
            .writes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut writers = BTreeSet::new();
        for (at, writer) in &writes {
            let earlier = holders.partition_point(|(lease, _)| lease < at);
            let holder = earlier
                .checked_sub(1)
                .map(|place| holders[place].1.as_str());
            ensure!(
                holder == Some(writer),
                "{writer} wrote while {holder:?} held the Lease"
            );
            writers.insert(writer);
        }
        Ok((writers.len(), writes.len()))
    }
}

async fn follow<K>(client: Client, name: &str, mut hear: impl FnMut(K))
where
    K: Object + kube::Resource<Scope = kube::core::NamespaceResourceScope>,
{
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut events = Box::pin(watcher(Api::namespaced(client, NAMESPACE), only));
    while let Some(event) = events.next().await {
        if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
            hear(object);
        }
    }
}

fn keep(kept: &Mutex<Vec<(u64, String)>>, version: u64, name: &str) {
    let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
    kept.push((version, name.to_owned()));
}

async fn heard(kept: &Mutex<Vec<(u64, String)>>, version: u64) {
    eventually("the last write", async || {
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.last()?.0 >= version).then_some(())
    })
    .await;
}

fn version<K: Object>(object: &K) -> u64 {
    let version = object.meta().resource_version.as_deref();
    version
        .and_then(|version| version.parse().ok())
        .unwrap_or_default()
}

const TIMEOUT: Duration = Duration::from_secs(20);
