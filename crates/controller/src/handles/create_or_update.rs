//! Creating objects that are missing, and updating those that differ.

use std::collections::HashMap;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kube::core::params::PostParams;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::kind_of::KindOf;
use super::request::{ask_about, body, requests};
use crate::informer::{Entry, Informer};
use crate::sync::{Mutex, locked};
use crate::{
    AnyObject, Connection, DynamicKind, Informers, Key, Kind, Object, ObjectRef, RequestError,
    Scope,
};

/// Creates objects of a kind that are missing, and updates those that differ from the desired state. Clones are cheap.
///
/// The whole desired state is written: an update removes a field that another client has added, which server-side apply
/// ([`Applier`](crate::Applier)) would leave alone. Desired labels, annotations and owners are added to those that the object
/// has. The status is left alone.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{CreateOrUpdate, Informers, OperationResult, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// let informers = Informers::new();
/// let maps: CreateOrUpdate<ConfigMap> = CreateOrUpdate::new(&informers, &connection, Scope::all().named("settings"));
/// follow(informers, &cluster); // runs the informers
/// assert_eq!(maps.create_or_update(&settings("quiet")).await?, OperationResult::Created);
/// let stored: ConfigMap = cluster.get("settings").await.unwrap();
/// assert_eq!(stored.data.unwrap()["mode"], "quiet");
/// # Ok(())
/// # }
/// ```
///
/// # Guarantees
///
/// * An object in the desired state is not written. Fields that the API server and its webhooks add, such as default values,
///   are no difference: one update that changes nothing shows what the API server makes of the object, and the answer holds
///   until either side changes.
/// * A concurrent change is not overwritten: the update fails with a conflict, and the object is reconciled again.
pub struct CreateOrUpdate<K> {
    connection: Connection,
    informers: Informers,
    informer: Informer,
    settled: Arc<Mutex<HashMap<Key, Settled>>>,
    kind: KindOf<K>,
}

/// Result of [`CreateOrUpdate::create_or_update`] and [`StatusWriter::update`](crate::StatusWriter::update).
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{CreateOrUpdate, Informers, OperationResult, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, connection) = connected().await;
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// let informers = Informers::new();
/// let maps: CreateOrUpdate<ConfigMap> = CreateOrUpdate::new(&informers, &connection, Scope::all().named("settings"));
/// follow(informers, &cluster); // runs the informers
/// assert_eq!(maps.create_or_update(&settings("loud")).await?, OperationResult::Updated);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "an object was missing, different or in the desired state"
)]
pub enum OperationResult {
    /// The object was missing, and was created.
    Created,
    /// The object differed from the desired state, and was updated.
    Updated,
    /// The object is in the desired state, or is being deleted.
    Unchanged,
}

/// Digests of a desired state and of what the API server has stored for it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Settled {
    wanted: u64,
    stored: u64,
}

impl<K: Object> CreateOrUpdate<K> {
    /// Creates a handle for the objects of a scope, which compares them in a shared cache.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{CreateOrUpdate, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let informers = Informers::new();
    /// let maps: CreateOrUpdate<ConfigMap> = CreateOrUpdate::new(&informers, &connection, Scope::all().named("other"));
    /// assert_eq!(informers.missing(), ["configmaps"]);
    /// assert!(maps.create_or_update(&settings("quiet")).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn new(informers: &Informers, connection: &Connection, scope: Scope) -> Self {
        Self {
            connection: connection.clone(),
            informers: informers.clone(),
            informer: informers.informer(Kind::of::<K>(), scope),
            settled: Arc::default(),
            kind: KindOf::type_(),
        }
    }
}

impl<K: DynamicKind> CreateOrUpdate<K> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs.
    pub fn dynamic(
        informers: &Informers,
        connection: &Connection,
        kind: &Kind,
        scope: Scope,
    ) -> Self {
        let kind = KindOf::value(kind);
        Self {
            connection: connection.clone(),
            informers: informers.clone(),
            informer: informers.informer(Kind::clone(&kind), scope),
            settled: Arc::default(),
            kind,
        }
    }
}

