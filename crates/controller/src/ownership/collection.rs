//! The collection of what is owned by label: when its owner is deleted, and when its owner is gone.

use std::sync::{Arc, OnceLock};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::PartialObjectMeta;
use serde_json::json;

use super::ledger::Ledger;
use super::mark::Mark;
use crate::informer::{Informer, Subscription};
use crate::watch::Watch;
use crate::{
    Connection, Deleter, Informers, Key, Kind, ObjectRef, Reader, RequestError, Scope, Writer,
};

/// One kind of objects that those of a controller own by label.
pub(crate) struct Collection {
    /// The name of the label, the annotation and the finalizer.
    pub(super) name: Arc<str>,
    pub(super) kind: Kind,
    /// Where what is owned may be.
    pub(super) scope: Scope,
    connection: Connection,
    pub(super) informer: Informer,
    pub(super) is_optional: bool,
    pub(super) ledger: Arc<Ledger>,
    /// The kind of the owners, once a controller collects what they own.
    pub(super) owners: OnceLock<Kind>,
    pub(super) _subscription: Subscription,
}

/// An owner, as its controller knows it.
pub(crate) struct Owner<'a> {
    pub(crate) kind: &'a Kind,
    pub(crate) key: &'a Key,
}

impl Collection {
    /// Begins to note what is owned. `marked` is the scope of what has the label.
    pub(super) fn new(
        informers: &Informers,
        connection: &Connection,
        name: Arc<str>,
        kind: Kind,
        scope: Scope,
        marked: Scope,
    ) -> Arc<Self> {
        let ledger = Arc::new(Ledger::new(Arc::clone(&name)));
        let notes = Arc::clone(&ledger);
        let informer = informers.informer(kind.clone(), marked);
        Arc::new(Self {
            name,
            kind,
            scope,
            connection: connection.clone(),
            is_optional: informers.are_optional(),
            ledger,
            owners: OnceLock::new(),
            _subscription: informer.subscribe(move |delta| notes.note(delta)),
            informer,
        })
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.name
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    pub(super) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Takes note of who collects.
    pub(crate) fn is_collected_by(&self, owners: &Kind) {
        // A second controller of the same owners collects the same.
        drop(self.owners.set(owners.clone()));
    }

    /// Watches what is owned: a change concerns the owner that an object names.
    pub(crate) fn watch<K>(&self) -> Watch<K> {
        let name = Arc::clone(&self.name);
        let (kind, scope) = (self.informer.kind(), self.informer.scope());
        Watch::by_mark(
            kind.clone(),
            scope.clone(),
            self.is_optional,
            move |entry| Mark::of_entry(&name, entry).map(|mark| mark.owner),
        )
    }

    /// Deletes what an owner of this UID owns, and returns how many objects the API server still has: none is left when there are none.
    pub(super) async fn collect(
        &self,
        owner: &Owner<'_>,
        uid: &str,
    ) -> Result<usize, RequestError> {
        // No list is needed for what the cache shows.
        let known = self.ledger.owned(owner.key, uid);
        let known = known.iter().filter_map(|key| self.informer.get(key));
        let known: Vec<_> = known.filter_map(|entry| entry.decode().ok()).collect();
        if !known.is_empty() {
            tracing::info!(
                owner = owner.kind.reference(owner.key), owned = %self.kind, objects = known.len(),
                "collecting what an object owns that is being deleted"
            );
        }
        self.delete_all(known).await?;
        // What was created last may not be in the cache yet.
        let selector = format!("{}={uid}", self.name);
        let scope = self.scope.clone().labelled(selector);
        let left = self.reader(scope.clone()).list().await?;
        if left.is_empty() {
            return Ok(0);
        }
        self.delete_all(left).await?;
        Ok(self.reader(scope).list().await?.len())
    }

    async fn delete_all(&self, objects: Vec<PartialObjectMeta>) -> Result<(), RequestError> {
        let deletions = objects
            .into_iter()
            .filter(|object| object.metadata.deletion_timestamp.is_none());
        stream::iter(deletions)
            .map(|object| async move { self.delete(&object).await })
            .buffer_unordered(AT_ONCE)
            .try_collect()
            .await
    }

    /// Deletes what names this owner with another UID than `uid`, the one that the cache knows, if the API server does not know
    /// such an owner either. What was created by a request that arrived after its owner had gone is found like this.
    pub(super) async fn sweep(
        &self,
        owner: &Owner<'_>,
        uid: Option<&str>,
    ) -> Result<(), RequestError> {
        let stale = self.ledger.stale(owner.key, uid);
        if stale.is_empty() {
            return Ok(());
        }
        let found = owner.read(&self.connection).await?;
        let uid = found.and_then(|found| found.uid);
        for (key, _) in stale {
            let Some(object) = self.read(key).await? else {
                continue;
            };
            let is_orphan = Mark::of_metadata(&self.name, &object.metadata)
                .is_some_and(|mark| mark.owner == *owner.key && Some(&*mark.uid) != uid.as_deref());
            if is_orphan && object.metadata.deletion_timestamp.is_none() {
                tracing::info!(
                    owner = owner.kind.reference(owner.key),
                    owned = self.kind.reference(ObjectRef::of(&object).key()),
                    "collecting what an object owned that is gone"
                );
                self.delete(&object).await?;
            }
        }
        Ok(())
    }

    /// Deletes an object as it was read. One that has changed since, and may belong to another owner, stays for the next look.
    async fn delete(&self, object: &PartialObjectMeta) -> Result<(), RequestError> {
        let deleter: Deleter<PartialObjectMeta> =
            Deleter::dynamic(&self.connection, &self.kind, self.scope.clone());
        match deleter.delete_unchanged(object).await {
            Err(error) if error.is_conflict() => Ok(()),
            done => done,
        }
    }

    /// Reads the metadata of an object from the API server.
    pub(super) async fn read(&self, key: Key) -> Result<Option<PartialObjectMeta>, RequestError> {
        self.reader(self.scope.clone())
            .get(ObjectRef::at(key))
            .await
    }

    fn reader(&self, scope: Scope) -> Reader<PartialObjectMeta> {
        Reader::dynamic(&self.connection, &self.kind, scope)
    }
}

impl Owner<'_> {
    /// Reads the metadata of the owner from the API server.
    pub(crate) async fn read(
        &self,
        connection: &Connection,
    ) -> Result<Option<ObjectMeta>, RequestError> {
        let mut scope = Scope::all().named(self.key.name());
        if let Some(namespace) = self.key.namespace() {
            scope = scope.in_namespace(namespace);
        }
        // A list, because the answer to a get does not tell an object that is gone from a kind that is not served.
        let reader: Reader<PartialObjectMeta> = Reader::dynamic(connection, self.kind, scope);
        Ok(reader.list().await?.pop().map(|found| found.metadata))
    }

    /// Sets the finalizers, unless the owner has changed since it was read.
    pub(crate) async fn set_finalizers(
        &self,
        connection: &Connection,
        read: &ObjectMeta,
        finalizers: &[String],
    ) -> Result<(), RequestError> {
        let writer: Writer<PartialObjectMeta> =
            Writer::dynamic(connection, self.kind, Scope::all());
        let patch = json!({"metadata": {"resourceVersion": read.resource_version, "finalizers": finalizers}});
        writer
            .merge(ObjectRef::at(self.key.clone()), &patch)
            .await?;
        Ok(())
    }
}

/// So many deletions are sent at once.
const AT_ONCE: usize = 8;
