//! What a reconcile knows besides its object.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, OwnerReference, Time};

use crate::clock::Clock;
use crate::ownership::{Owner, Refusal};
use crate::{
    AnyObject, Applier, ConditionStatus, CreateOrUpdate, Entry, Key, Kind, OperationResult,
    RequestError,
};

/// Context of a reconcile: its controller, the number of failures, the time, and the object as an owner. It is not generic, so
/// that any function can take it. Clones are cheap.
///
/// ```
/// use kubewright_controller::Action;
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
/// let (map, context) = reconciles.recv().await.unwrap();
/// assert_eq!(context.controller(), "settings");
/// assert_eq!(Some(context.owner_reference().uid), map.metadata.uid);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    pub(crate) controller: Arc<str>,
    pub(crate) cluster: Option<Arc<str>>,
    pub(crate) kind: Arc<Kind>,
    pub(crate) entry: Arc<Entry>,
    pub(crate) failures: u32,
    pub(crate) clock: Clock,
}

impl Context {
    /// Returns the name of the controller.
    ///
    /// ```
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// assert_eq!(reconciles.recv().await.unwrap().1.controller(), "settings");
    /// # Ok(())
    /// # }
    /// ```
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// Returns the name of the cluster that the object is in; `None`: it is the program's own.
    ///
    /// ```
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// assert_eq!(reconciles.recv().await.unwrap().1.cluster(), None);
    /// # Ok(())
    /// # }
    /// ```
    pub fn cluster(&self) -> Option<&str> {
        self.cluster.as_deref()
    }

    /// Returns the number of consecutive failed reconciles of this object before this one.
    ///
    /// ```
    /// use kubewright_controller::Error;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Err(Error::retry("the garden is locked"))).await;
    /// for failures in 0..3 {
    ///     assert_eq!(reconciles.recv().await.unwrap().1.failures(), failures);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the current time. In a test with paused time it advances with tokio's clock.
    ///
    /// ```
    /// use jiff::{SignedDuration, Timestamp};
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// assert!(Timestamp::now().duration_since(context.now()).abs() < SignedDuration::from_mins(1));
    /// # Ok(())
    /// # }
    /// ```
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Returns a controller reference to the object, for the objects that it owns: the garbage collector deletes them with it.
    ///
    /// ```
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let owner = reconciles.recv().await.unwrap().1.owner_reference();
    /// assert_eq!((&*owner.kind, &*owner.name, owner.controller), ("ConfigMap", "settings", Some(true)));
    /// # Ok(())
    /// # }
    /// ```
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

    /// Builds a condition of the object in its current generation, for its status. `reason` is one word in CamelCase, such as
    /// `Reconciled`; `message` is a sentence.
    ///
    /// [`set_condition`](crate::set_condition) puts it among the conditions of the status,
    /// [`StatusWriter::update`](crate::StatusWriter::update) writes that.
    ///
    /// ```
    /// use kubewright_controller::Action;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// let ready = context.condition("Ready", true, "Reconciled", "the settings are in use");
    /// assert_eq!((&*ready.type_, &*ready.status), ("Ready", "True"));
    /// # Ok(())
    /// # }
    /// ```
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
    /// The [owner reference](Self::owner_reference) has the garbage collector delete it with its owner, and a controller that
    /// [watches](crate::owned) its kind restores it after a change.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::{Action, Applier, Connection, Scope};
    /// use kubewright_testing::yaml;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// # let connection = Connection::new();
    /// # connection.open(cluster.client(), "gardener");
    /// let applier: Applier<Secret> = Applier::new(&connection, Scope::all());
    /// let secret = context.apply(&applier, yaml("{metadata: {name: copy}, stringData: {mode: quiet}}")).await?;
    /// assert_eq!(secret.metadata.namespace.as_deref(), Some("default"));
    /// assert_eq!(secret.metadata.owner_references.unwrap()[0].name, "settings");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the object is in another namespace, where its owner cannot own it, or the API server rejects the request or does not respond.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is applied.
    pub async fn apply<T: AnyObject>(
        &self,
        applier: &Applier<T>,
        object: T,
    ) -> Result<T, RequestError> {
        let object = self.owned("apply", applier.kind(), object)?;
        applier.apply(&object).await
    }

