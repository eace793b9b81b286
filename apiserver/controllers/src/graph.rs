//! All objects, and the graph of their ownerReferences.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use kubewright_storage::Object;

use super::object::Item;

/// The place of an object in the store: the table of its resource, and its path.
pub(super) type Place = (Arc<str>, String);

/// The objects of a server by place, and the edges from owners to dependents.
#[derive(Debug, Default)]
pub(super) struct Graph {
    tables: HashMap<Arc<str>, BTreeMap<String, Arc<Item>>>,
    by_uid: HashMap<String, Place>,
    dependents: HashMap<String, BTreeSet<Place>>,
    /// Namespaced objects without a controller: the index for controllers that look for objects to adopt.
    free: BTreeSet<Place>,
}

/// A change of one object: `before` is `None` for a new object, `after` is `None` for a deleted one.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) before: Option<Arc<Item>>,
    pub(super) after: Option<Arc<Item>>,
}

impl Change {
    /// The object after the change, or its last state if it was deleted.
    pub(super) fn item(&self) -> Option<&Arc<Item>> {
        self.after.as_ref().or(self.before.as_ref())
    }

    /// Whether the object is in this table.
    pub(super) fn is_in(&self, table: &str) -> bool {
        self.item().is_some_and(|item| &*item.table == table)
    }
}

impl Graph {
    /// The object at a place.
    pub(super) fn get(&self, table: &str, path: &str) -> Option<Arc<Item>> {
        self.tables.get(table)?.get(path).cloned()
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<Arc<Item>> {
        let (table, path) = self.by_uid.get(uid)?;
        self.get(table, path)
    }

    /// The objects that name the object with this UID in their ownerReferences.
    pub(super) fn dependents(&self, uid: &str) -> Vec<Arc<Item>> {
        let places = self.dependents.get(uid).into_iter().flatten();
        places
            .filter_map(|(table, path)| self.get(table, path))
            .collect()
    }

    /// The objects of a table whose controller has this UID.
    pub(super) fn controlled(&self, uid: &str, table: &str) -> Vec<Arc<Item>> {
        let places = self.dependents.get(uid).into_iter().flatten();
        places
            .filter(|place| &*place.0 == table)
            .filter_map(|(table, path)| self.get(table, path))
            .filter(|item| item.is_controlled_by(uid))
            .collect()
    }

    /// The objects of a table and namespace without a controller.
    pub(super) fn free(&self, table: &str, namespace: &str) -> Vec<Arc<Item>> {
        let start = (Arc::from(table), format!("{namespace}/"));
        let end = (Arc::from(table), format!("{namespace}0"));
        let range = self
            .free
            .range((Bound::Included(start), Bound::Excluded(end)));
        range
            .filter_map(|(table, path)| self.get(table, path))
            .collect()
    }

    /// The objects of a table in a namespace, or in all namespaces if `namespace` is empty.
    pub(super) fn list(&self, table: &str, namespace: &str) -> Vec<Arc<Item>> {
        let Some(table) = self.tables.get(table) else {
            return Vec::new();
        };
        if namespace.is_empty() {
            return table.values().cloned().collect();
        }
        let (start, end) = (format!("{namespace}/"), format!("{namespace}0"));
        let range = table.range(start..end);
        range.map(|(_, item)| item.clone()).collect()
    }

    /// Adds or replaces an object.
    pub(super) fn put(&mut self, table: &str, object: Arc<Object>) -> Change {
        let table = self.name(table);
        let path = object.path.clone();
        let before = self.take(&table, &path);
        let item = Arc::new(Item::new(&table, object));
        let place = (table.clone(), path.clone());
        self.by_uid.insert(item.meta.uid.clone(), place.clone());
        for owner in &item.meta.owner_references {
            let dependents = self.dependents.entry(owner.uid.clone()).or_default();
            dependents.insert(place.clone());
        }
        if item.controller().is_none() && path.contains('/') {
            self.free.insert(place);
        }
        let objects = self.tables.entry(table).or_default();
        objects.insert(path, item.clone());
        Change {
            before,
            after: Some(item),
        }
    }

    /// Removes an object.
    pub(super) fn remove(&mut self, table: &str, path: &str) -> Change {
        let table = self.name(table);
        Change {
            before: self.take(&table, path),
            after: None,
        }
    }

    /// The places of all objects.
    pub(super) fn places(&self) -> Vec<Place> {
        let all = self.tables.iter();
        all.flat_map(|(table, objects)| objects.keys().map(|path| (table.clone(), path.clone())))
            .collect()
    }

    fn name(&self, table: &str) -> Arc<str> {
        let known = self.tables.get_key_value(table);
        known.map_or_else(|| Arc::from(table), |(name, _)| name.clone())
    }

    fn take(&mut self, table: &Arc<str>, path: &str) -> Option<Arc<Item>> {
        let item = self.tables.get_mut(table)?.remove(path)?;
        let place = (table.clone(), path.to_owned());
        if self.by_uid.get(&item.meta.uid) == Some(&place) {
            self.by_uid.remove(&item.meta.uid);
        }
        for owner in &item.meta.owner_references {
            if let Some(dependents) = self.dependents.get_mut(&owner.uid) {
                dependents.remove(&place);
                if dependents.is_empty() {
                    self.dependents.remove(&owner.uid);
                }
            }
        }
        self.free.remove(&place);
        Some(item)
    }
}
