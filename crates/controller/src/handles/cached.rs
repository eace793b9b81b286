//! Reading from a shared cache.

use std::any::TypeId;
use std::error::Error as StdError;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::undecodable::Undecodable;
use crate::informer::{Entry, Informer, Reader};
use crate::object::OutsideScope;
use crate::{AnyObject, DynamicKind, Informers, Kind, Object, ObjectRef, Scope};

/// Reads objects of a kind from a cache that follows the cluster. Clones are cheap, and all handles for the same kind and
/// scope share one cache.
///
/// What is read is as new as the last news from the API server, which is usually milliseconds old, and never older than what
/// the program itself has written ([`Connection::with_informers`](crate::Connection::with_informers)). A read before the cache
/// is complete waits for it.
///
/// The cache holds bytes; an object is decoded when it is read. A reader that needs a few fields of large objects names a
/// type that has only those: `Cached<Pod, PodOnNode>`. What is read is the same whatever else is read of the cache:
///
/// * [`decode_as`](Self::decode_as) makes such a handle on a cache of whole objects, and saves time.
/// * [`new`](Self::new) makes one on a cache that holds what its readers read and nothing else, and saves memory, too.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Cached, Informers, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, _) = connected().await;
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// let informers = Informers::new();
/// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
/// follow(informers, &cluster); // runs the informers
/// let map = maps.get(("default", "settings")).await?.unwrap();
/// assert_eq!(map.data.unwrap()["mode"], "quiet");
/// # Ok(())
/// # }
/// ```
pub struct Cached<K, T = K> {
    informer: Informer,
    types: PhantomData<fn() -> (K, T)>,
}

/// The reason why an object cannot be read from a cache.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Cached, Informers, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, _) = connected().await;
/// let informers = Informers::new();
/// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().in_namespace("default"));
/// follow(informers, &cluster); // runs the informers
/// let error = maps.get(("blue", "settings")).await.unwrap_err();
/// assert_eq!(error.to_string(), "cannot read ConfigMap blue/settings");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, thiserror::Error)]
#[error("cannot {what}")]
pub struct ReadError {
    what: String,
    source: Box<dyn StdError + Send + Sync>,
}

impl<K: Object, T: DeserializeOwned + 'static> Cached<K, T> {
    /// Creates a handle for the objects of a scope. Create it before the informers run.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let informers = Informers::new();
    /// let one: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
    /// let other: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
    /// assert_eq!(informers.missing(), ["configmaps"], "one list and watch for both");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// With another type `T`, the cache holds only the fields that this type reads, which its `Deserialize` tells. All handles of
    /// the same kind and scope still share one cache: it holds what they read together, and whole objects if one of them,
    /// or a controller, reads whole objects. So a smaller type never costs anything.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// /// Of the ConfigMap, the cache holds the mode.
    /// #[derive(serde::Deserialize)]
    /// struct Settings {
    ///     data: Data,
    /// }
    /// #[derive(serde::Deserialize)]
    /// struct Data {
    ///     mode: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let modes: Cached<ConfigMap, Settings> = Cached::new(&informers, Scope::all());
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(modes.get(("default", "settings")).await?.unwrap().data.mode, "quiet");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// What is read is no `ConfigMap`, and no handle writes it:
    ///
    /// ```compile_fail,E0308
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Writer};
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Settings {}
    ///
    /// async fn write_back(settings: Cached<ConfigMap, Settings>, writer: Writer<ConfigMap>) {
    ///     let read = settings.list().await.unwrap();
    ///     writer.update(&read[0]).await;
    /// }
    /// ```
    pub fn new(informers: &Informers, scope: Scope) -> Self {
        Self::reading(informers, Kind::of::<K>(), scope)
    }
}

