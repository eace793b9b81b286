//! File events for one directory, with a poll as the safety net.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::Notify;
use tokio::time::error::Elapsed;

/// How often to look when no events can come: the directory is not there yet, or the system has no watches left.
const WITHOUT_EVENTS: Duration = Duration::from_secs(1);

/// Tells when something in a directory may have changed.
pub(super) struct Watch {
    dir: PathBuf,
    watcher: Option<RecommendedWatcher>,
    shared: Arc<Shared>,
    is_armed: bool,
}

#[derive(Default)]
struct Shared {
    changed: Notify,
    /// The directory itself was deleted or moved: its watch follows the old one.
    lost: AtomicBool,
}

impl Watch {
    pub(super) fn of(dir: PathBuf) -> Self {
        Self {
            dir,
            watcher: None,
            shared: Arc::default(),
            is_armed: false,
        }
    }

    /// Starts watching, or starts again if the directory was replaced.
    pub(super) fn arm(&mut self) {
        let lost = self.shared.lost.swap(false, Ordering::Relaxed);
        if self.is_armed && !lost {
            return;
        }
        if self.watcher.is_none() {
            self.watcher = start(&self.dir, Arc::clone(&self.shared));
        }
        self.is_armed = self.watcher.as_mut().is_some_and(|watcher| {
            watcher
                .watch(&self.dir, RecursiveMode::NonRecursive)
                .is_ok()
        });
    }

    /// Waits for an event, and at most for `poll`: an error says that there was none.
    pub(super) async fn changed(&mut self, poll: Duration) -> Result<(), Elapsed> {
        let patience = if self.is_armed {
            poll
        } else {
            poll.min(WITHOUT_EVENTS)
        };
        let outcome = tokio::time::timeout(patience, self.shared.changed.notified()).await;
        if outcome.is_err() {
            self.shared.lost.store(true, Ordering::Relaxed);
        }
        outcome
    }
}

fn start(dir: &Path, shared: Arc<Shared>) -> Option<RecommendedWatcher> {
    let dir = dir.to_owned();
    let watcher = notify::recommended_watcher(move |event: notify::Result<Event>| {
        match event {
            // Our own reading makes events too.
            Ok(event) if is_reading(event.kind) => return,
            Ok(event) if event.paths.iter().all(|path| *path != dir) => {}
            Ok(_) | Err(_) => shared.lost.store(true, Ordering::Relaxed),
        }
        shared.changed.notify_one();
    });
    match watcher {
        Ok(watcher) => Some(watcher),
        Err(error) => {
            tracing::warn!(%error, "no file events; the certificate is looked at every second");
            None
        }
    }
}

fn is_reading(kind: EventKind) -> bool {
    matches!(kind, EventKind::Access(access) if access != AccessKind::Close(AccessMode::Write))
}
