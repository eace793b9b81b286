//! Policies: expressions that an API server evaluates itself, or a webhook of the program in its place.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde_json::Value;

use crate::declaration::{Declaration, Mode, Role};
use crate::hook::Hook;

/// A policy as a part of [`Webhooks`](crate::Webhooks): what an API server evaluates, and the hook that decides the same on
/// clusters that are older than its kind. `kubewright-policy` makes it.
#[derive(Clone, Debug)]
#[must_use]
pub struct ClusterPolicy {
    pub(crate) hook: Arc<Hook>,
    spec: Value,
    binding: Value,
    problem: Option<String>,
    only_in_cluster: Option<String>,
}

/// Everything that a policy and its binding say. [`Webhooks::policies`](crate::Webhooks::policies) returns them.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PolicyDeclaration {
    /// What the hook of the policy is called for: that is what the policy is evaluated for.
    pub declaration: Declaration,
    /// The fields of the policy's spec beside `matchConstraints`, `failurePolicy` and `reinvocationPolicy`.
    pub spec: Value,
    /// The fields of the binding's spec beside `policyName`.
    pub binding: Value,
}

/// A minor version of Kubernetes, such as `1.30`.
///
/// ```
/// use kubewright_webhook::{KubernetesVersion, Role};
///
/// let version: KubernetesVersion = "1.30".parse()?;
/// assert!(version.has_policies(Role::Validating) && !version.has_policies(Role::Mutating));
/// assert!("1.x".parse::<KubernetesVersion>().is_err());
/// # Ok::<(), kubewright_webhook::NoKubernetesVersion>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KubernetesVersion {
    minor: u16,
}

/// The reason why a string is no version of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no minor version of Kubernetes, such as 1.30")]
pub struct NoKubernetesVersion(String);

impl KubernetesVersion {
    /// Whether clusters of this version serve the policies of a role as `v1`: ValidatingAdmissionPolicy since 1.30 and
    /// MutatingAdmissionPolicy since 1.36.
    #[must_use]
    pub fn has_policies(self, role: Role) -> bool {
        self.minor
            >= match role {
                Role::Validating => 30,
                Role::Mutating => 36,
            }
    }
}

impl FromStr for KubernetesVersion {
    type Err = NoKubernetesVersion;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let minor = text.trim_start_matches('v').strip_prefix("1.");
        let minor = minor.and_then(|minor| minor.parse().ok());
        match minor {
            Some(minor) => Ok(Self { minor }),
            None => Err(NoKubernetesVersion(text.to_owned())),
        }
    }
}

impl fmt::Display for KubernetesVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl ClusterPolicy {
    /// Makes a policy of a hook, which says what it is for, and of the rest of the specs of the policy and its binding.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{ClusterPolicy, Webhooks, validating};
    /// use serde_json::json;
    ///
    /// let spec = json!({"validations": [{"expression": "object.spec.hostNetwork != true"}]});
    /// let policy = ClusterPolicy::new(validating("images", images), spec, json!({"validationActions": ["Deny"]}));
    /// let webhooks = Webhooks::new("policy.example.com").with(policy);
    /// assert_eq!(webhooks.policies()[0].declaration.name, "images.policy.example.com");
    /// assert!(webhooks.declarations().is_empty(), "API servers evaluate it, and call no webhook");
    /// ```
    pub fn new(hook: Hook, spec: Value, binding: Value) -> Self {
        Self {
            hook: Arc::new(hook),
            spec,
            binding,
            problem: None,
            only_in_cluster: None,
        }
    }

    /// Says why an API server would not accept the policy: [`Webhooks::check`](crate::Webhooks::check) fails for it.
    pub fn invalid(mut self, why: impl Into<String>) -> Self {
        self.problem = Some(why.into());
        self
    }

    /// Says why the policy has no webhook: [`Webhooks::check`](crate::Webhooks::check) fails for it where it needs one.
    pub fn only_in_cluster(mut self, why: impl Into<String>) -> Self {
        self.only_in_cluster = Some(why.into());
        self
    }

    /// The hook of the policy, which decides what the policy decides.
    ///
    /// # Errors
    ///
    /// Why it has none.
    pub fn hook(&self) -> Result<&Hook, &str> {
        match &self.only_in_cluster {
            Some(why) => Err(why),
            None => Ok(&self.hook),
        }
    }

    /// The hook, where the policy is one on clusters of this version or newer ones, or cannot be anything else.
    pub(crate) fn as_hook(&self, oldest: Option<KubernetesVersion>) -> Option<&Arc<Hook>> {
        let is_old = oldest.is_some_and(|oldest| !oldest.has_policies(self.hook.role));
        // API servers change each object that a MutatingAdmissionPolicy matches.
        let is_trial = self.hook.mode == Mode::Shadow && self.hook.role == Role::Mutating;
        ((is_old || is_trial) && self.only_in_cluster.is_none()).then_some(&self.hook)
    }

    pub(crate) fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    pub(crate) fn declaration(&self, domain: &str) -> PolicyDeclaration {
        PolicyDeclaration {
            declaration: self.hook.declaration(domain),
            spec: self.spec.clone(),
            binding: self.binding.clone(),
        }
    }
}
