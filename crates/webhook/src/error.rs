//! Errors in the declarations of webhooks, found before they are served.

use crate::convert::DefinitionError;

/// The reason why webhooks cannot be served or installed, found by [`Webhooks::check`](crate::Webhooks::check).
///
/// ```
#[doc = include_str!("sidecar.md")]
/// use kubewright_webhook::{DeclarationError, Delete, Webhooks, mutating};
///
/// let webhooks = Webhooks::new("policy.example.com").with(mutating("sidecar", sidecar).on([Delete]));
/// let name = "sidecar.policy.example.com".to_owned();
/// assert_eq!(webhooks.check(), Err(DeclarationError::MutatesDelete(name)));
/// ```
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum DeclarationError {
    /// Two hooks have one name.
    #[error("two hooks are named `{0}`; give one another name, or set it with `.named(..)`")]
    NameClash(String),
    /// Two hooks have one path.
    #[error(
        "the hooks `{first}` and `{second}` are both at `{path}`; chain mutators with `.then(..)`, or set a path with `.at(..)`"
    )]
    PathClash {
        /// The path.
        path: String,
        /// The hook that was added first.
        first: String,
        /// The hook that was added later.
        second: String,
    },
    /// A name that the API server does not accept.
    #[error(
        "the hook name `{0}` is not a domain with at least three segments of lower-case letters, digits and `-`"
    )]
    Name(String),
    /// A path that the API server does not accept.
    #[error(
        "the path `{path}` of the hook `{hook}` does not begin with `/`, or has empty segments"
    )]
    Path {
        /// The hook.
        hook: String,
        /// The path.
        path: String,
    },
    /// A mutator that would be called for DELETE.
    #[error(
        "the hook `{0}` mutates and is called for DELETE, where nothing can be changed; validate instead"
    )]
    MutatesDelete(String),
    /// Side effects that also happen in a dry run.
    #[error(
        "the hook `{0}` has side effects in a dry run, which the API server does not accept; look at `review.dry_run()` and say `SideEffects::NoneOnDryRun`"
    )]
    SideEffects(String),
    /// A hook for a dynamic type that says nothing about its resource.
    #[error(
        "the hook `{0}` takes a dynamic type and has no rule; name its resource with `.of_resource(..)` or add a `.rule(..)`"
    )]
    NoRule(String),
    /// A hook that is never called.
    #[error("the hook `{0}` has a rule without operations")]
    NoOperations(String),
    /// A timeout that the API server does not accept.
    #[error("the timeout of the hook `{0}` is not 1 to 30 whole seconds")]
    Timeout(String),
    /// A validator that would be called again, which the API server does with mutators alone.
    #[error("the hook `{0}` validates, and only mutators are called again")]
    ValidatesAgain(String),
    /// The versions of a conversion do not fit together.
    #[error("cannot convert between the versions of a custom resource")]
    Conversion(#[from] DefinitionError),
    /// Two conversions of one custom resource.
    #[error(
        "there are two conversions for `{0}`; add all versions to one of them with `.spoke::<..>()`"
    )]
    TwoConversions(String),
    /// A hook that takes no reviews.
    #[error("the hook `{0}` takes no version of the review protocol, or one twice")]
    ReviewVersions(String),
    /// An API server does not accept a policy.
    #[error("the policy `{policy}` is invalid: {why}")]
    Policy {
        /// The policy.
        policy: String,
        /// What is wrong with it.
        why: String,
    },
    /// A cluster is too old for a policy that no webhook can decide.
    #[error(
        "the policy `{policy}` cannot be a webhook, which clusters of Kubernetes {version} need: {why}"
    )]
    NoWebhook {
        /// The policy.
        policy: String,
        /// The version of the oldest cluster.
        version: crate::KubernetesVersion,
        /// Why no webhook can decide it.
        why: String,
    },
}
