//! The writes of the replicas, and who held which shards at each: both are in one store, whose versions tell the order.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt as _;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::Value;
use tokio::task::JoinSet;

use super::names::{LABEL, LEASE, NAMESPACE, SEEN, SHARDS, WRITER};

/// Every write and every roster, as stored.
#[derive(Debug)]
pub(super) struct Witness {
    seen: Arc<Mutex<Seen>>,
    _watches: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Seen {
    /// What each object was last seen to say, and who wrote it.
    latest: BTreeMap<String, (String, String)>,
    writes: Vec<Write>,
    rosters: BTreeMap<u64, Value>,
}

#[derive(Debug)]
struct Write {
    version: u64,
    object: String,
    writer: String,
}

impl Witness {
    pub(super) fn of(client: Client) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let mut watches = JoinSet::new();
        let (maps, leases) = (
            Api::<ConfigMap>::namespaced(client.clone(), NAMESPACE),
            Api::<Lease>::namespaced(client, NAMESPACE),
        );
        let kept = Arc::clone(&seen);
        watches.spawn(async move {
            let mut events = Box::pin(watcher(maps, watcher::Config::default().labels(LABEL)));
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(map)) = event {
                    kept.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .write(&map);
                }
            }
        });
        let kept = Arc::clone(&seen);
        watches.spawn(async move {
            let only = watcher::Config::default().fields(&format!("metadata.name={LEASE}"));
            let mut events = Box::pin(watcher(leases, only));
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(lease) | Event::InitApply(lease)) = event {
                    kept.lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .share(&lease);
                }
            }
        });
        Self {
            seen,
            _watches: watches,
        }
    }

    /// How many writes there were.
    pub(super) fn writes(&self) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.writes.len()
    }

    /// How many writes came from a replica that did not hold the shard of the object.
    pub(super) fn doubled(&self) -> usize {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let is_doubled = |write: &&Write| {
            let roster = seen.rosters.range(..write.version).next_back();
            let shards = roster.map(|(_, roster)| &roster[&write.writer]["shards"]);
            let shards = shards.and_then(Value::as_array);
            let shard = Value::from(shard(&write.object));
            !shards.is_some_and(|shards| shards.contains(&shard))
        };
        seen.writes.iter().filter(is_doubled).count()
    }
}

impl Seen {
    fn write(&mut self, map: &ConfigMap) {
        let said = map.data.as_ref().and_then(|data| {
            let (seen, writer) = (data.get(SEEN)?, data.get(WRITER)?);
            Some((seen.clone(), writer.clone()))
        });
        let Some(said) = said else { return };
        let (object, writer) = (map.name_any(), said.1.clone());
        if self.latest.insert(object.clone(), said.clone()) != Some(said) {
            self.writes.push(Write {
                version: version(map.resource_version()),
                object,
                writer,
            });
        }
    }

    fn share(&mut self, lease: &Lease) {
        let roster = lease.annotations().get("kubewright.dev/shards");
        let roster = roster.and_then(|roster| serde_json::from_str(roster).ok());
        let version = version(lease.resource_version());
        self.rosters.insert(version, roster.unwrap_or_default());
    }
}

fn version(version: Option<String>) -> u64 {
    let version = version.and_then(|version| version.parse().ok());
    version.unwrap_or_default()
}

/// The shard of an object, computed here again, so that a replica that computes another one is found out.
fn shard(object: &str) -> u64 {
    let text = [NAMESPACE, "\0", object].concat();
    let mut hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53_u64] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    (hash ^ (hash >> 33)) % u64::from(SHARDS)
}
