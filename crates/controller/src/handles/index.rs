//! Looking up objects of a cache by something other than their name.

use std::borrow::Borrow;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use serde::de::DeserializeOwned;

use super::cached::{Cached, ReadError};
use super::undecodable::Undecodable;
use crate::informer::{Entry, Postings, Unknown};
use crate::{AnyObject, Key, ObjectRef};

/// Finds objects of a cache by a key of which each object may have none, one or many: an index. Clones are cheap, and share it.
///
/// [`Cached::index_by`] makes it. It agrees with the cache at each moment: an object that is read from the cache is found under its
/// keys and under no others, also directly after a write of the program.
///
/// The function that finds the keys is called once for each state of an object that the cache learns of. A look-up does not read other
/// objects. An index takes the memory of its keys, twice, and of a reference for each; it ends when its last handle is dropped.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Cached, Index, Informers, Scope};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, _) = connected().await;
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// let informers = Informers::new();
/// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
/// let by_mode: Index<ConfigMap, String> = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned());
/// follow(informers, &cluster); // runs the informers
/// assert_eq!(by_mode.list("quiet").await?.len(), 1);
/// assert!(by_mode.list("loud").await?.is_empty());
/// # Ok(())
/// # }
/// ```
pub struct Index<K, I, T = K> {
    cached: Cached<K, T>,
    postings: Arc<Postings<I>>,
}

/// Finds the one object of a cache that has a key. Clones are cheap, and share the index.
///
/// [`Index::unique`] makes it. The API server does not keep objects from having the same key, and a cache shows what is
/// there. So nothing prevents it: a look-up of such a key is an error that names the objects.
///
/// ```
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kubewright_controller::{Cached, Informers, Scope, UniqueIndex};
/// use kubewright_testing::yaml;
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (cluster, _) = connected().await;
/// cluster.create(&settings("quiet")).await.expect_allowed();
/// let informers = Informers::new();
/// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all());
/// let by_mode: UniqueIndex<ConfigMap, String> = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned()).unique();
/// follow(informers, &cluster); // runs the informers
/// assert_eq!(by_mode.get("quiet").await?.unwrap().metadata.name.as_deref(), Some("settings"));
/// # let (client, again) = (cluster.client(), yaml::<ConfigMap>("{metadata: {name: other}, data: {mode: quiet}}"));
/// # let mut other = maps.follow(("default", "other"));
/// # other.next().await?;
///
/// cluster.create(&again).await.expect_allowed();
/// # other.next().await?;
/// let error = by_mode.get("quiet").await.unwrap_err();
/// let cause = std::error::Error::source(&error).unwrap();
/// assert_eq!(cause.to_string(), "several objects have the key, which only one should have: default/other, default/settings");
/// # Ok(())
/// # }
/// ```
pub struct UniqueIndex<K, I, T = K>(Index<K, I, T>);

/// An index whose keys are unique has found several objects.
#[derive(Debug, thiserror::Error)]
#[error("several objects have the key, which only one should have: {0}")]
struct NotUnique(String);

/// The function of an index has panicked, so that nothing is known of the keys of an object.
#[derive(Debug, thiserror::Error)]
#[error("the function of the index panics")]
struct Panicked;

impl<K, T> Cached<K, T>
where
    K: AnyObject,
    T: DeserializeOwned + 'static,
{
    /// Indexes the objects by the keys that a function finds in them: an `Option` of one, or any number.
    ///
    /// Ask for it once, as for the cache, and clone it: each call makes an index of its own. The function depends on the object
    /// alone; what else it reads is not looked at again when it changes. Its type `T` may be one with few fields
    /// ([`decode_as`](Self::decode_as), or a cache that [holds no others](Self::new)).
    ///
    /// An object that cannot be decoded, or for which the function panics, is an error of every look-up, since it may have the key. The log has a line about it.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Pod, Secret};
    /// use kubewright_controller::{Cached, Index, Informers, ObjectRef, Scope};
    ///
    /// /// The Secrets that a pod mounts.
    /// fn secrets(pod: &Pod) -> Vec<ObjectRef<Secret>> {
    ///     let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    ///     let volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
    ///     let names = volumes.filter_map(|volume| volume.secret.as_ref()?.secret_name.as_deref());
    ///     names.map(|name| (namespace, name).into()).collect()
    /// }
    ///
    /// let informers = Informers::new();
    /// let pods: Cached<Pod> = Cached::new(&informers, Scope::all());
    /// let by_secret: Index<Pod, ObjectRef<Secret>> = pods.index_by(secrets);
    /// assert!(by_secret.references(&("blue", "tls").into()).is_empty(), "nothing is known yet");
    /// ```
    pub fn index_by<I, Keys>(
        &self,
        keys: impl Fn(&T) -> Keys + Send + Sync + 'static,
    ) -> Index<K, I, T>
    where
        I: Ord + Clone + Send + Sync + 'static,
        Keys: IntoIterator<Item = I>,
    {
        let kind = self.informer().kind().clone();
        let find = move |entry: &Entry| {
            let found = find(entry, &keys);
            if let Err(error) = &found {
                let object = kind.reference(entry.key());
                tracing::error!(%object, %error, "cannot index an object: look-ups fail until it changes");
            }
            found
        };
        let postings = Arc::new(Postings::new(find));
        self.informer().index(&postings);
        Index {
            cached: self.clone(),
            postings,
        }
    }
}