impl<K: AnyObject> CreateOrUpdate<K> {
    pub(crate) fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Creates or updates the object. Does nothing while the object is being deleted.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, CreateOrUpdate, Informers, OperationResult, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let informers = Informers::new();
    /// let scope = Scope::all().named("settings");
    /// let maps: CreateOrUpdate<ConfigMap> = CreateOrUpdate::new(&informers, &connection, scope.clone());
    /// let mut changes = Cached::<ConfigMap>::new(&informers, scope).follow(("default", "settings"));
    /// follow(informers, &cluster); // runs the informers
    /// assert!(changes.next().await?.is_none());
    /// assert_eq!(maps.create_or_update(&settings("quiet")).await?, OperationResult::Created);
    /// changes.next().await?; // the cache has seen the object
    /// assert_eq!(maps.create_or_update(&settings("quiet")).await?, OperationResult::Unchanged);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the update conflicts with a concurrent change, or the API server rejects the request or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn create_or_update(&self, wanted: &K) -> Result<OperationResult, RequestError> {
        let reference = ObjectRef::of(wanted);
        let key = reference.key();
        RequestError::unless_within(self.informer.scope(), VERB, self.informer.kind(), key)?;
        self.informer.synced().await;
        let wanted = body(VERB, &self.kind, wanted, key)?;
        match self.informer.get(key) {
            None => self.create(key, wanted).await,
            Some(found) if found.metadata().is_being_deleted() => Ok(OperationResult::Unchanged),
            Some(found) => self.update(key, &wanted, &found).await,
        }
    }

    async fn create(&self, key: &Key, wanted: Vec<u8>) -> Result<OperationResult, RequestError> {
        let digest = digest(&wanted);
        let link = self.connection.link().await;
        let request = requests(&self.kind, key).create(&managed_by(&link.program), wanted);
        let stored = self.ask("create", key, request).await?;
        self.settle(key, digest, &stored);
        Ok(OperationResult::Created)
    }

    async fn update(
        &self,
        key: &Key,
        wanted: &[u8],
        found: &Entry,
    ) -> Result<OperationResult, RequestError> {
        let unreadable = |error| {
            RequestError::new(
                VERB,
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
            return Ok(OperationResult::Unchanged);
        }

        let mut object = wanted;
        object.insert("metadata".to_owned(), metadata);
        match found_object.get("status") {
            Some(status) => object.insert("status".to_owned(), status.clone()),
            None => object.remove("status"),
        };
        let text = Value::Object(object).to_string().into_bytes();
        let link = self.connection.link().await;
        let request =
            requests(&self.kind, key).replace(key.name(), &managed_by(&link.program), text);
        let stored = self.ask("update", key, request).await?;
        if stored.version() == found.version() {
            self.settle(key, digest, found);
            return Ok(OperationResult::Unchanged);
        }
        self.settle(key, digest, &stored);
        Ok(OperationResult::Updated)
    }

    async fn ask(
        &self,
        verb: &str,
        key: &Key,
        request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
    ) -> Result<Entry, RequestError> {
        let link = self.connection.link().await;
        let scope = self.informer.scope();
        let stored: Box<RawValue> = ask_about(link, scope, verb, &self.kind, key, request).await?;
        // The connection may be one that does not know of these caches.
        if !self.informers.are(&link.informers) {
            let response = stored.get().as_bytes();
            self.informers
                .take_write(self.informer.kind(), key, response);
        }
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
        // Objects come and go: the digests of deleted objects must not pile up.
        if settled.len().is_power_of_two() {
            settled.retain(|known, _| known == key || self.informer.get(known).is_some());
        }
    }
}

/// Returns the metadata that was found with the desired metadata put over it. Entries of maps and lists that others have added,
/// such as owners, stay.
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

/// The verb of errors.
const VERB: &str = "create or update";

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

impl<K> Clone for CreateOrUpdate<K> {
    fn clone(&self) -> Self {
        Self {
            connection: self.connection.clone(),
            informers: self.informers.clone(),
            informer: self.informer.clone(),
            settled: Arc::clone(&self.settled),
            kind: self.kind.clone(),
        }
    }
}

impl<K> fmt::Debug for CreateOrUpdate<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("CreateOrUpdate")
            .field(&self.informer)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn desired_metadata_is_put_over_that_of_others() {
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
