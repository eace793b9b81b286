//! One hook: a handler and everything that a webhook configuration says about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubewright_review::{Operation, Version};

use crate::declaration::{
    Declaration, FailurePolicy, MatchCondition, MatchPolicy, Reinvocation, Role, Rule, Scope,
    SideEffects,
};
use crate::handler::{Object, Target};
use crate::lane::Lane;
use crate::link::{self, Link};
use crate::outcomes::Counters;
use crate::{Mutate, Selector, Validate};

/// Makes a hook of a validator.
///
/// The defaults are safe: operations CREATE and UPDATE, path `/` and the name, `failurePolicy: Fail`, 10 s, no side effects,
/// `matchPolicy: Equivalent`, reviews of version v1.
pub fn validating<K: Object, H: Validate<K>>(name: impl Into<String>, handler: H) -> Hook {
    Hook::new::<K>(name.into(), Role::Validating, link::validator(handler))
}

/// Makes a hook of a mutator. The defaults are those of [`validating`].
pub fn mutating<K: Object, H: Mutate<K>>(name: impl Into<String>, handler: H) -> Hook {
    Hook::new::<K>(name.into(), Role::Mutating, link::mutator(handler))
}

/// A handler and everything that a webhook configuration says about it.
#[derive(Clone)]
#[must_use]
pub struct Hook {
    pub(crate) name: String,
    pub(crate) full_name: Option<String>,
    pub(crate) role: Role,
    pub(crate) path: String,
    pub(crate) links: Vec<Arc<dyn Link>>,
    pub(crate) lane: Arc<Lane>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) when_undecodable: Undecodable,
    operations: Vec<Operation>,
    resource: Option<Target>,
    sub_resource: Option<String>,
    scope: Option<Scope>,
    rules: Vec<Rule>,
    failure_policy: FailurePolicy,
    match_policy: MatchPolicy,
    namespace_selector: Selector,
    object_selector: Selector,
    match_conditions: Vec<MatchCondition>,
    side_effects: SideEffects,
    pub(crate) timeout: Duration,
    review_versions: Vec<Version>,
    reinvocation: Reinvocation,
}

/// What to answer when the object cannot be read as the handler's type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "there are three outcomes, and so three answers"
)]
pub enum Undecodable {
    /// The review fails: it could not be judged, and `failurePolicy` decides.
    #[default]
    Fail,
    /// The request is denied.
    Deny,
    /// The request is allowed and the object stays as it is.
    PassThrough,
}

impl Hook {
    fn new<K: Object>(name: String, role: Role, link: Arc<dyn Link>) -> Self {
        Self {
            path: format!("/{name}"),
            name,
            full_name: None,
            role,
            links: vec![link],
            lane: Lane::new(),
            counters: Arc::default(),
            when_undecodable: Undecodable::default(),
            operations: vec![Operation::Create, Operation::Update],
            resource: K::target(),
            sub_resource: None,
            scope: None,
            rules: Vec::new(),
            failure_policy: FailurePolicy::Fail,
            match_policy: MatchPolicy::Equivalent,
            namespace_selector: Selector::everything(),
            object_selector: Selector::everything(),
            match_conditions: Vec::new(),
            side_effects: SideEffects::None,
            timeout: Duration::from_secs(10),
            review_versions: vec![Version::V1],
            reinvocation: Reinvocation::Never,
        }
    }

    /// Adds a mutator that gets the object as the earlier ones left it. All of them together answer one patch.
    ///
    /// The rule stays the one of the first handler's type.
    ///
    /// # Panics
    ///
    /// If the hook is a validating one, which changes nothing that another handler could get.
    pub fn then<K: Object, H: Mutate<K>>(mut self, handler: H) -> Self {
        assert!(
            self.role == Role::Mutating,
            "only mutators can be chained, and `{}` validates",
            self.name
        );
        self.links.push(link::mutator(handler));
        self
    }

