//! A snapshot: everything that a store holds, at one revision, as a file.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;
use thiserror::Error;

use crate::backend::{Backend, BackendError, Contents, Write};
use crate::initial::InitialObjects;
use crate::object::{Draft, Object};
use crate::state::split;
use crate::store::Store;

/// Everything that a store holds, at one revision.
///
/// Its bytes are text: a line with the revision, the number of objects and a checksum, and a line for each object: its resource,
/// its path, and what a [`Backend`] keeps of it, with tabs between them.
///
/// A store that begins with it decodes the objects of a resource when the resource is first asked for, so that it starts at
/// once. Watches from before the snapshot are answered with 410: the past is not part of it.
///
/// ```
/// use std::sync::Arc;
///
/// use kubewright_storage::{Draft, Limits, Snapshot, Store};
/// use serde_json::json;
///
/// let store = Arc::new(Store::new(Limits::default()));
/// let web = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "web"}});
/// let created = store.create("configmaps", "default/web", Draft::new(&web))?;
///
/// let file = Snapshot::of(&store).into_bytes();
/// let again = Store::with_initial_objects(Limits::default(), Snapshot::read(file)?);
/// assert_eq!(again.get("configmaps", "default/web").unwrap().body(), created.body());
/// assert_eq!(again.revision(), store.revision());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Snapshot {
    revision: u64,
    bytes: Bytes,
    /// The lines of each resource.
    resources: BTreeMap<String, Vec<Range<usize>>>,
}

/// Why a file is not a snapshot.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "it is another file, or it is damaged"
)]
pub enum SnapshotError {
    /// It does not begin as one.
    #[error("it is not a snapshot of kubewright")]
    Foreign,
    /// It is cut short, or has been changed.
    #[error("it is damaged: its checksum is not that of its objects")]
    Damaged,
}

const MAGIC: &str = "kubewright-snapshot/v1";

impl Snapshot {
    /// Takes a snapshot of a store.
    pub fn of(store: &Arc<Store>) -> Self {
        let (revision, tables) = store.everything();
        let objects = tables.iter().flat_map(|(resource, objects)| {
            let kept = move |object: &Arc<Object>| {
                (format!("{resource}/{}", object.path), object.to_kept())
            };
            objects.iter().map(kept)
        });
        Self::of_entries(revision, objects)
    }

    /// Takes a snapshot of what a backend holds.
    ///
    /// # Errors
    /// The backend holds entries that no store has written.
    pub fn of_contents(contents: Contents) -> Result<Self, BackendError> {
        for (key, _) in &contents.entries {
            split(key)?;
        }
        Ok(Self::of_entries(
            contents.revision,
            contents.entries.into_iter(),
        ))
    }

    /// Makes a snapshot of objects: the resource, the path and the revision of each, and the object.
    pub fn of_objects(
        revision: u64,
        objects: impl Iterator<Item = (String, String, u64, Value)>,
    ) -> Self {
        let entries = objects.map(|(resource, path, revision, object)| {
            let key = format!("{resource}/{path}");
            (key, Draft::new(&object).at(path, revision).to_kept())
        });
        Self::of_entries(revision, entries)
    }

    fn of_entries(revision: u64, entries: impl Iterator<Item = (String, Vec<u8>)>) -> Self {
        let mut lines = Vec::new();
        let mut count = 0_usize;
        for (key, kept) in entries {
            let (resource, path) = key.split_once('/').unwrap_or((&key, ""));
            for part in [
                resource.as_bytes(),
                b"\t",
                path.as_bytes(),
                b"\t",
                &kept,
                b"\n",
            ] {
                lines.extend_from_slice(part);
            }
            count += 1;
        }
        let mut bytes =
            format!("{MAGIC}\t{revision}\t{count}\t{:016x}\n", checksum(&lines)).into_bytes();
        bytes.append(&mut lines);
        let bytes = Bytes::from(bytes);
        let resources = index(&bytes);
        Self {
            revision,
            bytes,
            resources,
        }
    }

