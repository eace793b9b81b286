//! What a webhook configuration says about a hook.

use std::time::Duration;

use kubewright_review::{ConversionVersion, Operation, Version};
use serde_json::Value;

use crate::Selector;

/// The entry of one hook in a webhook configuration. [`Webhooks::declarations`](crate::Webhooks::declarations) returns them.
///
/// ```
#[doc = include_str!("images.md")]
/// use kubewright_webhook::{FailurePolicy, Webhooks, validating};
///
/// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
/// // For example, a test that no hook of the program blocks requests while it is down for long.
/// for declared in webhooks.declarations() {
///     assert!(declared.failure_policy == FailurePolicy::Ignore || declared.timeout.as_secs() <= 10);
/// }
/// # assert_eq!(webhooks.declarations().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Declaration {
    /// The full name, such as `pinned-images.policy.example.com`.
    pub name: String,
    /// Whether it mutates or validates.
    pub role: Role,
    /// The path of the URL, such as `/pinned-images`.
    pub path: String,
    /// What it is called for.
    pub rules: Vec<Rule>,
    /// What happens if it cannot be called.
    pub failure_policy: FailurePolicy,
    /// Whether its decisions take effect. Webhook configurations do not contain this.
    pub mode: Mode,
    /// Whether it is also called for other versions of the same objects.
    pub match_policy: MatchPolicy,
    /// Whose namespaces it is called for.
    pub namespace_selector: Selector,
    /// Which objects it is called for.
    pub object_selector: Selector,
    /// CEL conditions that all have to hold.
    pub match_conditions: Vec<MatchCondition>,
    /// What it does besides answering.
    pub side_effects: SideEffects,
    /// How long the API server waits: 1 to 30 s.
    pub timeout: Duration,
    /// The versions of the review protocol, the preferred one first.
    pub review_versions: Vec<Version>,
    /// Whether it is called again after other hooks changed the object. Only mutating hooks have this.
    pub reinvocation: Reinvocation,
}

/// Everything that the definition of a custom resource says about its conversion.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConversionDeclaration {
    /// The CustomResourceDefinition with all versions, without its `spec.conversion`.
    pub definition: Value,
    /// The path of the URL, such as `/convert/widgets.example.com`.
    pub path: String,
    /// The versions of the conversion protocol, the preferred one first.
    pub review_versions: Vec<ConversionVersion>,
}

/// Whether a hook mutates or validates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these two")]
pub enum Role {
    /// Declared in a MutatingWebhookConfiguration.
    Mutating,
    /// Declared in a ValidatingWebhookConfiguration.
    Validating,
}

/// Operations on resources that a hook is called for.
///
/// ```
/// use kubewright_webhook::{Create, Rule, Scope, Update};
///
/// let rule = Rule::new([Create, Update], "apps", "v1", "deployments").scope(Scope::Namespaced);
/// assert_eq!(rule.groups, ["apps"]);
/// assert_eq!(rule.resources, ["deployments"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rule {
    /// The operations.
    pub operations: Vec<Operation>,
    /// The groups, `""` for the core group, `*` for all.
    pub groups: Vec<String>,
    /// The versions, `*` for all.
    pub versions: Vec<String>,
    /// The plural names, with a sub-resource as in `deployments/scale`, `*` for all.
    pub resources: Vec<String>,
    /// The scope.
    pub scope: Scope,
}

impl Rule {
    /// Selects one resource of one group and version, of any scope.
    ///
    /// ```
    /// use kubewright_webhook::{Connect, Rule, Scope};
    ///
    /// let exec = Rule::new([Connect], "", "v1", "pods/exec");
    /// assert_eq!(exec.operations, [Connect]);
    /// assert_eq!(exec.scope, Scope::Any);
    /// ```
    pub fn new(
        operations: impl IntoIterator<Item = Operation>,
        group: impl Into<String>,
        version: impl Into<String>,
        resource: impl Into<String>,
    ) -> Self {
        Self {
            operations: operations.into_iter().collect(),
            groups: vec![group.into()],
            versions: vec![version.into()],
            resources: vec![resource.into()],
            scope: Scope::Any,
        }
    }

    /// Narrows the rule to a scope.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}

/// Whether a rule is for objects in namespaces, of the cluster, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these three")]
pub enum Scope {
    /// `*`
    Any,
    /// `Cluster`
    Cluster,
    /// `Namespaced`
    Namespaced,
}

/// What happens to a request if the hook cannot be called or fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these two")]
pub enum FailurePolicy {
    /// The request fails.
    Fail,
    /// The request goes on as if the hook did not exist.
    Ignore,
}

/// Whether the decisions of a hook take effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "a decision has effect or none")]
pub enum Mode {
    /// They do.
    Enforce,
    /// They are logged and counted, and every request passes unchanged: [`Hook::shadow`](crate::Hook::shadow).
    Shadow,
}

impl Mode {
    /// Returns the label value for it in metrics and traces.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }
}

/// Whether a hook is also called for other versions of the same objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these two")]
pub enum MatchPolicy {
    /// Only for exactly the groups and versions of its rules.
    Exact,
    /// Also for equivalent resources, which the API server converts.
    Equivalent,
}

/// What a hook does besides answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these three")]
pub enum SideEffects {
    /// Nothing.
    None,
    /// Something, but nothing in a dry run: the handler looks at [`Review::dry_run`](crate::Review::dry_run).
    NoneOnDryRun,
    /// Something, also in a dry run. The API server does not accept this; [`Webhooks::check`](crate::Webhooks::check) says so
    /// earlier.
    Some,
}

/// Whether a mutating hook is called again after later hooks changed the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these two")]
pub enum Reinvocation {
    /// It is called once.
    Never,
    /// It is called again if the object changed after it.
    IfNeeded,
}

/// A CEL condition that has to hold for a hook to be called.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MatchCondition {
    /// Its name, unique in the hook.
    pub name: String,
    /// The CEL expression.
    pub expression: String,
}

impl MatchCondition {
    /// Names a CEL expression. [`Hook::when`](crate::Hook::when) adds one to a hook.
    pub fn new(name: impl Into<String>, expression: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            expression: expression.into(),
        }
    }
}
