//! A configuration file that is followed while the program runs.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::str::Utf8Error;
use std::sync::Arc;
use std::time::Duration;

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use serde::de::DeserializeOwned;
use tokio::io::AsyncReadExt;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::{Live, yaml};

/// Why a configuration file cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file is there and cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is larger than what is read.
    #[error("{} is larger than {} KiB", path.display(), LARGEST / 1024)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// The file is not text.
    #[error("{} is not UTF-8 text", path.display())]
    NotText {
        /// The file.
        path: PathBuf,
        /// Where it stops to be text.
        source: Utf8Error,
    },
    /// The file is not YAML, or not what the program's type wants.
    #[error("cannot decode {}", path.display())]
    Decode {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: Box<dyn Error + Send + Sync>,
    },
}

/// Something that is loaded before a program serves and followed while it does.
pub(crate) trait Followed: Send {
    /// Reads the current state.
    fn load(&mut self) -> BoxFuture<'_, Result<(), FileError>>;

    /// Follows every later change, until it is dropped.
    fn follow(self: Box<Self>) -> BoxFuture<'static, ()>;
}

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The sending side of a [`Live`] value whose source is a file.
pub(crate) struct File<T> {
    path: PathBuf,
    values: watch::Sender<Arc<T>>,
    seen: Seen,
}

impl<T> File<T> {
    pub(crate) fn new(path: PathBuf, default: T) -> (Self, Live<T>) {
        let (values, live) = Live::channel(default);
        (
            Self {
                path,
                values,
                seen: Seen::Missing,
            },
            live,
        )
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> Followed for File<T> {
    fn load(&mut self) -> BoxFuture<'_, Result<(), FileError>> {
        Box::pin(async {
            self.seen = read(&self.path).await?;
            match &self.seen {
                Seen::Missing => {
                    tracing::info!(path = %self.path.display(), "no configuration file yet: the default holds");
                }
                Seen::Content(bytes) => {
                    self.values
                        .send_replace(Arc::new(decode(&self.path, bytes)?));
                }
            }
            Ok(())
        })
    }

    fn follow(self: Box<Self>) -> BoxFuture<'static, ()> {
        Box::pin(self.follow_changes())
    }
}

impl<T: DeserializeOwned + Send + Sync + 'static> File<T> {
    async fn follow_changes(mut self) {
        let touched = Arc::new(Notify::new());
        let mut unreadable = false;
        let mut watcher = None;
        loop {
            // The directory may come (again) later than the program.
            if watcher.is_none() {
                watcher = watch_directory(&self.path, &touched);
            }
            match read(&self.path).await {
                Ok(seen) if seen != self.seen => {
                    unreadable = false;
                    self.take(seen);
                }
                Ok(_) => unreadable = false,
                Err(error) if !unreadable => {
                    unreadable = true;
                    warn(&error);
                }
                Err(_) => {}
            }
            if timeout(POLL, touched.notified()).await.is_ok() {
                settle(&touched).await;
            }
        }
    }

    fn take(&mut self, seen: Seen) {
        match &seen {
            Seen::Missing => {
                tracing::warn!(path = %self.path.display(), "configuration file is gone: its last good content holds");
            }
            Seen::Content(bytes) => match decode(&self.path, bytes) {
                Ok(value) => {
                    self.values.send_replace(Arc::new(value));
                    tracing::info!(path = %self.path.display(), "configuration file was reloaded");
                }
                Err(error) => warn(&error),
            },
        }
        self.seen = seen;
    }
}

/// What was last found under the path, whether it could be used or not: a bad file is warned of
/// once, not at every look.
#[derive(PartialEq)]
enum Seen {
    Missing,
    Content(Vec<u8>),
}

async fn read(path: &Path) -> Result<Seen, FileError> {
    let failed = |source| FileError::Read {
        path: path.to_owned(),
        source,
    };
    let file = match tokio::fs::File::open(path).await {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Seen::Missing),
        Err(error) => return Err(failed(error)),
    };
    let mut content = Vec::new();
    file.take(LARGEST + 1)
        .read_to_end(&mut content)
        .await
        .map_err(failed)?;
    if content.len() as u64 > LARGEST {
        return Err(FileError::TooLarge {
            path: path.to_owned(),
        });
    }
    Ok(Seen::Content(content))
}

fn decode<T: DeserializeOwned>(path: &Path, bytes: &[u8]) -> Result<T, FileError> {
    let text = std::str::from_utf8(bytes).map_err(|source| FileError::NotText {
        path: path.to_owned(),
        source,
    })?;
    let document = yaml::decode(text).map_err(|source| FileError::Decode {
        path: path.to_owned(),
        source: Box::new(source),
    })?;
    for field in document.unknown {
        tracing::warn!(path = %path.display(), field, "configuration file has a field that is not known: it has no effect");
    }
    Ok(document.value)
}

fn warn(error: &FileError) {
    let cause = error.source().map(ToString::to_string);
    tracing::warn!(cause, "{error}: the last good configuration holds");
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

/// The API server refuses larger ConfigMaps and Secrets.
const LARGEST: u64 = 1024 * 1024;

/// How long nothing must happen to a file before it is read.
const QUIET: Duration = Duration::from_millis(20);

/// How often a file is looked at where no event tells of a change (network file systems, links
/// into other directories, a machine without free inotify watches).
const POLL: Duration = Duration::from_secs(10);

#[cfg(test)]
mod tests;
