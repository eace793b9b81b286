//! Keeping objects exactly as they are wanted.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::marker::PhantomData;
use std::sync::Arc;

use kube::core::params::PostParams;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::request::{ask_about, body, requests};
use crate::informer::{Entry, Informer};
use crate::sync::{Mutex, locked};
use crate::{Connection, Informers, Key, Kind, Object, ObjectRef, RequestError, Scope};

/// Keeps objects of a kind exactly as they are wanted: what is missing is created, and what somebody has changed is put back.
/// Clones are cheap.
///
/// The desired state is kept as a whole: a field that somebody has added goes again, which server-side apply
/// ([`Applier`](crate::Applier)) would leave alone. Labels, annotations and owners that are wanted are kept, too, and those
/// of others stay. The status is nobody's business here.
///
/// # Guarantees
///
/// * An object that is as it is wanted is not written. What the API server and its webhooks add to it, such as default
///   values, is no difference: the API server itself is asked once what it makes of an object, by an update that changes
///   nothing, and the answer holds until either side changes.
/// * What was changed meanwhile is not overwritten: the update fails as a conflict, and the reconcile is done again.
pub struct Keeper<K> {
    connection: Connection,
    informer: Informer,
    settled: Arc<Mutex<HashMap<Key, Settled>>>,
    kind: PhantomData<fn() -> K>,
}

/// What came of [keeping](Keeper::keep) an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object was missing, different or as it is wanted"
)]
pub enum Kept {
    /// It was missing, and was created.
    Created,
    /// It was different, and was put back.
    Updated,
    /// It is as it is wanted.
    Unchanged,
}

/// What the API server has made of what is wanted: digests of the one and of the other.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Settled {
    wanted: u64,
    stored: u64,
}

impl<K: Object> Keeper<K> {
    /// Keeps objects of a scope by a connection.
    pub fn new(informers: &Informers, connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            informer: informers.informer(Kind::of::<K>(), scope),
            settled: Arc::default(),
            kind: PhantomData,
        }
    }

    /// Has an object be as it is wanted. One that is being deleted is left to its end.
    ///
    /// # Errors
    ///
    /// When the object has just been changed, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn keep(&self, wanted: &K) -> Result<Kept, RequestError> {
        let reference = ObjectRef::of(wanted);
        let key = reference.key();
        RequestError::unless_within(self.informer.scope(), "keep", self.informer.kind(), key)?;
        self.informer.synced().await;
        let wanted = body("keep", wanted, key)?;
        match self.informer.get(key) {
            None => self.create(key, wanted).await,
            Some(found) if found.metadata().is_being_deleted() => Ok(Kept::Unchanged),
            Some(found) => self.put_back(key, &wanted, &found).await,
        }
    }

    async fn create(&self, key: &Key, wanted: Vec<u8>) -> Result<Kept, RequestError> {
        let digest = digest(&wanted);
        let link = self.connection.link().await;
        let request = requests::<K>(key).create(&managed_by(&link.program), wanted);
        let stored = self.ask("create", key, request).await?;
        self.settle(key, digest, &stored);
        Ok(Kept::Created)
    }

    async fn put_back(
        &self,
        key: &Key,
        wanted: &[u8],
        found: &Entry,
    ) -> Result<Kept, RequestError> {
        let unreadable = |error| {
            RequestError::new(
                "keep",
                self.informer.kind(),
                key,
                kube::Error::SerdeError(error),
            )
        };
        let digest = digest(wanted);
        let found_object: Map<String, Value> = found.decode().map_err(unreadable)?;
        let wanted: Map<String, Value> = serde_json::from_slice(wanted).map_err(unreadable)?;
        let metadata = with(&found_object["metadata"], wanted.get("metadata"));
        let now = Settled {
            wanted: digest,
            stored: found.metadata().content(),
        };
        let is_settled = locked(self.settled.lock()).get(key) == Some(&now);
        if is_settled && metadata == found_object["metadata"] {
            return Ok(Kept::Unchanged);
        }

        let mut object = wanted;
        object.insert("metadata".to_owned(), metadata);
        match found_object.get("status") {
            Some(status) => object.insert("status".to_owned(), status.clone()),
            None => object.remove("status"),
        };
        let text = Value::Object(object).to_string().into_bytes();
        let link = self.connection.link().await;
        let request = requests::<K>(key).replace(key.name(), &managed_by(&link.program), text);
        let stored = self.ask("update", key, request).await?;
        if stored.version() == found.version() {
            self.settle(key, digest, found);
            return Ok(Kept::Unchanged);
        }
        self.settle(key, digest, &stored);
        Ok(Kept::Updated)
    }

    async fn ask(
        &self,
        verb: &str,
        key: &Key,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Entry, RequestError> {
        let link = self.connection.link().await;
        let scope = self.informer.scope();
        let stored: Box<RawValue> =
            ask_about::<K, _>(&link.client, scope, verb, key, request).await?;
        Entry::read(stored.get()).map_err(|error| {
            RequestError::new(
                verb,
                self.informer.kind(),
                key,
                kube::Error::SerdeError(error),
            )
        })
    }

    fn settle(&self, key: &Key, wanted: u64, stored: &Entry) {
        let stored = stored.metadata().content();
        let mut settled = locked(self.settled.lock());
        settled.insert(key.clone(), Settled { wanted, stored });
        // Objects come and go: what is remembered of those that went must not grow without end.
        if settled.len().is_power_of_two() {
            settled.retain(|known, _| known == key || self.informer.get(known).is_some());
        }
    }
}

