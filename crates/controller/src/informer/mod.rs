//! Shared caches: one list and watch for each kind and scope, however many read it.

mod ahead;
mod cache;
mod delta;
mod entry;
mod fields;
mod follow;
mod index;
mod lines;
mod position;
mod reads;
mod request;
mod selector;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod wire;
mod written;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;

use crate::sync::{self, Mutex, locked};
use crate::{Key, Kind, Scope, versions};

pub use cache::Follows;
pub(crate) use cache::{Informer, Subscription};
pub(crate) use delta::{Delta, Origin};
pub(crate) use entry::Owner;
pub use entry::{Entry, Metadata};
pub(crate) use index::{Postings, Unknown};
pub(crate) use reads::Reader;
pub use state::CacheState;
pub(crate) use written::Deletion;

/// All informers of a program: requests for the same kind and scope share one informer, which holds what they read together.
#[derive(Clone, Default)]
pub struct Informers {
    all: Arc<Mutex<Vec<Informer>>>,
    /// The client with which they were last run.
    client: Arc<Mutex<Option<Client>>>,
    is_optional: bool,
}

impl Informers {
    /// Makes a place for informers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the same informers, for handles that do not require that the API server serves their kinds: until it does, there
    /// are no objects. A cache that something else requires is required.
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
    /// # let (all, client) = (informers.clone(), cluster.client());
    /// # tokio::spawn(async move { all.run(client).await });
    /// assert!(monitors.list().await?.is_empty());
    /// assert_eq!(informers.not_served(), ["servicemonitors.monitoring.coreos.com"]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn optional(&self) -> Self {
        Self {
            all: Arc::clone(&self.all),
            client: Arc::clone(&self.client),
            is_optional: true,
        }
    }

    pub(crate) fn are_optional(&self) -> bool {
        self.is_optional
    }

    /// Returns the informer for a reader of whole objects.
    pub(crate) fn informer(&self, kind: Kind, scope: Scope) -> Informer {
        self.informer_for(None, kind, scope)
    }

    /// Returns the informer for a reader who decodes objects into a type.
    pub(crate) fn informer_for(
        &self,
        reader: Option<Reader>,
        kind: Kind,
        scope: Scope,
    ) -> Informer {
        let informer = self.shared(reader, kind, scope);
        if !self.is_optional {
            informer.require();
        }
        informer
    }

    fn shared(&self, reader: Option<Reader>, kind: Kind, scope: Scope) -> Informer {
        let mut all = locked(self.all.lock());
        let known = all
            .iter()
            .find(|known| *known.kind() == kind && *known.scope() == scope && known.admits(reader));
        if let Some(known) = known {
            return known.clone();
        }
        let informer = Informer::new(kind, scope);
        informer.admits(reader);
        all.push(informer.clone());
        informer
    }

    /// Returns the informer of a kind that is optional or not.
    pub(crate) fn asked(&self, is_optional: bool, kind: &Kind, scope: &Scope) -> Informer {
        let (kind, scope) = (kind.clone(), scope.clone());
        if is_optional {
            self.optional().informer(kind, scope)
        } else {
            self.informer(kind, scope)
        }
    }

    /// Follows everything that was asked for until it is dropped. What is asked for later is not followed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends all watches. What is known stays, and is brought up to date by the next call.
    pub async fn run(&self, client: Client) {
        *locked(self.client.lock()) = Some(client.clone());
        let mut followers = JoinSet::new();
        for informer in self.all() {
            informer.settle();
            followers.spawn(follow::follow(client.clone(), informer));
        }
        while let Some(ended) = followers.join_next().await {
            if let Err(error) = ended
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        std::future::pending::<()>().await;
    }

    /// Waits until everything that was asked for is known. A kind that the API server does not serve is waited for, unless all
    /// that asked for it said that it is optional.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn synced(&self) {
        for informer in self.all() {
            informer.synced().await;
        }
    }

    /// Returns the kinds that are not known yet.
    pub fn missing(&self) -> Vec<String> {
        self.all()
            .iter()
            .filter(|informer| !informer.is_synced())
            .map(|informer| informer.kind().to_string())
            .collect()
    }

    /// Returns the kinds that the API server does not serve at present, required or not.
    pub fn not_served(&self) -> Vec<String> {
        self.all()
            .iter()
            .filter(|informer| !informer.is_served())
            .map(|informer| informer.kind().to_string())
            .collect()
    }

    /// Returns how it goes with the caches of each kind.
    pub fn follows(&self) -> BTreeMap<String, Follows> {
        let mut kinds: BTreeMap<String, Follows> = BTreeMap::new();
        for informer in self.all() {
            let follows = kinds.entry(informer.kind().to_string()).or_default();
            let one = informer.follows();
            follows.objects += one.objects;
            follows.lists += one.lists;
            follows.watches += one.watches;
            follows.failures += one.failures;
            follows.not_served += one.not_served;
        }
        kinds
    }

    /// The client that they follow with, once they have been run.
    pub(crate) fn client(&self) -> Option<Client> {
        locked(self.client.lock()).clone()
    }

    /// Returns the state of each cache. It reads the length of every cached object.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Namespace;
    /// use kubewright_controller::{Cached, Informers, Scope};
    /// use kubewright_testing::TestCluster;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let cluster = TestCluster::start().await;
    /// let informers = Informers::new();
    /// let namespaces: Cached<Namespace> = Cached::new(&informers, Scope::all());
    /// let before = informers.caches();
    /// assert_eq!((before[0].is_synced, before[0].last_event), (false, None));
    /// # let (all, client) = (informers.clone(), cluster.client());
    /// # tokio::spawn(async move { all.run(client).await });
    /// let listed = namespaces.list().await.unwrap().len();
    /// let after = &informers.caches()[0];
    /// assert_eq!((after.is_synced, after.follows.objects), (true, listed));
    /// assert!(after.bytes > 0 && after.last_event.is_some() && after.resource_version.is_some());
    /// # }
    /// ```
    pub fn caches(&self) -> Vec<CacheState> {
        self.all().iter().map(Informer::state).collect()
    }

    /// Whether these are the same informers.
    pub(crate) fn are(&self, others: &Self) -> bool {
        Arc::ptr_eq(&self.all, &others.all)
    }

    fn all(&self) -> Vec<Informer> {
        locked(self.all.lock()).clone()
    }
}

impl fmt::Debug for Informers {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.all()).finish()
    }
}
