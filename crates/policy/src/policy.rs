//! A policy: what it is for, and its expressions.

mod mutating;
mod validating;

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use kube_core::ApiResource;
use kubewright_controller::{Cached, Object as CachedObject};
use kubewright_webhook::{
    ClusterPolicy, FailurePolicy, Hook, MatchPolicy, Object, Operation, Part, Role,
    Rule as Resources, Scope, Selector,
};

use crate::answer::Answer;
use crate::check::{self, Mistake, Typed};
use crate::compiled::Compiled;
use crate::expression::Source;
use crate::namespaces::Namespaces;
use crate::params::{ParamRef, Params};
use crate::parts::Parts;
use crate::ready::{Ready, answer};
use crate::request::Request;
use crate::tally::Tally;
use crate::{Validates, form};

/// An admission policy: expressions in CEL that are evaluated for every change of objects of the kind `K`.
///
/// [`Policy::validating`] makes one with rules that have to hold, and [`Policy::mutating`] one that changes objects.
/// [`Webhooks::with`](kubewright_webhook::Webhooks::with) takes it as it takes a hook, and its methods have the names of those of a
/// hook. The defaults are those of a hook, too: it is evaluated when objects are created and updated, and what cannot be evaluated denies.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_policy::Policy;
/// use kubewright_webhook::Webhooks;
///
/// let images = Policy::<Pod>::validating("images")
///     .rule("object.spec.containers.all(c, !c.image.endsWith(':latest'))", "name a version");
/// let webhooks = Webhooks::new("policy.example.com").with(images);
/// assert_eq!(webhooks.check(), Ok(()));
/// let [policy] = &webhooks.policies()[..] else { panic!() };
/// assert_eq!(policy.declaration.name, "images.policy.example.com");
/// assert_eq!(policy.spec["validations"][0]["message"], "name a version");
/// ```
#[must_use = "a policy is added with `Webhooks::with`"]
pub struct Policy<K, R = Validates> {
    name: String,
    hook: Hook,
    role: Role,
    pub(crate) parts: Parts,
    /// Where the handler of the hook finds the policy, once it is complete.
    ready: Arc<OnceLock<Ready>>,
    compiled: OnceLock<Compiled>,
    tally: Option<Arc<Tally>>,
    kind: PhantomData<fn() -> (K, R)>,
}

/// Whether the conditions of a policy, its variables and what it is for are the same for both sorts of policies.
impl<K: Object, R> Policy<K, R> {
    fn new(name: String, role: Role, hook: Hook, ready: Arc<OnceLock<Ready>>) -> Self {
        Self {
            name,
            hook,
            role,
            parts: Parts::default(),
            ready,
            compiled: OnceLock::new(),
            tally: None,
            kind: PhantomData,
        }
    }

    fn part(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(&mut self.parts);
        self.compiled = OnceLock::new();
        self
    }

    fn of_hook(mut self, change: impl FnOnce(Hook) -> Hook) -> Self {
        self.hook = change(self.hook);
        self
    }

    /// Names an expression for others to use as `variables.<name>`, those that are declared after it and those of rules. It is
    /// evaluated once at most, when it is first used.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Deployment>::validating("replicas")
    ///     .variable("replicas", "object.spec.?replicas.orValue(1)")
    ///     .rule("variables.replicas <= 5", "have at most 5 replicas");
    /// let request = Request::create::<Deployment>(json!({"spec": {"replicas": 7}}));
    /// assert_eq!(policy.decide(&request).denial().unwrap().message, "have at most 5 replicas");
    /// ```
    #[track_caller]
    pub fn variable(self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        let source = Source::new(expression);
        self.part(|parts| parts.variables.push((name.into(), source)))
    }

    /// Evaluates the policy only where this condition holds: a match condition, which has to have a name.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("hosts")
    ///     .when("not-nodes", "!('system:nodes' in request.userInfo.groups)")
    ///     .rule("!object.spec.?hostNetwork.orValue(false)", "no pod has the network of its node");
    /// let request = Request::create::<Pod>(json!({"spec": {"hostNetwork": true}}));
    /// assert!(policy.decide(&request.clone().user("system:node:a", ["system:nodes"])).skipped);
    /// assert!(policy.decide(&request.user("ann", ["developers"])).denial().is_some());
    /// ```
    #[track_caller]
    pub fn when(self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        let source = Source::new(expression);
        self.part(|parts| parts.conditions.push((name.into(), source)))
    }

