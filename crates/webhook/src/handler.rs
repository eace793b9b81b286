//! What users write: validators and mutators.

use std::any::{Any, TypeId};

use kube_core::{ClusterResourceScope, NamespaceResourceScope, Resource};
use kubewright_review::Change;
use serde::{Serialize, de::DeserializeOwned};

use crate::declaration::Scope;
use crate::{Mutated, Review, Validated};

/// Validates a change. Implemented by `async fn(Change<K>, Review) -> Validated`.
///
/// A handler with state implements it for a type:
///
/// ```
/// use k8s_openapi::api::core::v1::Namespace;
/// use kubewright_webhook::{Change, Review, Validate, Validated, deny};
///
/// struct Prefix(String);
///
/// impl Validate<Namespace> for Prefix {
///     async fn validate(&self, change: Change<Namespace>, _: Review) -> Validated {
///         match &change.object().metadata.name {
///             Some(name) if name.starts_with(&self.0) => Ok(()),
///             _ => deny(format_args!("the name of the namespace does not begin with {}", self.0)),
///         }
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let prefix = Prefix("team-".to_owned());
/// let mut namespace = Namespace::default();
/// namespace.metadata.name = Some("team-blue".to_owned());
/// assert!(prefix.validate(Change::Create(namespace), Review::builder().build()).await.is_ok());
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot validate `{K}`",
    note = "a validator is `async fn(Change<{K}>, Review) -> Validated`, or a type that implements `Validate<{K}>`"
)]
pub trait Validate<K>: Send + Sync + 'static {
    /// Judges one change.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped at the review's deadline, and when the API server goes away.
    fn validate(&self, change: Change<K>, review: Review)
    -> impl Future<Output = Validated> + Send;
}

#[diagnostic::do_not_recommend]
impl<K, F, Answer> Validate<K> for F
where
    F: Fn(Change<K>, Review) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Validated> + Send,
{
    fn validate(
        &self,
        change: Change<K>,
        review: Review,
    ) -> impl Future<Output = Validated> + Send {
        self(change, review)
    }
}

/// Changes an object before it is stored. Implemented by `async fn(Change<K>, Review) -> Mutated<K>`.
///
/// The handler returns the object to store. Fields that `K` does not know survive, and an object that comes back unchanged gives
/// no patch.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Mutate, Mutated, Review};
///
/// struct Runtime { class: String }
///
/// impl Mutate<Pod> for Runtime {
///     async fn mutate(&self, change: Change<Pod>, _: Review) -> Mutated<Pod> {
///         let mut pod = change.into_object();
///         let spec = pod.spec.get_or_insert_default();
///         spec.runtime_class_name.get_or_insert_with(|| self.class.clone());
///         Ok(pod)
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let runtime = Runtime { class: "gvisor".to_owned() };
/// let pod = runtime.mutate(Change::Create(Pod::default()), Review::in_namespace("blue")).await.unwrap();
/// assert_eq!(pod.spec.unwrap().runtime_class_name.as_deref(), Some("gvisor"));
/// # }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot mutate `{K}`",
    note = "a mutator is `async fn(Change<{K}>, Review) -> Mutated<{K}>`, or a type that implements `Mutate<{K}>`"
)]
pub trait Mutate<K>: Send + Sync + 'static {
    /// Returns the object that this change should store.
    ///
    /// # Cancel safety
    ///
    /// The future is dropped at the review's deadline, and when the API server goes away.
    fn mutate(&self, change: Change<K>, review: Review) -> impl Future<Output = Mutated<K>> + Send;
}

#[diagnostic::do_not_recommend]
impl<K, F, Answer> Mutate<K> for F
where
    F: Fn(Change<K>, Review) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Mutated<K>> + Send,
{
    fn mutate(&self, change: Change<K>, review: Review) -> impl Future<Output = Mutated<K>> + Send {
        self(change, review)
    }
}

/// A Kubernetes object that handlers can take: a type of k8s-openapi, a derived custom resource, a `DynamicObject`, a
/// `PartialObjectMeta`, or your own type with the few fields that you read.
///
/// A handler that only looks at metadata is generic over it:
///
/// ```
/// use k8s_openapi::api::core::v1::{ConfigMap, Secret};
/// use kubewright_webhook::{Change, Object, Review, Validated, Webhooks, deny, validating};
///
/// async fn labelled<K: Object>(change: Change<K>, _: Review) -> Validated {
///     if change.object().meta().labels.is_none() {
///         return deny("the object has no labels");
///     }
///     Ok(())
/// }
///
/// let webhooks = Webhooks::new("policy.example.com")
///     .with(validating("config-maps", labelled::<ConfigMap>))
///     .with(validating("secrets", labelled::<Secret>));
/// assert_eq!(webhooks.declarations()[1].rules[0].resources, ["secrets"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an object that a webhook can take",
    note = "an object implements kube's `Resource` and serde's `Serialize` and `Deserialize`"
)]
pub trait Object: Resource + DeserializeOwned + Serialize + Send + 'static {
    /// What the type says about itself, unless it is dynamic.
    #[doc(hidden)]
    fn target() -> Option<Target>;
}

impl<K> Object for K
where
    K: Resource + DeserializeOwned + Serialize + Send + 'static,
    K::Scope: 'static,
{
    fn target() -> Option<Target> {
        let nothing: Box<dyn Any> = Box::new(());
        let dynamic_type = nothing.downcast::<K::DynamicType>().ok()?;
        Some(Target {
            group: K::group(&dynamic_type).into_owned(),
            version: K::version(&dynamic_type).into_owned(),
            plural: K::plural(&dynamic_type).into_owned(),
            kind: K::kind(&dynamic_type).into_owned(),
            scope: if TypeId::of::<K::Scope>() == TypeId::of::<NamespaceResourceScope>() {
                Scope::Namespaced
            } else if TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>() {
                Scope::Cluster
            } else {
                Scope::Any
            },
        })
    }
}

/// What a type says about itself.
#[doc(hidden)]
#[derive(Clone, Debug)]
#[expect(
    unnameable_types,
    reason = "`Object` is public, and only this crate reads what its types say"
)]
pub struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) kind: String,
    pub(crate) scope: Scope,
}
