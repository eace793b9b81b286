//! Compaction at intervals: what happened before the last but one is forgotten.

use std::sync::Weak;

use tokio::time::{Duration, sleep};

use crate::store::Store;

/// Forgets the past as a real server has etcd forget it: every change is kept for one interval at least, and for two at most.
///
/// Ends with the store. The past of a shared backend is forgotten by the backend: one of its servers sees to it.
pub async fn compact_every(interval: Duration, store: Weak<Store>) {
    let opened = store.upgrade();
    if let Some(shared) = opened.as_ref().and_then(|opened| opened.shared()) {
        return shared.compact_every(interval);
    }
    drop(opened);
    let mut last = None;
    loop {
        sleep(interval).await;
        let Some(store) = store.upgrade() else {
            return;
        };
        if let Some(revision) = last.replace(store.revision()) {
            store.compact(revision);
        }
    }
}