/// The metadata that was found, with what is wanted put over it: maps and lists, such as owners, keep what others have added.
fn with(found: &Value, wanted: Option<&Value>) -> Value {
    match (found, wanted) {
        (found, None | Some(Value::Null)) => found.clone(),
        (Value::Object(found), Some(Value::Object(wanted))) => {
            let mut all = found.clone();
            for (name, wanted) in wanted {
                let found = found.get(name).unwrap_or(&Value::Null);
                all.insert(name.clone(), with(found, Some(wanted)));
            }
            Value::Object(all)
        }
        (Value::Array(found), Some(Value::Array(wanted))) => {
            let same = |one: &Value, other: &Value| {
                one == other || one["uid"].is_string() && one["uid"] == other["uid"]
            };
            let known = found.iter().map(|found| {
                wanted
                    .iter()
                    .find(|wanted| same(wanted, found))
                    .unwrap_or(found)
            });
            let missing = wanted
                .iter()
                .filter(|wanted| !found.iter().any(|found| same(wanted, found)));
            known.chain(missing).cloned().collect()
        }
        (_, Some(wanted)) => wanted.clone(),
    }
}

fn digest(json: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    json.hash(&mut hasher);
    hasher.finish()
}

fn managed_by(program: &Arc<str>) -> PostParams {
    PostParams {
        field_manager: Some(program.to_string()),
        ..PostParams::default()
    }
}

impl<K> Clone for Keeper<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            informer: self.informer.clone(),
            settled: Arc::clone(&self.settled),
            kind: PhantomData,
        }
    }
}

impl<K> fmt::Debug for Keeper<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Keeper")
            .field(&self.informer)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_that_is_wanted_is_put_over_that_of_others() {
        let found = json!({
            "labels": {"a": "1", "b": "2"}, "resourceVersion": "7", "finalizers": ["x"],
            "ownerReferences": [{"uid": "1"}, {"uid": "2", "controller": false}],
        });
        let wanted = json!({
            "labels": {"a": "3"}, "annotations": {"c": "4"}, "ownerReferences": [{"uid": "2"}, {"uid": "3"}],
        });
        assert_eq!(
            with(&found, Some(&wanted)),
            json!({
                "labels": {"a": "3", "b": "2"}, "annotations": {"c": "4"}, "resourceVersion": "7",
                "finalizers": ["x"], "ownerReferences": [{"uid": "1"}, {"uid": "2"}, {"uid": "3"}],
            })
        );
        assert_eq!(with(&found, None), found);
    }
}