fn find<T, I, Keys>(entry: &Entry, keys: &impl Fn(&T) -> Keys) -> Result<Vec<I>, Unknown>
where
    T: DeserializeOwned,
    Keys: IntoIterator<Item = I>,
{
    let find = || {
        let object: T = entry.decode().map_err(Undecodable::from)?;
        Ok::<_, Undecodable>(keys(&object).into_iter().collect())
    };
    match catch_unwind(AssertUnwindSafe(find)) {
        Ok(Ok(keys)) => Ok(keys),
        Ok(Err(error)) => Err(Arc::new(error)),
        Err(_) => Err(Arc::new(Panicked)),
    }
}

impl<K, I, T> Index<K, I, T>
where
    K: AnyObject,
    I: Ord + Clone,
    T: DeserializeOwned,
{
    /// Returns the objects that have a key, sorted by namespace and name. Waits until the cache has synced.
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
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().in_namespace("default"));
    /// let by_value = maps.index_by(|map| map.data.clone().into_iter().flatten().map(|(_, value)| value).collect::<Vec<_>>());
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(by_value.list("quiet").await?[0].metadata.name.as_deref(), Some("settings"));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for, or the keys of one are not known.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list<Q>(&self, key: &Q) -> Result<Vec<T>, ReadError>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.cached.informer().synced().await;
        self.cached.decode_all(&self.find(key, None)?)
    }

    /// Returns the objects of a namespace that have a key, sorted by name. Waits until the cache has synced.
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
    /// let by_mode = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned());
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(by_mode.list_in("default", "quiet").await?.len(), 1);
    /// assert!(by_mode.list_in("kube-system", "quiet").await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`list`](Self::list), for objects of this namespace alone; or the cache was narrowed to another namespace.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn list_in<Q>(&self, namespace: &str, key: &Q) -> Result<Vec<T>, ReadError>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.cached.informer().synced().await;
        self.cached.unless_without(namespace)?;
        self.cached.decode_all(&self.find(key, Some(namespace))?)
    }

    /// Returns references to the objects that have a key, for the functions of [`related`](crate::related). Does not wait for the
    /// first list. Objects whose keys are not known are not among them.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Pod, Secret};
    /// use kubewright_controller::{Cached, Index, Informers, ObjectRef, Scope, Watch, related};
    ///
    /// let informers = Informers::new();
    /// let pods: Cached<Pod> = Cached::new(&informers, Scope::all());
    /// let by_pull_secret: Index<Pod, ObjectRef<Secret>> = pods.index_by(|pod| {
    ///     let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
    ///     let secrets = pod.spec.iter().flat_map(|spec| spec.image_pull_secrets.iter().flatten());
    ///     secrets.map(|secret| (namespace, &*secret.name).into()).collect::<Vec<_>>()
    /// });
    /// // A controller of pods hears of the Secrets that they name.
    /// let watch: Watch<Pod> = related(move |secret: &Secret| by_pull_secret.references(&ObjectRef::of(secret))).into();
    /// # let _ = watch;
    /// ```
    pub fn references<Q>(&self, key: &Q) -> Vec<ObjectRef<K>>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let places = self.postings.places(key, |_| true);
        places.into_iter().map(ObjectRef::at).collect()
    }

    /// Returns references to the objects of a namespace that have a key, as [`references`](Self::references) does for all.
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
    /// let by_mode = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned());
    /// follow(informers, &cluster); // runs the informers
    /// maps.list().await?;
    /// assert_eq!(by_mode.references_in("default", "quiet"), [("default", "settings").into()]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn references_in<Q>(&self, namespace: &str, key: &Q) -> Vec<ObjectRef<K>>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let is_asked = |place: &Key| place.namespace() == Some(namespace);
        let places = self.postings.places(key, is_asked);
        places.into_iter().map(ObjectRef::at).collect()
    }

    /// Returns the same index, for keys of which no two objects should have the same.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Node;
    /// use kubewright_controller::{Cached, Informers, Scope, UniqueIndex};
    ///
    /// let nodes: Cached<Node> = Cached::new(&Informers::new(), Scope::all());
    /// let by_provider: UniqueIndex<Node, String> = nodes.index_by(|node| node.spec.as_ref()?.provider_id.clone()).unique();
    /// # let _ = by_provider;
    /// ```
    pub fn unique(&self) -> UniqueIndex<K, I, T> {
        UniqueIndex(self.clone())
    }

    fn find<Q>(&self, key: &Q, namespace: Option<&str>) -> Result<Vec<Arc<Entry>>, ReadError>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        let is_asked = |place: &Key| namespace.is_none() || place.namespace() == namespace;
        let mut unknown = None;
        let found = self.cached.informer().at(|| {
            unknown = self.postings.unknown(is_asked);
            self.postings.places(key, is_asked)
        });
        match unknown {
            None => Ok(found),
            Some((object, reason)) => {
                let object = self.cached.informer().kind().reference(&object);
                let what = format!("look up objects by an index that lacks {object}");
                Err(ReadError::new(what, Box::new(reason)))
            }
        }
    }
}

