//! Streams of the states of a cache: of one of its objects, and of all.

use std::fmt;

use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::cached::{Cached, ReadError};
use crate::informer::Subscription;
use crate::{AnyObject, Key, ObjectRef};

/// Follows one object of a cache: yields its current state, then each later one. Made by [`Cached::follow`].
pub struct Changes<K, T = K> {
    cached: Cached<K, T>,
    key: Key,
    news: watch::Receiver<()>,
    _subscription: Subscription,
}

impl<K: AnyObject, T: DeserializeOwned> Cached<K, T> {
    /// Follows one object: yields its current state, then each later one.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().named("settings"));
    /// let followed = async {
    ///     let mut changes = maps.follow((cluster.namespace(), "settings"));
    ///     assert!(changes.next().await.unwrap().is_none());
    ///     let settings: ConfigMap = yaml("{metadata: {name: settings}, data: {mode: quiet}}");
    ///     cluster.create(&settings).await.expect_allowed();
    ///     assert_eq!(changes.next().await.unwrap().unwrap().data.unwrap()["mode"], "quiet");
    /// };
    /// tokio::select! {
    ///     () = informers.run(cluster.client()) => {}
    ///     () = followed => {}
    /// }
    /// # }
    /// ```
    pub fn follow(&self, object: impl Into<ObjectRef<K>>) -> Changes<K, T> {
        Changes::new(self, object.into().into_key())
    }
}

/// Follows all objects of a cache. Made by [`Cached::follow_all`].
pub struct AllChanges<K, T = K> {
    cached: Cached<K, T>,
    news: watch::Receiver<()>,
    _subscription: Subscription,
}

impl<K: AnyObject, T: DeserializeOwned> Cached<K, T> {
    /// Follows all objects: yields all that there are, then all that there are after each change.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Cached, Informers, Scope};
    /// use kubewright_testing::{TestCluster, yaml};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let maps: Cached<ConfigMap> = Cached::new(&informers, Scope::all().labelled("app=web"));
    /// let followed = async {
    ///     let mut changes = maps.follow_all();
    ///     assert!(changes.next().await.unwrap().is_empty());
    ///     let settings: ConfigMap = yaml("metadata: {name: settings, labels: {app: web}}");
    ///     cluster.create(&settings).await.expect_allowed();
    ///     assert_eq!(changes.next().await.unwrap().len(), 1);
    /// };
    /// tokio::select! {
    ///     () = informers.run(cluster.client()) => {}
    ///     () = followed => {}
    /// }
    /// # }
    /// ```
    pub fn follow_all(&self) -> AllChanges<K, T> {
        let (sender, mut news) = watch::channel(());
        news.mark_changed();
        AllChanges {
            cached: self.clone(),
            news,
            _subscription: self.informer().subscribe(move |_| {
                sender.send_replace(());
            }),
        }
    }
}

impl<K: AnyObject, T: DeserializeOwned> AllChanges<K, T> {
    /// Waits until the objects differ from the last call, and returns them all. The first call returns the present ones. Changes in
    /// quick succession may be merged into one.
    ///
    /// # Errors
    ///
    /// When an object is not of the type that is asked for. The next call waits for the next change.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: the next call returns what this one would have returned.
    pub async fn next(&mut self) -> Result<Vec<T>, ReadError> {
        self.cached.informer().synced().await;
        // An error means that nothing can change any more, and the subscription keeps that from happening.
        drop(self.news.changed().await);
        self.cached.list().await
    }
}

impl<K, T> fmt::Debug for AllChanges<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("AllChanges").finish_non_exhaustive()
    }
}

impl<K: AnyObject, T: DeserializeOwned> Changes<K, T> {
    pub(super) fn new(cached: &Cached<K, T>, key: Key) -> Self {
        let (sender, mut news) = watch::channel(());
        news.mark_changed();
        let followed = key.clone();
        let subscription = cached.informer().subscribe(move |delta| {
            let entry = delta.new.as_ref().or(delta.old.as_ref());
            if entry.is_some_and(|entry| *entry.key() == followed) {
                sender.send_replace(());
            }
        });
        Self {
            cached: cached.clone(),
            key,
            news,
            _subscription: subscription,
        }
    }

    /// Waits until the object differs from the last call, and returns it; `None` if it does not exist. The first call returns the
    /// present state. Changes in quick succession may be merged into one.
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
    /// let mut changes = Cached::<ConfigMap>::new(&informers, Scope::all()).follow(("default", "settings"));
    /// follow(informers, &cluster); // runs the informers
    /// assert_eq!(changes.next().await?.unwrap().data.unwrap()["mode"], "quiet");
    /// cluster.delete::<ConfigMap>("settings").await.expect_allowed();
    /// assert!(changes.next().await?.is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the object is not of the type that is asked for, or the cache was narrowed to others. The next call waits for
    /// the next change.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing: the next call returns what this one would have returned.
    pub async fn next(&mut self) -> Result<Option<T>, ReadError> {
        self.cached.informer().synced().await;
        // An error means that nothing can change any more, and the subscription keeps that from happening.
        drop(self.news.changed().await);
        self.cached.get(ObjectRef::at(self.key.clone())).await
    }
}

impl<K, T> fmt::Debug for Changes<K, T> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Changes")
            .field("key", &self.key)
            .finish_non_exhaustive()
    }
}
