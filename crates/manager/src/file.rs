//! A configuration file that is followed while the program runs.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::Live;
use crate::configuration::{BoxFuture, ConfigurationError, Followed, LARGEST, Seen, Source, State};

/// A file as the source of a [`Live`] value.
pub(crate) struct File<T> {
    path: PathBuf,
    source: Source<T>,
}

impl<T: DeserializeOwned> File<T> {
    pub(crate) fn new(path: PathBuf, default: T) -> (Self, Live<T>) {
        let (source, live) = Source::yaml(path.display().to_string(), default);
        (Self { path, source }, live)
    }
}

impl<T: Send + Sync + 'static> Followed for File<T> {
    fn load<'a>(
        &'a mut self,
        _: Option<&'a Client>,
    ) -> BoxFuture<'a, Result<(), ConfigurationError>> {
        Box::pin(async {
            let seen = read(&self.path).await?;
            self.source.begin(seen)
        })
    }

    fn follow(self: Box<Self>, _: Option<Client>) -> BoxFuture<'static, ()> {
        Box::pin(self.follow_changes())
    }

    fn state(&self) -> Arc<State> {
        self.source.state()
    }
}

impl<T> File<T> {
    async fn follow_changes(mut self) {
        let touched = Arc::new(Notify::new());
        let mut watcher = None;
        loop {
            // The directory may come (again) later than the program.
            if watcher.is_none() {
                watcher = watch_directory(&self.path, &touched);
            }
            match read(&self.path).await {
                Ok(seen) => self.source.take(seen),
                Err(error) => self.source.cannot_read(&error),
            }
            if timeout(POLL, touched.notified()).await.is_ok() {
                settle(&touched).await;
            }
        }
    }
}

async fn read(path: &Path) -> Result<Seen, ConfigurationError> {
    let failed = |source: io::Error| ConfigurationError::Read {
        place: path.display().to_string(),
        source: source.into(),
    };
    let file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seen::Missing),
        Err(error) => return Err(failed(error)),
    };
    let mut content = Vec::new();
    // One byte more than can be used shows that there is more.
    file.take(LARGEST + 1)
        .read_to_end(&mut content)
        .await
        .map_err(failed)?;
    Ok(Seen::Content(content))
}

/// Watches the directory and not the file: the kubelet never writes to a mounted ConfigMap's
/// file, it renames a new `..data` link over the old one beside it.
fn watch_directory(path: &Path, touched: &Arc<Notify>) -> Option<RecommendedWatcher> {
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let waker = Arc::clone(touched);
    let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
        // Our own reads are events too; answering them with a read would never end.
        if !event.is_ok_and(|event| event.kind.is_access()) {
            waker.notify_one();
        }
    })
    .ok()?;
    watcher.watch(directory, RecursiveMode::NonRecursive).ok()?;
    Some(watcher)
}

/// Waits until nothing was touched for a moment, so that a file that is written in place is not
/// read in the middle: half a YAML document is often a whole one.
async fn settle(touched: &Notify) {
    sleep(QUIET).await;
    for _ in 0..20 {
        if timeout(QUIET, touched.notified()).await.is_err() {
            return;
        }
    }
}

/// How long nothing must happen to a file before it is read.
const QUIET: Duration = Duration::from_millis(20);

/// How often a file is looked at where no event tells of a change (network file systems, links
/// into other directories, a machine without free inotify watches).
const POLL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