    /// Creates or updates an object that the reconciled object owns, in the namespace of its owner.
    ///
    /// A controller that [watches](crate::owned) its kind creates it again after a deletion, and restores it after a change. The
    /// garbage collector deletes it with its owner.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::{Action, Connection, CreateOrUpdate, Informers, OperationResult, Scope};
    /// use kubewright_testing::yaml;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// # let connection = Connection::new();
    /// # connection.open(cluster.client(), "gardener");
    /// let informers = Informers::new();
    /// let secrets: CreateOrUpdate<Secret> = CreateOrUpdate::new(&informers, &connection, Scope::all().named("copy"));
    /// # let client = cluster.client();
    /// # tokio::spawn(async move { informers.run(client).await });
    /// let result = context.create_or_update(&secrets, yaml("metadata: {name: copy}")).await?;
    /// assert_eq!(result, OperationResult::Created);
    /// let copy: Secret = cluster.get("copy").await.unwrap();
    /// assert_eq!(copy.metadata.owner_references.unwrap()[0].name, "settings");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// When the object is in another namespace, where its owner cannot own it, when the update conflicts with a concurrent
    /// change, or the API server rejects the request or does not answer.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn create_or_update<T: AnyObject>(
        &self,
        handle: &CreateOrUpdate<T>,
        object: T,
    ) -> Result<OperationResult, RequestError> {
        let object = self.owned("create or update", handle.kind(), object)?;
        handle.create_or_update(&object).await
    }

    /// Creates or updates an object that the reconciled object owns beside others, in the namespace of its owners: the garbage
    /// collector deletes it with the last of them.
    ///
    /// Its owner reference has no `controller: true`, which one owner of an object can have. [`apply`](Self::apply) cannot do this: a
    /// field manager that applies an object anew removes the owners that it applied before. Watch such objects with
    /// [`by_any_owner`](crate::Owned::by_any_owner).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Secret;
    /// use kubewright_controller::{Action, Connection, CreateOrUpdate, Informers, OperationResult, Scope};
    /// use kubewright_testing::yaml;
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, mut reconciles) = reconcile_settings(|_| Ok(Action::await_change())).await;
    /// let (_, context) = reconciles.recv().await.unwrap();
    /// # let connection = Connection::new();
    /// # connection.open(cluster.client(), "gardener");
    /// let informers = Informers::new();
    /// let secrets: CreateOrUpdate<Secret> = CreateOrUpdate::new(&informers, &connection, Scope::all().named("shared"));
    /// # let client = cluster.client();
    /// # tokio::spawn(async move { informers.run(client).await });
    /// context.share(&secrets, yaml("metadata: {name: shared}")).await?;
    /// let shared: Secret = cluster.get("shared").await.unwrap();
    /// assert_eq!(shared.metadata.owner_references.unwrap()[0].controller, None);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As for [`create_or_update`](Self::create_or_update).
    ///
    /// # Cancel safety
    ///
    /// Dropping the future leaves open whether the object is written.
    pub async fn share<T: AnyObject>(
        &self,
        handle: &CreateOrUpdate<T>,
        object: T,
    ) -> Result<OperationResult, RequestError> {
        let owner = OwnerReference {
            controller: None,
            ..self.owner_reference()
        };
        let object = self.owned_by(owner, "create or update", handle.kind(), object)?;
        handle.create_or_update(&object).await
    }

    pub(crate) fn owner(&self) -> Owner<'_> {
        Owner {
            kind: &self.kind,
            key: self.entry.key(),
        }
    }

    pub(crate) fn uid(&self) -> &str {
        self.entry.metadata().uid()
    }

    pub(crate) fn is_being_deleted(&self) -> bool {
        self.entry.metadata().is_being_deleted()
    }

    /// Whether the object has a finalizer, as far as its cache knows.
    pub(crate) fn has_finalizer(&self, name: &str) -> bool {
        self.entry.finalizers().iter().any(|known| known == name)
    }

    fn owned<T: AnyObject>(&self, verb: &str, kind: &Kind, object: T) -> Result<T, RequestError> {
        self.owned_by(self.owner_reference(), verb, kind, object)
    }

    /// Gives an object its owner. An owner in a namespace owns objects of this namespace alone: the garbage collector takes
    /// an object elsewhere for an orphan, and deletes it.
    fn owned_by<T: AnyObject>(
        &self,
        owner: OwnerReference,
        verb: &str,
        kind: &Kind,
        mut object: T,
    ) -> Result<T, RequestError> {
        let metadata = object.meta_mut();
        let home = self.entry.key().namespace();
        if kind.is_namespaced() && metadata.namespace.is_none() {
            metadata.namespace = home.map(str::to_owned);
        }
        let namespace = metadata.namespace.as_deref();
        if home.is_some() && (!kind.is_namespaced() || namespace != home) {
            let key = Key::new(namespace, metadata.name.as_deref().unwrap_or_default());
            let owner = self.kind.reference(self.entry.key());
            let refusal = Refusal::OutsideNamespace { owner };
            return Err(RequestError::refused(verb, kind.reference(&key), refusal));
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
            cluster: None,
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
            let owned = in_blue()
                .owned("create or update", &Kind::of::<ConfigMap>(), map(namespace))
                .unwrap()
                .metadata;
            assert_eq!(owned.namespace.as_deref(), Some("blue"));
            assert_eq!(owned.owner_references.unwrap()[0].name, "a");
        }
    }

    #[test]
    fn an_owner_in_a_namespace_owns_nothing_outside_of_it() {
        const WHY: &str = "ConfigMap blue/a cannot own an object outside of its namespace by an owner reference, for \
                           which the garbage collector would delete it: use `Ownership`, which owns by a label and a \
                           finalizer";
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some("red".to_owned());
        for (error, what) in [
            (
                in_blue()
                    .owned(
                        "create or update",
                        &Kind::of::<ConfigMap>(),
                        map(Some("red")),
                    )
                    .unwrap_err(),
                "cannot create or update ConfigMap red/copy",
            ),
            (
                in_blue()
                    .owned("apply", &Kind::of::<Namespace>(), namespace)
                    .unwrap_err(),
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
        let owned = context(Kind::of::<Namespace>(), object).owned(
            "create or update",
            &Kind::of::<ConfigMap>(),
            map(Some("red")),
        );
        assert_eq!(owned.unwrap().metadata.namespace.as_deref(), Some("red"));
    }
}
