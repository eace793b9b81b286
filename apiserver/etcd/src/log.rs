//! The log of changes: a watch of all keys that goes on where it was interrupted.

use std::sync::Arc;

use kubewright_storage::{BackendError, Entry, Feed, Loaded};
use tokio::time::{Duration, sleep};

use crate::client::{Client, Watching};
use crate::grpc::CallError;
use crate::message::{Event, KeyValue, Range};

/// How long to wait before a broken watch begins anew.
const PAUSE: Duration = Duration::from_millis(100);

/// The number of entries that are read at a time.
const PAGE: u64 = 10_000;

/// The keys of one cluster, in etcd.
#[derive(Clone, Debug)]
pub(crate) struct Keys {
    /// With a slash at its end.
    prefix: String,
    /// Behind all keys.
    end: String,
}

/// The end of a watch.
enum Ended {
    Broken(CallError),
    /// etcd no longer has all changes since it was interrupted.
    Compacted,
}

impl From<CallError> for Ended {
    fn from(error: CallError) -> Self {
        Self::Broken(error)
    }
}

impl Keys {
    pub(crate) fn new(prefix: &str) -> Self {
        Self {
            prefix: format!("{prefix}/"),
            // The character after the slash.
            end: format!("{prefix}0"),
        }
    }

    pub(crate) fn of(&self, key: &str) -> Vec<u8> {
        [self.prefix.as_bytes(), key.as_bytes()].concat()
    }

    /// A range that finds nothing: what matters is the revision of its response.
    pub(crate) fn nothing(&self) -> Range<'_> {
        Range {
            key: self.prefix.as_bytes(),
            count_only: true,
            ..Range::default()
        }
    }

    fn entry(&self, change: KeyValue, is_delete: bool) -> Entry {
        let key = change.key.strip_prefix(self.prefix.as_bytes());
        Entry {
            key: String::from_utf8_lossy(key.unwrap_or(&change.key)).into_owned(),
            value: (!is_delete).then_some(change.value),
            revision: change.mod_revision,
        }
    }
}

/// Reads all entries at the present revision.
pub(crate) async fn load(client: &Client, keys: &Keys) -> Result<Loaded, CallError> {
    let mut loaded = Loaded::default();
    let mut from = keys.prefix.clone().into_bytes();
    loop {
        let range = Range {
            key: &from,
            end: keys.end.as_bytes(),
            limit: PAGE,
            revision: loaded.revision,
            count_only: false,
        };
        let page = client.range(&range).await?;
        if loaded.revision == 0 {
            loaded.revision = page.revision;
        }
        if let Some(last) = page.entries.last() {
            from = [&last.key[..], &[0]].concat();
        }
        let entries = page.entries.into_iter();
        loaded
            .entries
            .extend(entries.map(|entry| keys.entry(entry, false)));
        if !page.more {
            return Ok(loaded);
        }
    }
}

/// Tells a feed every change after a revision.
pub(crate) async fn follow(client: Arc<Client>, keys: Keys, mut after: u64, feed: Feed) {
    loop {
        let ended = match begin(&client, &keys, after).await {
            Ok(watching) => pass_on(watching, &keys, &mut after, &feed).await,
            Err(error) => error.into(),
        };
        match ended {
            Ended::Broken(error) => {
                tracing::warn!(%error, "the watch of etcd was interrupted and begins again");
            }
            Ended::Compacted => match reload(&client, &keys, &feed).await {
                Ok(revision) => {
                    after = revision;
                    continue;
                }
                Err(error) => {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    tracing::error!(%error, cause, "the objects in etcd cannot be read again");
                }
            },
        }
        sleep(PAUSE).await;
    }
}

async fn begin(client: &Client, keys: &Keys, after: u64) -> Result<Watching, CallError> {
    let (from, end) = (keys.prefix.as_bytes(), keys.end.as_bytes());
    client.watch(from, end, after + 1).await
}

async fn pass_on(mut watching: Watching, keys: &Keys, after: &mut u64, feed: &Feed) -> Ended {
    let mut events: Vec<Event> = Vec::new();
    loop {
        let response = match watching.next().await {
            Ok(Some(response)) => response,
            Ok(None) => {
                let why = "the stream has ended".to_owned();
                return CallError::Lost(why).into();
            }
            Err(error) => return error.into(),
        };
        if response.compact_revision > 0 {
            return Ended::Compacted;
        }
        if response.canceled {
            return CallError::Refused(response.cancel_reason).into();
        }
        let is_progress = events.is_empty() && response.events.is_empty() && !response.created;
        events.extend(response.events);
        if response.fragment || (events.is_empty() && !is_progress) {
            continue;
        }
        // Behind changes, the header may be ahead of what was sent.
        let last = events.last().map(|event| event.entry.mod_revision);
        let revision = last.unwrap_or(response.revision);
        let entries = events.drain(..);
        let entries: Vec<Entry> = entries
            .map(|event| keys.entry(event.entry, event.is_delete))
            .collect();
        for error in feed.change(&entries, revision) {
            tracing::error!(%error, "a change in etcd is left out");
        }
        *after = revision.max(*after);
    }
}

async fn reload(client: &Client, keys: &Keys, feed: &Feed) -> Result<u64, BackendError> {
    let failed = |error: CallError| BackendError::new("reading the objects in etcd", error);
    let loaded = load(client, keys).await.map_err(failed)?;
    feed.reload(&loaded)?;
    Ok(loaded.revision)
}