impl<K, I, T> UniqueIndex<K, I, T>
where
    K: AnyObject,
    I: Ord + Clone,
    T: DeserializeOwned,
{
    /// Returns the object that has a key, or `None` if there is none. Waits until the cache has synced.
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
    /// let by_mode = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned()).unique();
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(by_mode.get("quiet").await?.unwrap().metadata.name.as_deref(), Some("settings"));
    /// assert!(by_mode.get("loud").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When several objects have the key, which the error names; otherwise as for [`Index::list`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get<Q>(&self, key: &Q) -> Result<Option<T>, ReadError>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.0.cached.informer().synced().await;
        self.only(&self.0.find(key, None)?)
    }

    /// Returns the object of a namespace that has a key, where keys are unique within each namespace. Waits until the cache has
    /// synced.
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
    /// let by_mode = maps.index_by(|map| map.data.as_ref()?.get("mode").cloned()).unique();
    /// follow(informers, &cluster); // runs the informers
    /// assert!(by_mode.get_in("default", "quiet").await?.is_some());
    /// assert!(by_mode.get_in("kube-system", "quiet").await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When several objects of the namespace have the key, which the error names; otherwise as for [`Index::list_in`].
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn get_in<Q>(&self, namespace: &str, key: &Q) -> Result<Option<T>, ReadError>
    where
        I: Borrow<Q>,
        Q: Ord + ?Sized,
    {
        self.0.cached.informer().synced().await;
        self.0.cached.unless_without(namespace)?;
        self.only(&self.0.find(key, Some(namespace))?)
    }

    fn only(&self, found: &[Arc<Entry>]) -> Result<Option<T>, ReadError> {
        let cached = &self.0.cached;
        match found {
            [] => Ok(None),
            [entry] => cached.decode(entry).map(Some),
            several => {
                let names: Vec<_> = several
                    .iter()
                    .map(|entry| entry.key().to_string())
                    .collect();
                let kind = cached.informer().kind();
                let what = format!("read one of {kind} by a unique index key");
                Err(ReadError::new(what, NotUnique(names.join(", "))))
            }
        }
    }
}

impl<K, I, T> Clone for Index<K, I, T> {
    fn clone(&self) -> Self {
        Self {
            cached: self.cached.clone(),
            postings: Arc::clone(&self.postings),
        }
    }
}

impl<K, I, T> Clone for UniqueIndex<K, I, T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<K, I, T> fmt::Debug for Index<K, I, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Index").field(&self.cached).finish()
    }
}

impl<K, I, T> fmt::Debug for UniqueIndex<K, I, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_tuple("UniqueIndex")
            .field(&self.0.cached)
            .finish()
    }
}
