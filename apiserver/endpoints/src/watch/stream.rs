//! A running watch: waits for changes, the next bookmark or its end, and never polls.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use futures::stream;
use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_storage::{Change, Event, Object, OutOfRange, Watcher};
use tokio::sync::watch;
use tokio::time::{Duration, Instant, Interval, MissedTickBehavior, Sleep};

use super::shape::{Shape, no_object_fits, written};
use crate::body::Events;
use crate::rest::call::Call;
use crate::rest::selection::Selection;

/// A watch that lasts no longer has no bookmark at its end.
const SHORT: Duration = Duration::from_secs(2);

/// One client's watch.
#[derive(Debug)]
pub(super) struct Stream {
    call: Call,
    selection: Selection,
    shape: Shape,
    form: Option<Arc<str>>,
    watcher: Watcher,
    lines: VecDeque<Bytes>,
    ends: Pin<Box<Sleep>>,
    bookmarks: Option<Interval>,
    /// Whether there is a bookmark before the end: the real server sends it two seconds before that.
    is_long: bool,
    stopped: watch::Receiver<bool>,
    /// Becomes true when the objects are served by other rules; none for built-in kinds.
    replaced: Option<watch::Receiver<bool>>,
    over: bool,
}

impl Stream {
    pub(super) fn new(
        call: Call,
        selection: Selection,
        shape: Shape,
        watcher: Watcher,
        lines: VecDeque<Bytes>,
        ends: Instant,
        bookmarks: bool,
    ) -> Self {
        const BOOKMARKS_EVERY: Duration = Duration::from_mins(1);
        let bookmarks = bookmarks.then(|| {
            let first = Instant::now() + BOOKMARKS_EVERY;
            let mut interval = tokio::time::interval_at(first, BOOKMARKS_EVERY);
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            interval
        });
        let stopped = call.stopped.clone();
        let custom = Custom::of(&call.resource);
        let replaced = custom.map(|custom| custom.definition.replaced.subscribe());
        Self {
            form: shape.form(&call),
            call,
            selection,
            shape,
            watcher,
            lines,
            ends: Box::pin(tokio::time::sleep_until(ends)),
            bookmarks,
            is_long: ends.saturating_duration_since(Instant::now()) > SHORT,
            stopped,
            replaced,
            over: false,
        }
    }

    /// Lets a bookmark be the last event, however short the watch is.
    pub(super) fn end_with_bookmark(&mut self) {
        self.is_long = true;
    }

    /// Lets nothing follow the lines that are there.
    pub(super) fn end(&mut self) {
        self.over = true;
    }

    /// The stream of lines.
    pub(super) fn into_events(self) -> Events {
        Box::pin(stream::unfold(self, async |mut watch| {
            let line = watch.next().await?;
            Some((line, watch))
        }))
    }

    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(line) = self.lines.pop_front() {
                return Some(line);
            }
            if self.over || *self.stopped.borrow() {
                return None;
            }
            // Every arm only waits; dropping one loses nothing.
            tokio::select! {
                biased;
                events = self.watcher.next() => self.take(events).await,
                () = &mut self.ends => {
                    self.over = true;
                    if self.bookmarks.is_some() && self.is_long {
                        self.bookmark();
                    }
                }
                () = tick(&mut self.bookmarks) => self.bookmark(),
                _ = self.stopped.changed() => self.over = true,
                () = becomes_true(&mut self.replaced) => self.over = true,
            }
        }
    }

    async fn take(&mut self, events: std::result::Result<Vec<Arc<Event>>, OutOfRange>) {
        let lines = match events {
            Ok(events) => self.add_all(&events).await,
            Err(OutOfRange::TooOld { oldest }) => Err(Status::expired(format!(
                "too old resource version: {} ({oldest})",
                self.watcher.seen()
            ))),
            Err(OutOfRange::TooNew { current }) => Err(Status::expired(format!(
                "too large resource version, current: {current}"
            ))),
        };
        if let Err(status) = lines {
            let failure = written(&self.call, "ERROR", &status.to_value());
            self.lines.push_back(failure);
            self.over = true;
        }
    }

    async fn add_all(&mut self, events: &[Arc<Event>]) -> Result<()> {
        for event in events {
            self.add(event).await?;
        }
        Ok(())
    }

    async fn add(&mut self, event: &Event) -> Result<()> {
        let call = &self.call;
        if !self.concerns(&event.object) {
            return Ok(());
        }
        let (before, now) = if self.selection.is_empty() {
            (event.previous.is_some(), event.change != Change::Deleted)
        } else {
            let before = match &event.previous {
                Some(previous) => self.selection.matches(call, previous).await,
                None => false,
            };
            let now = event.change != Change::Deleted;
            (
                before,
                now && self.selection.matches(call, &event.object).await,
            )
        };
        if !before && !now {
            return Ok(());
        }
        if no_object_fits(call) {
            self.over = true;
            return Ok(());
        }
        let line = match (before, now, &event.previous) {
            (true, false, Some(previous)) if event.change != Change::Deleted => {
                let revision = event.object.revision;
                self.shape
                    .line_at(call, Change::Deleted, previous, revision)
                    .await?
            }
            (false, true, _) if event.change == Change::Modified => {
                self.shape.line(call, Change::Added, &event.object).await?
            }
            _ => {
                let form = self.form.as_ref();
                self.shape.event(call, event, form).await?
            }
        };
        self.lines.push_back(line);
        Ok(())
    }

    fn concerns(&self, object: &Object) -> bool {
        let path = &self.call.path;
        let in_namespace = !self.call.resource.namespaced
            || path.namespace.is_empty()
            || path.namespace == object.namespace();
        in_namespace && self.call.is_for(object.name())
    }

    fn bookmark(&mut self) {
        if no_object_fits(&self.call) {
            self.over = true;
        } else if let Some(revision) = self.watcher.progress() {
            let line = self.shape.bookmark(&self.call, revision, false);
            self.lines.push_back(line);
        }
    }
}

async fn becomes_true(told: &mut Option<watch::Receiver<bool>>) {
    match told {
        // If the sender is dropped, the wait ends with an error: the value cannot become true any more.
        Some(told) => drop(told.wait_for(|told| *told).await),
        None => std::future::pending().await,
    }
}

async fn tick(interval: &mut Option<Interval>) {
    match interval {
        Some(interval) => {
            interval.tick().await;
        }
        None => std::future::pending().await,
    }
}