    /// Reads the bytes of a snapshot.
    ///
    /// # Errors
    /// They are not a snapshot, or not a whole one.
    pub fn read(bytes: impl Into<Bytes>) -> Result<Self, SnapshotError> {
        let bytes = bytes.into();
        let head = bytes
            .split(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let text = std::str::from_utf8(head).map_err(|_| SnapshotError::Foreign)?;
        let mut words = text.split('\t');
        if words.next() != Some(MAGIC) {
            return Err(SnapshotError::Foreign);
        }
        let mut number = || words.next()?.parse::<u64>().ok();
        let revision = number().ok_or(SnapshotError::Damaged)?;
        let count = number().ok_or(SnapshotError::Damaged)?;
        let sum = words
            .next()
            .and_then(|word| u64::from_str_radix(word, 16).ok());
        let lines = bytes.get(head.len() + 1..).unwrap_or_default();
        if sum != Some(checksum(lines)) {
            return Err(SnapshotError::Damaged);
        }
        let resources = index(&bytes);
        let found: usize = resources.values().map(Vec::len).sum();
        if usize::try_from(count) != Ok(found) {
            return Err(SnapshotError::Damaged);
        }
        Ok(Self {
            revision,
            bytes,
            resources,
        })
    }

    /// Returns the bytes.
    pub fn into_bytes(self) -> Bytes {
        self.bytes
    }

    /// Returns the revision of the state.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.resources.values().map(Vec::len).sum()
    }

    /// Whether there are no objects.
    pub fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Writes everything into a backend that holds nothing.
    ///
    /// # Errors
    /// The backend holds something, or cannot keep it.
    pub fn restore(&self, backend: &dyn Backend) -> Result<(), BackendError> {
        if backend.load()?.revision > 0 {
            return Err(BackendError::not_empty());
        }
        let writes = self.resources.iter().flat_map(|(resource, lines)| {
            lines.iter().map(move |line| {
                let (path, kept) = self.parts(line);
                Write {
                    key: format!("{resource}/{path}"),
                    value: Some(kept.to_vec()),
                }
            })
        });
        let writes: Vec<Write> = writes.collect();
        backend.commit(&writes, self.revision)
    }

    /// The path and the object of a line.
    fn parts(&self, line: &Range<usize>) -> (&str, &[u8]) {
        let line = &self.bytes[line.clone()];
        let mut parts = line.splitn(3, |byte| *byte == b'\t').skip(1);
        let path = parts.next().and_then(|path| std::str::from_utf8(path).ok());
        (path.unwrap_or_default(), parts.next().unwrap_or_default())
    }
}

impl InitialObjects for Snapshot {
    fn revision(&self) -> u64 {
        self.revision
    }

    fn opened(&self) -> u64 {
        self.revision
    }

    fn resources(&self) -> Vec<&str> {
        self.resources.keys().map(String::as_str).collect()
    }

    fn has(&self, resource: &str) -> bool {
        self.resources.contains_key(resource)
    }

    fn of(&self, resource: &str) -> Vec<(u64, String, Draft)> {
        let lines = self.resources.get(resource).into_iter().flatten();
        lines
            .filter_map(|line| {
                let (path, kept) = self.parts(line);
                let (revision, draft) = Draft::kept(kept)?;
                Some((revision, path.to_owned(), draft))
            })
            .collect()
    }
}

/// The lines of each resource, behind the first line.
fn index(bytes: &[u8]) -> BTreeMap<String, Vec<Range<usize>>> {
    let mut resources: BTreeMap<String, Vec<Range<usize>>> = BTreeMap::new();
    let mut at = 0;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let here = at..at + line.len() - 1;
        at += line.len();
        let resource = line.split(|byte| *byte == b'\t').next().unwrap_or_default();
        if number > 0 {
            let resource = String::from_utf8_lossy(resource);
            match resources.get_mut(&*resource) {
                Some(lines) => lines.push(here),
                None => drop(resources.insert(resource.into_owned(), vec![here])),
            }
        }
    }
    resources
}