impl<K: DynamicKind, T: DeserializeOwned + 'static> Cached<K, T> {
    /// Creates a handle for the objects of a scope, of a kind that is known only while the program runs. Create it before the
    /// informers run. A type `T` other than `K` is as for [`new`](Self::new).
    ///
    /// ```
    /// use kube::core::{DynamicObject, PartialObjectMeta};
    /// use kubewright_controller::{Cached, Informers, Kind, Scope};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let informers = Informers::new();
    /// let kind = Kind::namespaced("example.com/v1", "Widget", "widgets")?;
    /// let whole: Cached<DynamicObject> = Cached::dynamic(&informers, &kind, Scope::all());
    /// let metadata: Cached<PartialObjectMeta> = Cached::dynamic(&informers, &kind, Scope::all());
    /// assert_eq!(informers.missing(), ["widgets.example.com"; 2], "a list and watch for each");
    /// # Ok(())
    /// # }
    /// ```
    pub fn dynamic(informers: &Informers, kind: &Kind, scope: Scope) -> Self {
        Self::reading(informers, kind.read_as::<K>(), scope)
    }
}

impl<K: AnyObject, T: DeserializeOwned + 'static> Cached<K, T> {
    fn reading(informers: &Informers, kind: Kind, scope: Scope) -> Self {
        // A handle on the objects themselves can hand out their JSON, and decode it into any type.
        let is_whole = TypeId::of::<T>() == TypeId::of::<K>();
        let reader = (!is_whole).then(Reader::of::<T>);
        Self {
            informer: informers.informer_for(reader, kind, scope),
            types: PhantomData,
        }
    }
}

impl<K: AnyObject> Cached<K> {
    /// Returns a handle that decodes the same objects into another type, with only the fields that the reader needs.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// #[derive(serde::Deserialize)]
    /// struct Settings {
    ///     data: Data,
    /// }
    /// #[derive(serde::Deserialize)]
    /// struct Data {
    ///     mode: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
    /// let modes: Cached<ConfigMap, Settings> = maps.decode_as();
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(modes.get(("default", "settings")).await?.unwrap().data.mode, "quiet");
    /// # Ok(())
    /// # }
    /// ```
    pub fn decode_as<T: DeserializeOwned>(&self) -> Cached<K, T> {
        Cached {
            informer: self.informer.clone(),
            types: PhantomData,
        }
    }

    /// Returns the entries of the cache without decoding them, to look through many objects. Does not wait for the first list.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().named("settings"));
    /// assert!(maps.entries().is_empty(), "not synced yet");
    /// follow(informers, &cluster); // runs the informers
    /// maps.list().await?;
    /// assert_eq!(maps.entries()[0].key().name(), "settings");
    /// # Ok(())
    /// # }
    /// ```
    pub fn entries(&self) -> Vec<Arc<Entry>> {
        self.informer.select(|_| true)
    }
}

