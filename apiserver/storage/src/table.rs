//! The objects of one resource, in key order, and the log of what happened to them.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

use crate::event::{Change, Event};
use crate::object::Object;

/// How much of the past each resource's watch log keeps. Beyond it, watchers get 410.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::exhaustive_structs, reason = "the two measures of a log")]
pub struct Limits {
    /// The number of changes.
    pub events: usize,
    /// The size of the objects of these changes, as text.
    pub bytes: usize,
}

/// One resource's objects. Keys are `<namespace>/<name>`, or the name alone: etcd's order.
#[derive(Debug)]
pub(crate) struct Table {
    objects: BTreeMap<String, Arc<Object>>,
    log: VecDeque<Arc<Event>>,
    log_bytes: usize,
    compacted: u64,
    changed: watch::Sender<u64>,
    /// The namespaces that have watches of their own.
    namespaces: HashMap<String, Namespace>,
}

/// What watches of one namespace need to know: changes elsewhere do not wake them, however many there are.
#[derive(Debug)]
struct Namespace {
    changed: watch::Sender<u64>,
    /// The last of its changes that the log has forgotten.
    compacted: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            events: 8192,
            bytes: 32 << 20,
        }
    }
}

impl Table {
    pub(crate) fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
            log: VecDeque::new(),
            log_bytes: 0,
            compacted: 0,
            changed: watch::Sender::new(0),
            namespaces: HashMap::new(),
        }
    }

    /// Returns a table whose log does not have the changes up to a revision.
    pub(crate) fn compacted_at(revision: u64) -> Self {
        Self {
            compacted: revision,
            ..Self::new()
        }
    }

    /// Takes an object that was stored before the log begins.
    pub(crate) fn restore(&mut self, object: Arc<Object>) {
        self.changed.send_if_modified(|changed| {
            *changed = object.revision.max(*changed);
            false
        });
        self.objects.insert(object.path.clone(), object);
    }

    /// Replaces everything by what there is at a revision; how it came to that is not known.
    pub(crate) fn reload(&mut self, objects: BTreeMap<String, Arc<Object>>, revision: u64) {
        self.objects = objects;
        self.log.clear();
        self.log_bytes = 0;
        self.compacted = revision;
        self.changed.send_replace(revision);
        for namespace in self.namespaces.values_mut() {
            namespace.compacted = revision;
            namespace.changed.send_replace(revision);
        }
    }

    pub(crate) fn get(&self, path: &str) -> Option<&Arc<Object>> {
        self.objects.get(path)
    }

    pub(crate) fn record(&mut self, change: Change, object: Arc<Object>, limits: Limits) {
        let revision = object.revision;
        let previous = if change == Change::Deleted {
            self.objects.remove(&object.path)
        } else {
            self.objects.insert(object.path.clone(), object.clone())
        };
        if let Some(namespace) = self.namespaces.get(object.namespace()) {
            namespace.changed.send_replace(revision);
        }
        let event = Event::new(change, object, previous);
        self.log_bytes += event.size();
        self.log.push_back(Arc::new(event));
        while self.log.len() > limits.events || self.log_bytes > limits.bytes {
            self.forget_oldest();
        }
        self.changed.send_replace(revision);
    }

    fn forget_oldest(&mut self) {
        if let Some(event) = self.log.pop_front() {
            self.log_bytes -= event.size();
            self.compacted = event.object.revision;
            if let Some(namespace) = self.namespaces.get_mut(event.object.namespace()) {
                namespace.compacted = self.compacted;
            }
        }
    }

    /// Forgets the changes up to a revision.
    pub(crate) fn forget_until(&mut self, revision: u64) {
        let first = self.log.front();
        let mut oldest = first.map(|event| event.object.revision);
        while oldest.is_some_and(|oldest| oldest <= revision) {
            self.forget_oldest();
            oldest = self.log.front().map(|event| event.object.revision);
        }
    }

    /// The oldest revision whose state can still be told.
    pub(crate) fn compacted(&self) -> u64 {
        self.compacted
    }

    /// The revision of the last change.
    pub(crate) fn changed(&self) -> u64 {
        *self.changed.borrow()
    }

    /// Returns a receiver of the revision of each change in a namespace; of every change if it is empty.
    pub(crate) fn subscribe(&mut self, namespace: &str) -> watch::Receiver<u64> {
        /// From here on, namespaces without watches are looked for.
        const MANY: usize = 1024;
        if namespace.is_empty() {
            return self.changed.subscribe();
        }
        if self.namespaces.len() >= MANY && !self.namespaces.contains_key(namespace) {
            self.namespaces
                .retain(|_, known| known.changed.receiver_count() > 0);
        }
        let new = || Namespace {
            changed: watch::Sender::new(0),
            compacted: self.compacted,
        };
        let known = self.namespaces.entry(namespace.to_owned());
        known.or_insert_with(new).changed.subscribe()
    }

    /// The oldest revision from which a watch of a namespace can go on.
    pub(crate) fn compacted_in(&self, namespace: &str) -> u64 {
        let known = self.namespaces.get(namespace);
        known.map_or(self.compacted, |known| known.compacted)
    }

    /// The changes in a namespace after a revision, about `limit` of them at most, and the revision that they lead to.
    pub(crate) fn events_in(
        &self,
        namespace: &str,
        revision: u64,
        limit: usize,
    ) -> (Vec<Arc<Event>>, u64) {
        if namespace.is_empty() {
            let events = self.events_after(revision, limit);
            let last = events
                .last()
                .map_or(revision, |event| event.object.revision);
            return (events, last);
        }
        let start = self
            .log
            .partition_point(|event| event.object.revision <= revision);
        let mut found = Vec::new();
        let mut last = revision;
        for event in self.log.range(start..) {
            if found.len() >= limit && event.object.revision != last {
                break;
            }
            last = event.object.revision;
            if event.object.namespace() == namespace {
                found.push(event.clone());
            }
        }
        (found, last)
    }

    /// The changes after a revision, about `limit` of them at most: those of one revision are not parted.
    pub(crate) fn events_after(&self, revision: u64, limit: usize) -> Vec<Arc<Event>> {
        let start = self
            .log
            .partition_point(|event| event.object.revision <= revision);
        let mut events = self.log.iter().skip(start).peekable();
        let mut found: Vec<Arc<Event>> = events.by_ref().take(limit).cloned().collect();
        // A transaction of another program on a shared backend makes several changes at once.
        if let Some(last) = found.last().map(|event| event.object.revision) {
            while let Some(event) = events.next_if(|event| event.object.revision == last) {
                found.push(event.clone());
            }
        }
        found
    }

    /// The objects of a range now, and how many more there are behind the limit.
    pub(crate) fn range(
        &self,
        namespace: &str,
        from: &str,
        limit: usize,
    ) -> (Vec<Arc<Object>>, usize) {
        let mut range = self.objects.range::<str, _>(bounds(
            namespace,
            from,
            &mut [String::new(), String::new()],
        ));
        let found: Vec<_> = range
            .by_ref()
            .take(limit)
            .map(|(_, object)| object.clone())
            .collect();
        (found, range.count())
    }

    /// The same as it was at an older revision: the present with everything since then undone.
    pub(crate) fn range_at(
        &self,
        revision: u64,
        namespace: &str,
        from: &str,
        limit: usize,
    ) -> (Vec<Arc<Object>>, usize) {
        let since = self.events_after(revision, usize::MAX);
        if since.is_empty() {
            return self.range(namespace, from, limit);
        }
        let mut ends = [String::new(), String::new()];
        let bounds = bounds(namespace, from, &mut ends);
        let mut then: BTreeMap<&str, &Arc<Object>> = self
            .objects
            .range::<str, _>(bounds)
            .map(|(path, object)| (path.as_str(), object))
            .collect();
        for event in since.iter().rev() {
            let path = event.object.path.as_str();
            if !within(path, bounds) {
                continue;
            }
            match &event.previous {
                Some(previous) => then.insert(path, previous),
                None => then.remove(path),
            };
        }
        let mut range = then.into_values();
        let found: Vec<_> = range.by_ref().take(limit).cloned().collect();
        (found, range.count())
    }
}

type Bounds<'a> = (Bound<&'a str>, Bound<&'a str>);

/// The keys of a namespace (all if it is empty) from a key on.
fn bounds<'a>(namespace: &str, from: &str, ends: &'a mut [String; 2]) -> Bounds<'a> {
    let [start, end] = ends;
    if !namespace.is_empty() {
        *start = format!("{namespace}/");
        *end = format!("{namespace}0");
    }
    if from > start.as_str() {
        from.clone_into(start);
    }
    if !end.is_empty() && start > end {
        start.clone_from(end);
    }
    let upper = if end.is_empty() {
        Bound::Unbounded
    } else {
        Bound::Excluded(end.as_str())
    };
    (Bound::Included(start.as_str()), upper)
}

fn within(path: &str, (lower, upper): Bounds<'_>) -> bool {
    (match lower {
        Bound::Included(start) => path >= start,
        Bound::Excluded(start) => path > start,
        Bound::Unbounded => true,
    }) && (match upper {
        Bound::Included(end) => path <= end,
        Bound::Excluded(end) => path < end,
        Bound::Unbounded => true,
    })
}
