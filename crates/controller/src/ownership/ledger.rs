//! What each owner owns by label, as far as a cache knows: also owners that are gone, which no cache has.

use std::sync::Arc;

use ahash::AHashMap;

use super::mark::Mark;
use crate::Key;
use crate::informer::Delta;
use crate::sync::{Mutex, locked};

pub(crate) struct Ledger {
    /// The name of the label.
    name: Arc<str>,
    /// By owner, the objects and the UID of the owner that each of them names.
    owners: Mutex<AHashMap<Key, AHashMap<Key, Box<str>>>>,
}

impl Ledger {
    pub(crate) fn new(name: Arc<str>) -> Self {
        Self {
            name,
            owners: Mutex::default(),
        }
    }

    /// Takes down a change of an object.
    pub(crate) fn note(&self, delta: &Delta) {
        let [old, new] = [&delta.old, &delta.new].map(|entry| {
            let entry = entry.as_ref()?;
            Some((Mark::of_entry(&self.name, entry)?, entry.key()))
        });
        let mut owners = locked(self.owners.lock());
        if let Some((mark, key)) = old
            && let Some(owned) = owners.get_mut(&mark.owner)
        {
            owned.remove(key);
            if owned.is_empty() {
                owners.remove(&mark.owner);
            }
        }
        if let Some((mark, key)) = new {
            let owned = owners.entry(mark.owner).or_default();
            owned.insert(key.clone(), mark.uid);
        }
    }

    /// Returns the objects that name this owner, with a UID that it does not have (any more).
    pub(crate) fn stale(&self, owner: &Key, uid: Option<&str>) -> Vec<(Key, Box<str>)> {
        let owners = locked(self.owners.lock());
        let owned = owners.get(owner).into_iter().flatten();
        owned
            .filter(|(_, of)| Some(&***of) != uid)
            .map(|(key, of)| (key.clone(), of.clone()))
            .collect()
    }

    /// Returns the objects that this owner owns.
    pub(crate) fn owned(&self, owner: &Key, uid: &str) -> Vec<Key> {
        let owners = locked(self.owners.lock());
        let owned = owners.get(owner).into_iter().flatten();
        let mut owned: Vec<Key> = owned
            .filter(|(_, of)| &***of == uid)
            .map(|(key, _)| key.clone())
            .collect();
        owned.sort_unstable();
        owned
    }

    pub(crate) fn owners(&self) -> Vec<Key> {
        locked(self.owners.lock()).keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Entry;
    use crate::informer::Origin;

    fn entry(name: &str, owner: &str, uid: &str) -> Arc<Entry> {
        let object = serde_json::json!({"metadata": {
            "namespace": "red", "name": name, "labels": {"x.y/owner": uid}, "annotations": {"x.y/owner": owner}}});
        Arc::new(Entry::read(&object.to_string()).unwrap())
    }

    #[test]
    fn a_ledger_follows_objects_from_owner_to_owner_and_forgets_owners_of_nothing() {
        let ledger = Ledger::new("x.y/owner".into());
        let note = |old: Option<Arc<Entry>>, new: Option<Arc<Entry>>| {
            let origin = Origin::Watch;
            ledger.note(&Delta { old, new, origin });
        };
        let (blue, green) = (Key::new(Some("blue"), "a"), Key::new(Some("green"), "a"));
        let owned = |name| Key::new(Some("red"), name);
        note(None, Some(entry("one", "blue/a", "1")));
        note(None, Some(entry("two", "blue/a", "2")));
        assert_eq!(ledger.owned(&blue, "2"), [owned("two")]);
        assert_eq!(ledger.stale(&blue, Some("2")), [(owned("one"), "1".into())]);
        assert_eq!(ledger.stale(&blue, None).len(), 2);
        note(
            Some(entry("one", "blue/a", "1")),
            Some(entry("one", "green/a", "3")),
        );
        assert_eq!(ledger.owned(&green, "3"), [owned("one")]);
        assert!(ledger.stale(&blue, Some("2")).is_empty());
        note(Some(entry("two", "blue/a", "2")), None);
        assert_eq!(ledger.owners(), [green]);
    }
}