impl<K: AnyObject, T: DeserializeOwned> Cached<K, T> {
    /// Returns an object, or `None` if it does not exist. Waits until the cache has synced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
    /// follow(informers, &cluster); // runs the informers
    /// assert!(maps.get(("default", "settings")).await?.is_some());
    /// assert!(maps.get(("default", "other")).await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the object is not of the type that is asked for, or the cache was narrowed to others.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get(&self, object: impl Into<ObjectRef<K>>) -> Result<Option<T>, ReadError> {
        self.informer.synced().await;
        let reference = object.into();
        let key = reference.key();
        let placed = self.informer.kind().unless_without_namespace(key);
        placed.map_err(|error| ReadError {
            what: format!("read {}", self.informer.kind().reference(key)),
            source: error.into(),
        })?;
        self.unless_within(self.scope().admits(key), || {
            self.informer.kind().reference(key)
        })?;
        let entry = self.informer.get(key);
        entry.map(|entry| self.decode(&entry)).transpose()
    }

    /// Returns all objects, sorted by namespace and name. Waits until the cache has synced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().named("settings"));
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(maps.list().await?[0].data.as_ref().unwrap()["mode"], "quiet");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list(&self) -> Result<Vec<T>, ReadError> {
        self.informer.synced().await;
        self.decode_all(&self.informer.select(|_| true))
    }

    /// Returns the objects of a namespace, sorted by name. Waits until the cache has synced.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().named("settings"));
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(maps.list_in("default").await?.len(), 1);
    /// assert!(maps.list_in("kube-system").await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for, or the cache was narrowed to another namespace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list_in(&self, namespace: &str) -> Result<Vec<T>, ReadError> {
        self.informer.synced().await;
        self.unless_without(namespace)?;
        let entries = self
            .informer
            .select(|key| key.namespace() == Some(namespace));
        self.decode_all(&entries)
    }

    /// Returns references to the objects of a namespace, for the functions of [`related`](crate::related). Does not wait for the
    /// first list.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, _) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().named("settings"));
    /// follow(informers, &cluster); // runs the informers
    /// maps.list().await?;
    /// assert_eq!(maps.references_in("default"), [("default", "settings").into()]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn references_in(&self, namespace: &str) -> Vec<ObjectRef<K>> {
        self.informer
            .select(|key| key.namespace() == Some(namespace))
            .iter()
            .map(|entry| ObjectRef::at(entry.key().clone()))
            .collect()
    }

    pub(super) fn decode_all(&self, entries: &[Arc<Entry>]) -> Result<Vec<T>, ReadError> {
        entries.iter().map(|entry| self.decode(entry)).collect()
    }

    pub(super) fn decode(&self, entry: &Entry) -> Result<T, ReadError> {
        entry.decode().map_err(|source| ReadError {
            what: format!("decode {}", self.informer.kind().reference(entry.key())),
            source: Undecodable::from(source).into(),
        })
    }

    /// Returns whether the API server serves the kind. It does not while its definition is missing, or its version is no longer
    /// served: then there are no objects. `true` until the API server has said otherwise.
    ///
    /// ```
    /// use kube::core::DynamicObject;
    /// use kubewright_controller::{Cached, Informers, Kind, Scope};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let kind = Kind::namespaced("monitoring.coreos.com/v1", "ServiceMonitor", "servicemonitors")?;
    /// let monitors: Cached<DynamicObject> = Cached::dynamic(&informers.optional(), &kind, Scope::all());
    /// # let client = cluster.client();
    /// # tokio::spawn(async move { informers.run(client).await });
    /// assert!(monitors.list().await?.is_empty());
    /// assert!(!monitors.is_served(), "no monitor is written: there is no Prometheus operator");
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_served(&self) -> bool {
        self.informer.is_served()
    }

    pub(crate) fn informer(&self) -> &Informer {
        &self.informer
    }

    /// Rejects a namespace that the cache was not asked for.
    pub(super) fn unless_without(&self, namespace: &str) -> Result<(), ReadError> {
        let is_within = self.scope().admits_namespace(Some(namespace));
        self.unless_within(is_within, || {
            format!("{} in {namespace}", self.informer.kind())
        })
    }

    fn scope(&self) -> &Scope {
        self.informer.scope()
    }

    /// What a cache was not asked for is unknown to it, which must not be taken for its absence.
    fn unless_within(&self, is_within: bool, what: impl Fn() -> String) -> Result<(), ReadError> {
        if is_within {
            return Ok(());
        }
        Err(ReadError {
            what: format!("read {}", what()),
            source: OutsideScope(self.scope().clone()).into(),
        })
    }
}

impl ReadError {
    pub(super) fn new(what: String, source: impl StdError + Send + Sync + 'static) -> Self {
        Self {
            what,
            source: source.into(),
        }
    }
}

impl<K, T> Clone for Cached<K, T> {
    fn clone(&self) -> Self {
        Self {
            informer: self.informer.clone(),
            types: PhantomData,
        }
    }
}

impl<K, T> fmt::Debug for Cached<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("Cached")
            .field(&self.informer)
            .finish()
    }
}
