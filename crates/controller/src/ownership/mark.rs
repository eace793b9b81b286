//! What an object says about its owner where an owner reference cannot: a label with its UID, and an annotation with its place.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::{Entry, Key};

/// The owner that an object names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) owner: Key,
    pub(crate) uid: Box<str>,
}

impl Mark {
    /// Reads the mark of this name. An object without the annotation names no owner that could be looked for.
    pub(crate) fn of_entry(name: &str, entry: &Entry) -> Option<Self> {
        let uid = entry.metadata().label(name)?;
        let annotated: Annotated = entry.decode().ok()?;
        let owner = annotated.metadata.annotations?.remove(name)?;
        Some(Self::read(&owner, uid))
    }

    pub(crate) fn of_metadata(name: &str, metadata: &ObjectMeta) -> Option<Self> {
        let uid = metadata.labels.as_ref()?.get(name)?;
        let owner = metadata.annotations.as_ref()?.get(name)?;
        Some(Self::read(owner, uid))
    }

    /// No name has a slash.
    fn read(owner: &str, uid: &str) -> Self {
        let owner = match owner.split_once('/') {
            Some((namespace, name)) => Key::new(Some(namespace), name),
            None => Key::new(None, owner),
        };
        let uid = uid.into();
        Self { owner, uid }
    }

    /// A label has 63 characters, which is enough for a UID and too short for namespace and name.
    pub(crate) fn put(&self, name: &str, metadata: &mut ObjectMeta) {
        let labels = metadata.labels.get_or_insert_default();
        labels.insert(name.to_owned(), self.uid.to_string());
        let annotations = metadata.annotations.get_or_insert_default();
        annotations.insert(name.to_owned(), self.owner.to_string());
    }
}

#[derive(Deserialize)]
struct Annotated {
    metadata: Annotations,
}

#[derive(Deserialize)]
struct Annotations {
    annotations: Option<BTreeMap<String, String>>,
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;

    use super::*;

    const NAME: &str = "example.com/owner";

    #[test]
    fn a_mark_is_read_as_it_was_put() {
        let long = "n".repeat(253);
        for owner in [Key::new(Some("blue"), &long), Key::new(None, "node-1")] {
            let uid = "8b2f6f0e-37a1-4f6f-a9a0-3d1c6a3a9f6b".into();
            let mark = Mark { owner, uid };
            let mut map = ConfigMap::default();
            map.metadata.name = Some("a".to_owned());
            mark.put(NAME, &mut map.metadata);
            assert!(map.metadata.labels.as_ref().unwrap()[NAME].len() <= 63);
            let entry = Entry::read(&serde_json::to_string(&map).unwrap()).unwrap();
            assert_eq!(Mark::of_entry(NAME, &entry), Some(mark.clone()));
            assert_eq!(Mark::of_metadata(NAME, &map.metadata), Some(mark));
            assert_eq!(Mark::of_entry("example.com/other", &entry), None);
        }
    }

    #[test]
    fn half_a_mark_names_no_owner() {
        for half in [
            r#"{"metadata": {"name": "a", "labels": {"example.com/owner": "1"}}}"#,
            r#"{"metadata": {"name": "a", "annotations": {"example.com/owner": "blue/a"}}}"#,
            r#"{"metadata": {"name": "a", "labels": {"example.com/owner": "1"}, "annotations": null}}"#,
        ] {
            let entry = Entry::read(half).unwrap();
            assert_eq!(Mark::of_entry(NAME, &entry), None, "{half}");
        }
    }
}