    /// Sets the operations that it is called for.
    pub fn on(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Sets the path of its URL.
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets its full name, which is otherwise its name and the domain of the [`Webhooks`](crate::Webhooks).
    pub fn named(mut self, full_name: impl Into<String>) -> Self {
        self.full_name = Some(full_name.into());
        self
    }

    /// Lets requests pass if it cannot be called or fails (`failurePolicy: Ignore`).
    pub fn fail_open(mut self) -> Self {
        self.failure_policy = FailurePolicy::Ignore;
        self
    }

    /// Sets how long the API server waits, in whole seconds from 1 to 30.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Chooses the namespaces that it is called for, by their labels.
    pub fn in_namespaces(mut self, selector: Selector) -> Self {
        self.namespace_selector = selector;
        self
    }

    /// Chooses the objects that it is called for, by their labels.
    pub fn for_objects(mut self, selector: Selector) -> Self {
        self.object_selector = selector;
        self
    }

    /// Adds a CEL condition that has to hold for it to be called.
    pub fn when(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.match_conditions
            .push(MatchCondition::new(name, expression));
        self
    }

    /// Sets whether it is also called for other versions of the same objects.
    pub fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.match_policy = policy;
        self
    }

    /// Has it called again if the object changed after it (`reinvocationPolicy: IfNeeded`). Only for mutators.
    pub fn reinvoked(mut self) -> Self {
        self.reinvocation = Reinvocation::IfNeeded;
        self
    }

    /// Says what it does besides answering.
    pub fn side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = side_effects;
        self
    }

    /// Sets the versions of the review protocol, the preferred one first.
    pub fn review_versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.review_versions = versions.into_iter().collect();
        self
    }

    /// Has it called for a sub-resource, such as `status` or `scale`, instead of the object itself.
    ///
    /// Where the sub-resource has a kind of its own, [`Hook::of`] names the resource that it belongs to:
    /// `validating("limit", scale_limit).of::<Deployment>().sub_resource("scale")`.
    pub fn sub_resource(mut self, name: impl Into<String>) -> Self {
        self.sub_resource = Some(name.into());
        self
    }

    /// Sets the resource that it is called for, if it is not the one of the handler's type.
    pub fn of<R: Object>(mut self) -> Self {
        self.resource = R::target().or(self.resource);
        self
    }

    /// Sets the resource that it is called for, for handlers of dynamic objects.
    pub fn of_resource(mut self, resource: &kube_core::ApiResource, scope: Scope) -> Self {
        self.resource = Some(Target {
            group: resource.group.clone(),
            version: resource.version.clone(),
            plural: resource.plural.clone(),
            kind: resource.kind.clone(),
            scope,
        });
        self
    }

    /// Narrows or widens the scope that its rule has by the handler's type.
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Adds a rule. With a rule of its own, a hook of dynamic objects needs no resource.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets what to answer when the object cannot be read as the handler's type.
    pub fn when_undecodable(mut self, answer: Undecodable) -> Self {
        self.when_undecodable = answer;
        self
    }

    pub(crate) fn full_name(&self, domain: &str) -> String {
        self.full_name
            .clone()
            .unwrap_or_else(|| format!("{}.{domain}", self.name))
    }

    pub(crate) fn declaration(&self, domain: &str) -> Declaration {
        let own = self.resource.as_ref().map(|target| {
            let resource = match &self.sub_resource {
                Some(sub_resource) => format!("{}/{sub_resource}", target.plural),
                None => target.plural.clone(),
            };
            Rule::new(
                self.operations.iter().copied(),
                &target.group,
                &target.version,
                resource,
            )
            .scope(self.scope.unwrap_or(target.scope))
        });
        Declaration {
            name: self.full_name(domain),
            role: self.role,
            path: self.path.clone(),
            rules: own.into_iter().chain(self.rules.iter().cloned()).collect(),
            failure_policy: self.failure_policy,
            match_policy: self.match_policy,
            namespace_selector: self.namespace_selector.clone(),
            object_selector: self.object_selector.clone(),
            match_conditions: self.match_conditions.clone(),
            side_effects: self.side_effects,
            timeout: self.timeout,
            review_versions: self.review_versions.clone(),
            reinvocation: self.reinvocation,
        }
    }
}

impl fmt::Debug for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hook")
            .field("name", &self.name)
            .field("role", &self.role)
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
