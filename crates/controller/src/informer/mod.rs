//! Shared caches: one list and watch for each kind and scope, however many read it.

mod cache;
mod delta;
mod entry;
mod follow;
mod lines;
mod request;
mod store;
#[cfg(test)]
mod tests;
mod text;
mod wire;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use kube::Client;
use tokio::task::JoinSet;

use crate::sync::{self, Mutex, locked};
use crate::{Key, Kind, Scope};

pub use cache::Follows;
pub(crate) use cache::{Informer, Subscription};
pub(crate) use delta::{Delta, Origin};
pub use entry::{Entry, Metadata};

/// All informers of a program: requests for the same kind and scope share one informer.
#[derive(Clone, Default)]
pub struct Informers {
    all: Arc<Mutex<Vec<Informer>>>,
}

impl Informers {
    /// Makes a place for informers.
    pub fn new() -> Self {
        Self::default()
    }

    pub(crate) fn informer(&self, kind: Kind, scope: Scope) -> Informer {
        let mut all = locked(self.all.lock());
        let known = all
            .iter()
            .find(|known| *known.kind() == kind && *known.scope() == scope);
        if let Some(known) = known {
            return known.clone();
        }
        let informer = Informer::new(kind, scope);
        all.push(informer.clone());
        informer
    }

    /// Follows everything that was asked for until it is dropped. What is asked for later is not followed.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends all watches. What is known stays, and is brought up to date by the next call.
    pub async fn run(&self, client: Client) {
        let mut followers = JoinSet::new();
        for informer in self.all() {
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

    /// Waits until everything that was asked for is known.
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
        }
        kinds
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
