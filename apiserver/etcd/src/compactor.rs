//! Compaction of etcd at intervals: of several servers, one compacts.

use std::sync::Arc;

use kubewright_storage::Feed;
use tokio::time::{Duration, sleep};

use crate::client::Client;
use crate::grpc::CallError;
use crate::message::{Compare, Then};

/// The key by which API servers agree who compacts, and its name in kube-apiserver. Its version counts the intervals.
const KEY: &[u8] = b"compact_rev_key";

/// What a server knows of the last interval.
#[derive(Clone, Copy, Debug, Default)]
struct Interval {
    version: u64,
    revision: u64,
}

/// Keeps every change for one interval at least, and for two at most.
pub(crate) async fn compact_every(client: Arc<Client>, interval: Duration, feed: Feed) {
    let mut last = Interval::default();
    loop {
        sleep(interval).await;
        match compact(&client, last, &feed).await {
            Ok(now) => last = now,
            Err(error) => tracing::warn!(%error, "etcd was not compacted"),
        }
    }
}

/// Compacts up to the revision of the last interval, unless another server has done so in this one.
async fn compact(client: &Client, last: Interval, feed: &Feed) -> Result<Interval, CallError> {
    let revision = last.revision.to_string();
    let compare = Compare::Version(last.version);
    let then = Then::Put(revision.as_bytes());
    let outcome = client.txn(KEY, compare, then).await?;
    let now = Interval {
        version: last.version + 1,
        revision: outcome.revision,
    };
    if let Some(found) = outcome.found.filter(|_| !outcome.succeeded) {
        let compacted = std::str::from_utf8(&found.value).ok();
        if let Some(compacted) = compacted.and_then(|text| text.parse().ok()) {
            feed.compact(compacted);
        }
        let version = found.version;
        return Ok(Interval { version, ..now });
    }
    if outcome.succeeded && last.revision > 0 {
        client.compact(last.revision).await?;
        feed.compact(last.revision);
    }
    Ok(now)
}
