//! Which objects of a cache have a key that a function finds in them.
//!
//! An index knows the places of objects, and the cache has the objects themselves. The cache changes both while it holds the
//! lock of its objects, so that a reader who holds it sees them agree. What takes time, the function itself, runs before.
//!
//! This file is compiled a second time by the loom model in `tests/`.

use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::sync::Arc;

use super::Key;
use super::entry::Entry;
use super::sync::{RwLock, locked};

/// Why the keys of an object are not known.
pub(crate) type Unknown = Arc<dyn Error + Send + Sync>;
/// Finds the keys of an object.
type Find<I> = Box<dyn Fn(&Entry) -> Result<Vec<I>, Unknown> + Send + Sync>;

/// The places of the objects of a cache by their index keys.
pub(crate) struct Postings<I> {
    find: Find<I>,
    places: RwLock<Places<I>>,
}

struct Places<I> {
    by_key: BTreeMap<I, BTreeSet<Key>>,
    /// The keys of the objects that have some, or the reason why they are not known.
    found: BTreeMap<Key, Result<Box<[I]>, Unknown>>,
    /// Number of objects whose keys are not known.
    unknown: usize,
}

/// An index as its cache keeps it up to date, whatever its keys are.
pub(crate) trait Indexed: Send + Sync {
    /// Finds the keys of a new state of an object; `None`: it is gone. The function that is returned puts them into the index.
    fn change<'a>(&'a self, key: &'a Key, new: Option<&Entry>) -> Box<dyn FnOnce() + 'a>;

    /// The same for all objects at once, of which the index has found the keys of some before.
    fn replace<'a>(
        &'a self,
        objects: &mut dyn Iterator<Item = &Entry>,
        is_known: &dyn Fn(&Entry) -> bool,
    ) -> Box<dyn FnOnce() + 'a>;
}

impl<I: Ord + Clone> Postings<I> {
    pub(crate) fn new(
        find: impl Fn(&Entry) -> Result<Vec<I>, Unknown> + Send + Sync + 'static,
    ) -> Self {
        Self {
            find: Box::new(find),
            places: RwLock::new(Places::empty()),
        }
    }

    /// The places of the objects that have a key and are where they are asked for, in order.
    pub(crate) fn places<Q>(&self, key: &Q, is_asked: impl Fn(&Key) -> bool) -> Vec<Key>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let places = locked(self.places.read());
        let all = places.by_key.get(key).into_iter().flatten();
        all.filter(|place| is_asked(place)).cloned().collect()
    }

    /// One of the objects there whose keys are not known: it may have any key.
    pub(crate) fn unknown(&self, is_asked: impl Fn(&Key) -> bool) -> Option<(Key, Unknown)> {
        let places = locked(self.places.read());
        if places.unknown == 0 {
            return None;
        }
        let mut all = places.found.iter().filter(|(place, _)| is_asked(place));
        all.find_map(|(place, found)| Some((place.clone(), Arc::clone(found.as_ref().err()?))))
    }

    /// Number of objects that have a key.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        locked(self.places.read()).found.len()
    }

    fn find(&self, entry: &Entry) -> Result<Box<[I]>, Unknown> {
        let mut keys = (self.find)(entry)?;
        keys.sort_unstable();
        keys.dedup();
        Ok(keys.into())
    }
}

impl<I: Ord + Clone + Send + Sync> Indexed for Postings<I> {
    fn change<'a>(&'a self, key: &'a Key, new: Option<&Entry>) -> Box<dyn FnOnce() + 'a> {
        let found = new.map(|entry| self.find(entry));
        Box::new(move || {
            let mut places = locked(self.places.write());
            places.remove(key);
            if let Some(found) = found {
                places.add(key, found);
            }
        })
    }

    fn replace<'a>(
        &'a self,
        objects: &mut dyn Iterator<Item = &Entry>,
        is_known: &dyn Fn(&Entry) -> bool,
    ) -> Box<dyn FnOnce() + 'a> {
        let mut all = Places::empty();
        for entry in objects {
            let found = if is_known(entry) {
                let places = locked(self.places.read());
                let found = places.found.get(entry.key()).cloned();
                found.unwrap_or_else(|| Ok(Box::default()))
            } else {
                self.find(entry)
            };
            all.add(entry.key(), found);
        }
        Box::new(move || *locked(self.places.write()) = all)
    }
}

impl<I: Ord + Clone> Places<I> {
    fn empty() -> Self {
        Self {
            by_key: BTreeMap::new(),
            found: BTreeMap::new(),
            unknown: 0,
        }
    }

    fn add(&mut self, key: &Key, found: Result<Box<[I]>, Unknown>) {
        match &found {
            Ok(keys) if keys.is_empty() => return,
            Ok(keys) => {
                for index_key in keys {
                    let places = self.by_key.entry(index_key.clone()).or_default();
                    places.insert(key.clone());
                }
            }
            Err(_) => self.unknown += 1,
        }
        self.found.insert(key.clone(), found);
    }

    fn remove(&mut self, key: &Key) {
        match self.found.remove(key) {
            Some(Ok(keys)) => {
                for index_key in &keys {
                    if let Some(places) = self.by_key.get_mut(index_key) {
                        places.remove(key);
                        if places.is_empty() {
                            self.by_key.remove(index_key);
                        }
                    }
                }
            }
            Some(Err(_)) => self.unknown -= 1,
            None => {}
        }
    }
}
