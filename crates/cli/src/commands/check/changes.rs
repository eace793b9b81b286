//! When files change.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::failure::Outcome;

/// Watches files and directories.
#[derive(Debug)]
pub(super) struct Changes {
    _watcher: RecommendedWatcher,
    seen: Arc<Notify>,
}

impl Changes {
    /// Begins to watch these files, and these directories with all that is below.
    pub(super) fn of<'a>(paths: impl Iterator<Item = &'a PathBuf>) -> Outcome<Self> {
        let describe = |path: &Path| format!("cannot watch {}", path.display());
        let mut watched = Vec::new();
        for path in paths {
            let canonical = path.canonicalize().with_context(|| describe(path))?;
            watched.push(canonical);
        }
        let (seen, own) = (Arc::new(Notify::new()), watched.clone());
        let notify = Arc::clone(&seen);
        let watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            let is_watched = |path: &PathBuf| own.iter().any(|watched| path.starts_with(watched));
            if let Ok(event) = event
                && !event.kind.is_access()
                && event.paths.iter().any(is_watched)
            {
                notify.notify_one();
            }
        });
        let mut watcher = watcher.context("cannot watch files")?;
        for path in &watched {
            // An editor replaces a file, and what is watched is what was there before.
            let (folder, mode) = match path.parent() {
                Some(parent) if !path.is_dir() => (parent, RecursiveMode::NonRecursive),
                _ => (path.as_path(), RecursiveMode::Recursive),
            };
            watcher
                .watch(folder, mode)
                .with_context(|| describe(path))?;
        }
        Ok(Self {
            _watcher: watcher,
            seen,
        })
    }

    /// Waits for a change, and until nothing more has changed for a moment.
    ///
    /// # Cancel safety
    /// Dropping the future may lose a change.
    pub(super) async fn next(&mut self) {
        self.seen.notified().await;
        while timeout(QUIET, self.seen.notified()).await.is_ok() {}
    }
}

/// For how long nothing must change: an editor writes several files, and a file in several steps.
const QUIET: Duration = Duration::from_millis(100);
