//! What a controller does for all that its objects own by label.

use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::collection::{Collection, Owner};
use crate::{Entry, Key, RequestError};

/// What a controller does for what its objects own by label. It is a trait, so that programs whose controllers own nothing like this have
/// none of its code.
pub(crate) trait Collects: Send + Sync {
    /// Has another kind of owned objects collected.
    fn add(&mut self, collection: Arc<Collection>);

    /// After a reconcile that has succeeded or not: collects what an earlier owner of this name owned, and after one that has
    /// succeeded what an owner that is being deleted owns. `false`: some of it is left.
    fn after<'a>(
        &'a self,
        owner: Owner<'a>,
        entry: &'a Entry,
        has_succeeded: bool,
    ) -> BoxFuture<'a, Result<bool, RequestError>>;

    /// Collects what an owner owned that the cache does not have.
    fn for_gone<'a>(&'a self, owner: Owner<'a>) -> BoxFuture<'a, Result<(), RequestError>>;

    /// Returns the owners that objects name.
    fn owners(&self) -> Vec<Key>;
}

#[derive(Default)]
pub(crate) struct Collector(Vec<Arc<Collection>>);

impl Collector {
    async fn sweep(&self, owner: &Owner<'_>, uid: Option<&str>) -> Result<(), RequestError> {
        for collection in &self.0 {
            collection.sweep(owner, uid).await?;
        }
        Ok(())
    }

    /// Removes the finalizers from an owner that owns nothing any more. `false`: something that it owns is left.
    async fn let_go(&self, owner: &Owner<'_>, entry: &Entry) -> Result<bool, RequestError> {
        let Some(first) = self.0.first() else {
            return Ok(true);
        };
        if !entry.finalizers().iter().any(|name| self.has(name)) {
            return Ok(true);
        }
        let uid = entry.metadata().uid();
        for collection in &self.0 {
            if collection.collect(owner, uid).await? > 0 {
                return Ok(false);
            }
        }
        let connection = first.connection();
        let Some(found) = owner.read(connection).await? else {
            return Ok(true);
        };
        let mut left = found.finalizers.clone().unwrap_or_default();
        left.retain(|name| !self.has(name));
        if found.uid.as_deref() != Some(uid) || found.finalizers.as_ref() == Some(&left) {
            return Ok(true);
        }
        match owner.set_finalizers(connection, &found, &left).await {
            Err(error) if error.is_not_found() => Ok(true),
            done => done.map(|()| true),
        }
    }

    fn has(&self, finalizer: &str) -> bool {
        let mut names = self.0.iter().map(|collection| collection.name());
        names.any(|name| **name == *finalizer)
    }
}

impl Collects for Collector {
    fn add(&mut self, collection: Arc<Collection>) {
        self.0.push(collection);
    }

    fn after<'a>(
        &'a self,
        owner: Owner<'a>,
        entry: &'a Entry,
        has_succeeded: bool,
    ) -> BoxFuture<'a, Result<bool, RequestError>> {
        async move {
            self.sweep(&owner, Some(entry.metadata().uid())).await?;
            if has_succeeded && entry.metadata().is_being_deleted() {
                return self.let_go(&owner, entry).await;
            }
            Ok(true)
        }
        .boxed()
    }

    fn for_gone<'a>(&'a self, owner: Owner<'a>) -> BoxFuture<'a, Result<(), RequestError>> {
        async move { self.sweep(&owner, None).await }.boxed()
    }

    fn owners(&self) -> Vec<Key> {
        let collections = self.0.iter();
        collections
            .flat_map(|collection| collection.ledger().owners())
            .collect()
    }
}