    /// Gives the policy parameters, objects of the kind `P`, which expressions see as `params`. The policy is evaluated once for each
    /// of them.
    ///
    /// The API server reads them. A webhook needs [`params_from`](Self::params_from), which is a permission of the program.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    /// use kubewright_policy::{ParamRef, Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<Pod>::validating("registries")
    ///     .params::<ConfigMap>(ParamRef::named("registries"))
    ///     .rule("object.spec.containers.all(c, c.image.startsWith(params.data.registry + '/'))", "use the registry");
    /// let pod = json!({"metadata": {"namespace": "blue"}, "spec": {"containers": [{"image": "docker.io/nginx"}]}});
    /// let registries = json!({"metadata": {"name": "registries", "namespace": "blue"}, "data": {"registry": "ghcr.io"}});
    /// let request = Request::create::<Pod>(pod);
    /// assert!(policy.decide(&request.clone()).denial().unwrap().message.contains("no params found"));
    /// assert_eq!(policy.decide(&request.params([registries])).denial().unwrap().message, "use the registry");
    /// ```
    pub fn params<P: CachedObject>(self, reference: ParamRef) -> Self {
        self.part(|parts| parts.params = Some(Params::of::<P>(reference)))
    }

    /// Gives the policy parameters, as [`params`](Self::params), and the cache that a webhook reads them from.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{ConfigMap, Pod};
    /// use kubewright_controller::Cached;
    /// use kubewright_policy::{ParamRef, Policy};
    ///
    /// /// `registries` is what `needs.cached::<ConfigMap>()` returns.
    /// fn policy(registries: Cached<ConfigMap>) -> Policy<Pod> {
    ///     Policy::validating("registries")
    ///         .params_from(registries, ParamRef::named("registries"))
    ///         .rule("object.spec.containers.all(c, c.image.startsWith(params.data.registry))", "use the registry")
    /// }
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a handle is given to whatever uses it, as to a handler"
    )]
    pub fn params_from<P: CachedObject>(self, cache: Cached<P>, reference: ParamRef) -> Self {
        self.part(|parts| parts.params = Some(Params::cached(&cache, reference)))
    }

    /// Sets the cache that a webhook reads namespaces from, for policies with `namespaceObject`. API servers need none.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::{Namespace, Pod};
    /// use kubewright_controller::Cached;
    /// use kubewright_policy::Policy;
    ///
    /// /// `namespaces` is what `needs.cached::<Namespace>()` returns.
    /// fn policy(namespaces: Cached<Namespace>) -> Policy<Pod> {
    ///     Policy::validating("labels")
    ///         .namespaces_from(namespaces)
    ///         .rule("'team' in namespaceObject.metadata.labels", "label the namespace with its team")
    /// }
    /// ```
    #[expect(
        clippy::needless_pass_by_value,
        reason = "a handle is given to whatever uses it, as to a handler"
    )]
    pub fn namespaces_from<N: CachedObject>(self, cache: Cached<N>) -> Self {
        self.part(|parts| parts.namespaces = Some(Namespaces::cached(&cache)))
    }

    /// Sets the operations that the policy is evaluated for. Default: [`Create`](kubewright_webhook::Create) and
    /// [`Update`](kubewright_webhook::Update).
    pub fn on(self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.of_hook(|hook| hook.on(operations))
    }

    /// Selects the namespaces of the objects by their labels. Default: all.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::Policy;
    /// use kubewright_webhook::{Create, Selector, Webhooks};
    ///
    /// let policy = Policy::<Pod>::validating("images")
    ///     .on([Create])
    ///     .in_namespaces(Selector::label("env", "production"))
    ///     .rule("has(object.metadata.labels)", "label the pod");
    /// let declared = Webhooks::new("example.com").with(policy).policies().remove(0).declaration;
    /// assert_eq!(declared.rules[0].operations, [Create]);
    /// assert_eq!(declared.namespace_selector, Selector::label("env", "production"));
    /// ```
    pub fn in_namespaces(self, selector: Selector) -> Self {
        self.of_hook(|hook| hook.in_namespaces(selector))
    }

    /// Selects the objects by their labels. Default: all.
    pub fn for_objects(self, selector: Selector) -> Self {
        self.of_hook(|hook| hook.for_objects(selector))
    }

    /// Sets whether the policy is also evaluated for other versions of the same objects. Default: [`MatchPolicy::Equivalent`].
    pub fn match_policy(self, policy: MatchPolicy) -> Self {
        self.of_hook(|hook| hook.match_policy(policy))
    }

    /// Narrows the policy to a scope. Default: that of its kind.
    pub fn scope(self, scope: Scope) -> Self {
        self.of_hook(|hook| hook.scope(scope))
    }

    /// Evaluates the policy for a sub-resource, such as `scale`, in place of the resource.
    pub fn sub_resource(self, name: impl Into<String>) -> Self {
        self.of_hook(|hook| hook.sub_resource(name))
    }

    /// Sets the resource of a policy for a dynamic type.
    pub fn of_resource(self, resource: &ApiResource, scope: Scope) -> Self {
        self.of_hook(|hook| hook.of_resource(resource, scope))
    }

    /// Evaluates the policy for more resources: an entry of `resourceRules`.
    pub fn resource_rule(self, rule: Resources) -> Self {
        self.of_hook(|hook| hook.rule(rule))
    }

    /// Sets the full name, in place of the name in the domain of the webhooks.
    pub fn named(self, full_name: impl Into<String>) -> Self {
        self.of_hook(|hook| hook.named(full_name))
    }

    /// Sets the path of the webhook that decides the same. Default: `/` and the name.
    pub fn at(self, path: impl Into<String>) -> Self {
        self.of_hook(|hook| hook.at(path))
    }

    /// Sets the timeout of the webhook that decides the same. Default: 10 s.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.of_hook(|hook| hook.timeout(timeout))
    }

    /// Sets what happens to a request if an expression cannot be evaluated, or there are no parameters. Default:
    /// [`FailurePolicy::Fail`].
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Request};
    /// use kubewright_webhook::FailurePolicy;
    /// use serde_json::json;
    ///
    /// let request = Request::create::<Pod>(json!({}));
    /// let policy = || Policy::<Pod>::validating("replicas").rule("object.spec.priority < 100", "lower the priority");
    /// let closed = policy().decide(&request);
    /// assert_eq!(
    ///     closed.denial().unwrap().message,
    ///     "expression 'object.spec.priority < 100' resulted in error: no such key: spec",
    /// );
    /// let open = policy().failure_policy(FailurePolicy::Ignore).decide(&request);
    /// assert!(open.denial().is_none());
    /// assert_eq!(open.ignored.len(), 1);
    /// ```
    pub fn failure_policy(self, policy: FailurePolicy) -> Self {
        let is_open = policy == FailurePolicy::Ignore;
        let this = self.part(|parts| parts.fails_open = is_open);
        if is_open {
            this.of_hook(Hook::fail_open)
        } else {
            this
        }
    }

    /// Lets requests pass if an expression cannot be evaluated: [`FailurePolicy::Ignore`].
    pub fn fail_open(self) -> Self {
        self.failure_policy(FailurePolicy::Ignore)
    }

    /// Lets the policy decide without effect (shadow mode): it denies, warns of and changes nothing.
    ///
    /// A validating policy is bound with the action `Audit` alone: the API server counts what it would deny in
    /// `apiserver_validating_admission_policy_check_total`, and notes it in the audit log. It has the failure policy Ignore, so an
    /// expression that cannot be evaluated has no effect either. API servers have no such mode for policies that change objects, so
    /// a mutating one is a webhook of the program, in [its shadow mode](Hook::shadow), on clusters of every version.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::Policy;
    /// use kubewright_webhook::{FailurePolicy, Mode, Webhooks};
    /// use serde_json::json;
    ///
    /// let hosts = Policy::<Pod>::validating("hosts").rule("!object.spec.?hostNetwork.orValue(false)", "no host network");
    /// let owner = Policy::<Pod>::mutating("owner").apply("Object{metadata: Object.metadata{labels: {'owner': 'ann'}}}");
    /// let webhooks = Webhooks::new("example.com").with(hosts.shadow()).with(owner.shadow());
    /// let policy = &webhooks.policies()[0];
    /// assert_eq!(policy.binding["validationActions"], json!(["Audit"]));
    /// assert_eq!(policy.declaration.failure_policy, FailurePolicy::Ignore);
    /// let hook = &webhooks.declarations()[0];
    /// assert_eq!((hook.name.as_str(), hook.mode), ("owner.example.com", Mode::Shadow));
    /// ```
    pub fn shadow(self) -> Self {
        self.of_hook(Hook::shadow).part(|parts| parts.shadow = true)
    }

    /// Returns the name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Evaluates the policy for a request, in process. What it is for is not looked at: its operations, namespaces and labels.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_policy::{Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<ConfigMap>::validating("sizes").rule("object.data.size() < 3", "have at most 2 keys");
    /// let answer = policy.decide(&Request::create::<ConfigMap>(json!({"data": {"a": "", "b": "", "c": ""}})));
    /// assert_eq!(answer.denial().unwrap().code, 422);
    /// ```
    pub fn decide(&self, request: &Request) -> Answer {
        let compiled = self.compiled();
        let answer = answer(&self.parts, compiled, self.role, &self.name, request);
        if let Some(tally) = &self.tally {
            tally.add(&answer);
        }
        answer
    }

    /// Checks every expression against types: fields that the kind does not have, operators that do not fit, and everything else
    /// that does not compile.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_policy::{Policy, Typed};
    ///
    /// let policy = Policy::<Pod>::validating("images").rule("size(object.spec.containers) <", "at most 3");
    /// let mistakes = policy.check(&Typed::default());
    /// assert_eq!(mistakes[0].what, "rule 1");
    /// assert!(mistakes[0].error.starts_with("ERROR: <input>:1:31: Syntax error"), "{}", mistakes[0].error);
    /// ```
    #[must_use]
    pub fn check(&self, typed: &Typed) -> Vec<Mistake> {
        check::mistakes(&self.parts, typed)
    }

    /// Counts what the rules come to from now on, also behind the webhook.
    pub fn tally(&mut self) -> Arc<Tally> {
        let expressions = match self.role {
            Role::Validating => self
                .parts
                .rules
                .iter()
                .map(|rule| &rule.expression)
                .collect(),
            Role::Mutating => Vec::new(),
        };
        Arc::clone(self.tally.insert(Tally::of(expressions)))
    }

    /// Returns apiVersion and kind of the parameters, if the policy has any.
    pub fn param_kind(&self) -> Option<(&str, &str)> {
        let params = self.parts.params.as_ref()?;
        Some((params.kind.api_version(), params.kind.name()))
    }

    /// Returns whether the webhook of the policy reads from caches of the program.
    pub fn reads_caches(&self) -> bool {
        self.parts.namespaces.is_some() || self.parts.params.is_some()
    }

    /// Returns the expressions, of which tests make objects for which they are true and false.
    pub fn expressions(&self) -> impl Iterator<Item = &str> {
        let parts = &self.parts;
        let named = [&parts.variables, &parts.conditions, &parts.annotations];
        let named = named.into_iter().flatten().map(|(_, source)| source);
        let rules = parts.rules.iter().flat_map(|rule| {
            let message = rule.message_expression.iter();
            message.chain([&rule.expression])
        });
        let mutations = parts.mutations.iter().map(|mutation| &mutation.expression);
        let all = named.chain(rules).chain(mutations);
        all.map(|source| source.text.as_str())
    }

    pub(crate) fn compiled(&self) -> &Compiled {
        self.compiled.get_or_init(|| Compiled::of(&self.parts))
    }

    fn into_cluster_policy(self) -> ClusterPolicy {
        let compiled = Compiled::of(&self.parts);
        let (spec, binding) = (
            form::spec(&self.parts),
            form::binding(&self.parts, self.role),
        );
        let only_in_cluster = form::only_in_cluster(&self.parts, &compiled);
        let problem = form::problem(&self.parts, self.role).or_else(|| {
            let why = only_in_cluster.as_ref()?;
            let is_trial = self.parts.shadow && self.role == Role::Mutating;
            is_trial.then(|| format!("in shadow mode it has to be a webhook, and {why}"))
        });
        let ready = Ready {
            parts: self.parts,
            compiled,
            role: self.role,
            name: self.name,
            tally: self.tally,
        };
        // The lock is that of this policy, which is consumed here.
        drop(self.ready.set(ready));
        let policy = ClusterPolicy::new(self.hook, spec, binding);
        let policy = match problem {
            Some(why) => policy.invalid(why),
            None => policy,
        };
        match only_in_cluster {
            Some(why) => policy.only_in_cluster(why),
            None => policy,
        }
    }
}

impl<K: Object, R> From<Policy<K, R>> for Part {
    fn from(policy: Policy<K, R>) -> Self {
        policy.into_cluster_policy().into()
    }
}

impl<K, R> fmt::Debug for Policy<K, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Policy")
            .field("name", &self.name)
            .field("role", &self.role)
            .finish_non_exhaustive()
    }
}