/// FNV-1a, over eight bytes at a time: against damage, not against an attacker.
fn checksum(bytes: &[u8]) -> u64 {
    const PRIME: u64 = 0x0100_0000_01b3;
    let (words, rest) = bytes.as_chunks::<8>();
    let mut sum = 0xcbf2_9ce4_8422_2325 ^ bytes.len() as u64;
    for word in words {
        sum = (sum ^ u64::from_le_bytes(*word)).wrapping_mul(PRIME);
        sum ^= sum >> 32;
    }
    rest.iter().fold(sum, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(PRIME)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::object::ReadBack;
    use crate::store::OutOfRange;
    use crate::table::Limits;

    fn filled() -> Arc<Store> {
        let store = Arc::new(Store::new(Limits::default()));
        let object = |name: &str| {
            Draft::new(&json!({
                "apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": name, "labels": {"app": name}}, "data": {"k": "a\tb\n"},
            }))
        };
        let mut with_defaults = object("y");
        with_defaults.read_back = ReadBack::WithDefaults;
        let x = store.create("configmaps", "a/x", object("x")).unwrap();
        store.create("configmaps", "a/y", with_defaults).unwrap();
        store.create("nodes", "n", object("n")).unwrap();
        store
            .replace("configmaps", "a/x", x.revision, object("x"))
            .unwrap();
        let gone = store.create("pods", "a/gone", object("gone")).unwrap();
        store
            .delete("pods", "a/gone", gone.revision, object("gone"))
            .unwrap();
        store
    }

    #[test]
    fn a_store_that_begins_with_a_snapshot_has_its_objects_and_its_revision_and_goes_on() {
        let store = filled();
        let taken = Snapshot::of(&store);
        assert_eq!((taken.revision(), taken.len()), (store.revision(), 3));
        let read = Snapshot::read(taken.clone().into_bytes()).unwrap();
        let again = Arc::new(Store::with_initial_objects(Limits::default(), read));
        // Without a read of any resource before.
        assert_eq!(Snapshot::of(&again).into_bytes(), taken.into_bytes());
        for (resource, path) in [("configmaps", "a/x"), ("configmaps", "a/y"), ("nodes", "n")] {
            let (before, now) = (
                store.get(resource, path).unwrap(),
                again.get(resource, path).unwrap(),
            );
            assert_eq!((before.body(), before.revision), (now.body(), now.revision));
        }
        assert!(again.get("pods", "a/gone").is_none());
        let at = store.revision();
        let too_old = OutOfRange::TooOld { oldest: at };
        assert_eq!(
            again.events_after("configmaps", at - 1).unwrap_err(),
            too_old
        );
        let new = Draft::new(&json!({"kind": "Node", "metadata": {"name": "m"}}));
        assert_eq!(again.create("nodes", "m", new).unwrap().revision, at + 1);
        assert_eq!(again.events_after("nodes", at).unwrap().len(), 1);
    }

    #[test]
    fn a_snapshot_that_is_cut_or_changed_anywhere_is_refused() {
        let whole = Snapshot::of(&filled()).into_bytes();
        for at in 0..whole.len() {
            assert!(Snapshot::read(whole.slice(..at)).is_err(), "cut at {at}");
        }
        let head = whole.iter().position(|byte| *byte == b'\n').unwrap();
        for at in head + 1..whole.len() {
            let mut changed = whole.to_vec();
            changed[at] ^= 1;
            assert_eq!(Snapshot::read(changed).unwrap_err(), SnapshotError::Damaged);
        }
        assert_eq!(
            Snapshot::read(&b"buy milk"[..]).unwrap_err(),
            SnapshotError::Foreign
        );
    }

    #[cfg(feature = "file")]
    #[test]
    fn a_file_is_restored_once_and_never_over_another_state() {
        let folder = tempfile::tempdir().unwrap();
        let taken = Snapshot::of(&filled());
        let backend = crate::FileBackend::open(folder.path().join("objects")).unwrap();
        taken.restore(&backend).unwrap();
        let error = taken.restore(&backend).unwrap_err().to_string();
        assert_eq!(error, "restoring a snapshot: the backend is not empty");
        let contents = backend.load().unwrap();
        assert_eq!(
            Snapshot::of_contents(contents).unwrap().into_bytes(),
            taken.into_bytes()
        );
    }
}
