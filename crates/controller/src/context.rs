//! What a reconcile knows besides its object.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};

use crate::clock::Clock;
use crate::{Applier, ConditionStatus, Entry, Keeper, Kept, Key, Kind, Object, RequestError};

/// What a reconcile knows besides its object. It is not generic, so that functions take it freely; clones are cheap.
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) controller: Arc<str>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) failures: u32,
    pub(crate) clock: Clock,
}

impl Context {
    /// Returns the name of the controller.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// Returns how many reconciles of this object have failed in a row before this one.
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the time of day; in a test whose time is paused, it passes as that time does.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns the reference by which the object owns others: it is their controller, and they go when it goes.
    pub fn owner_reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.kind.api_version().to_owned(),
            kind: self.kind.name().to_owned(),
            name: self.entry.key().name().to_owned(),
            uid: self.entry.metadata().uid().to_owned(),
            controller: Some(true),
            block_owner_deletion: Some(true),
        }
    }

    /// Returns a condition of the object in its present generation, for its status. `reason` is a word for programs, such as
    /// `Kept`; `message` is for people.
    ///
    /// [`set_condition`](crate::set_condition) puts it among the conditions of the status,
    /// [`StatusWriter::keep`](crate::StatusWriter::keep) writes that.
    pub fn condition(
        &self,
        name: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: &str,
    ) -> Condition {
        Condition {
            type_: name.to_owned(),
            status: status.into().to_string(),
            reason: reason.to_owned(),
            message: message.to_owned(),
            observed_generation: self.entry.metadata().generation(),
            last_transition_time: Time(self.now()),
        }
    }

    /// Applies an object that the reconciled object owns, in the namespace of its owner.
    ///
    /// The [owner reference](Self::owner_reference) makes it go when its owner goes, and a controller that
    /// [watches](crate::owned) its kind puts back what somebody changes.
    ///
    /// # Errors
    ///
    /// When the object is in another namespace, where its owner cannot own it, or the API server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply<T: Object>(
        &self,
        applier: &Applier<T>,
        object: T,
    ) -> Result<T, RequestError> {
        applier.apply(&self.owned("apply", object)?).await
    }

    /// Creates or updates an object that the reconciled object owns, in the namespace of its owner.
    ///
    /// A controller that [watches](crate::owned) its kind makes again what somebody deletes, and puts back what somebody
    /// changes. It goes when its owner goes.
    ///
    /// # Errors
    ///
    /// When the object is in another namespace, where its owner cannot own it, when it has just been changed, or the API
    /// server refuses or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn keep<T: Object>(
        &self,
        keeper: &Keeper<T>,
        object: T,
    ) -> Result<Kept, RequestError> {
        keeper.keep(&self.owned("keep", object)?).await
    }

    /// Gives an object its owner. An owner in a namespace owns objects of this namespace alone: the garbage collector takes
    /// an object elsewhere for an orphan, and deletes it.
    fn owned<T: Object>(&self, verb: &str, mut object: T) -> Result<T, RequestError> {
        let (owner, kind) = (self.owner_reference(), Kind::of::<T>());
        let metadata = object.meta_mut();
        let home = self.entry.key().namespace();
        if kind.is_namespaced() && metadata.namespace.is_none() {
            metadata.namespace = home.map(str::to_owned);
        }
        let namespace = metadata.namespace.as_deref();
        if home.is_some() && (!kind.is_namespaced() || namespace != home) {
            let key = Key::new(namespace, metadata.name.as_deref().unwrap_or_default());
            let owner = self.kind.reference(self.entry.key());
            return Err(RequestError::not_owned(verb, &kind, &key, owner));
        }
        let owners = metadata.owner_references.get_or_insert_default();
        owners.retain(|known| known.uid != owner.uid);
        owners.push(owner);
        Ok(object)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use k8s_openapi::api::core::v1::{ConfigMap, Namespace};

    use super::*;

    fn context(kind: Kind, object: &str) -> Context {
        Context {
            controller: "maps".into(),
            kind: Arc::new(kind),
            entry: Arc::new(Entry::read(object).unwrap()),
            failures: 0,
            clock: Clock::new(),
        }
    }

    fn in_blue() -> Context {
        let object = r#"{"metadata": {"name": "a", "namespace": "blue", "uid": "1"}}"#;
        context(Kind::of::<ConfigMap>(), object)
    }

    fn map(namespace: Option<&str>) -> ConfigMap {
        let mut map = ConfigMap::default();
        map.metadata.name = Some("copy".to_owned());
        map.metadata.namespace = namespace.map(str::to_owned);
        map
    }

    #[test]
    fn an_owned_object_is_in_the_namespace_of_its_owner() {
        for namespace in [None, Some("blue")] {
            let owned = in_blue().owned("keep", map(namespace)).unwrap().metadata;
            assert_eq!(owned.namespace.as_deref(), Some("blue"));
            assert_eq!(owned.owner_references.unwrap()[0].name, "a");
        }
    }

    #[test]
    fn an_owner_in_a_namespace_owns_nothing_outside_of_it() {
        const WHY: &str = "ConfigMap blue/a cannot own an object outside of its namespace: write the object without an \
                           owner, label it, and delete it in a finalizer of its owner";
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("red".to_owned());
        for (error, what) in [
            (
                in_blue().owned("keep", map(Some("red"))).unwrap_err(),
                "cannot keep ConfigMap red/copy",
            ),
            (
                in_blue().owned("apply", namespace).unwrap_err(),
                "cannot apply Namespace red",
            ),
        ] {
            assert_eq!(error.to_string(), what);
            assert_eq!(error.source().unwrap().to_string(), WHY);
        }
    }

    #[test]
    fn an_owner_of_the_cluster_owns_objects_in_any_namespace() {
        let object = r#"{"metadata": {"name": "red", "uid": "1"}}"#;
        let owned = context(Kind::of::<Namespace>(), object).owned("keep", map(Some("red")));
        assert_eq!(owned.unwrap().metadata.namespace.as_deref(), Some("red"));
    }
}
