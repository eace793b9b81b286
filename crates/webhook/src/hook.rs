//! One hook: a handler and everything that a webhook configuration says about it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use kubewright_review::{Operation, Version};

use crate::declaration::{
    Declaration, FailurePolicy, MatchCondition, MatchPolicy, Mode, Reinvocation, Role, Rule, Scope,
    SideEffects,
};
use crate::erased::{self, ErasedHandler};
use crate::executor::Executor;
use crate::handler::{Object, Target};
use crate::outcomes::Counters;
use crate::{Mutate, Selector, Validate};

/// Makes a hook of a validator.
///
/// The defaults are safe: operations CREATE and UPDATE, path `/` and the name, `failurePolicy: Fail`, 10 s, no side effects,
/// `matchPolicy: Equivalent`, reviews of version v1. The rule follows from the handler's type.
///
/// ```
/// use std::time::Duration;
/// # use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, FailurePolicy, Review, Validated, Webhooks, validating};
///
/// async fn images(_: Change<Pod>, _: Review) -> Validated {
///     Ok(())
/// }
///
/// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
/// let declared = &webhooks.declarations()[0];
/// assert_eq!(declared.name, "images.policy.example.com");
/// assert_eq!(declared.path, "/images");
/// assert_eq!(declared.rules[0].resources, ["pods"]);
/// assert_eq!(declared.failure_policy, FailurePolicy::Fail);
/// assert_eq!(declared.timeout, Duration::from_secs(10));
/// ```
pub fn validating<K: Object, H: Validate<K>>(name: impl Into<String>, handler: H) -> Hook {
    Hook::new::<K>(name.into(), Role::Validating, erased::validator(handler))
}

/// Makes a hook of a mutator. The defaults are those of [`validating`].
///
/// ```
/// # use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Mutated, Review, Role, Webhooks, mutating};
///
/// async fn sidecar(change: Change<Pod>, _: Review) -> Mutated<Pod> {
///     Ok(change.into_object())
/// }
///
/// let webhooks = Webhooks::new("policy.example.com").with(mutating("sidecar", sidecar));
/// assert_eq!(webhooks.declarations()[0].role, Role::Mutating);
/// ```
pub fn mutating<K: Object, H: Mutate<K>>(name: impl Into<String>, handler: H) -> Hook {
    Hook::new::<K>(name.into(), Role::Mutating, erased::mutator(handler))
}

/// A handler and its entry in a webhook configuration. [`validating`] and [`mutating`] make one, [`Webhooks::with`] adds it.
///
/// [`Webhooks::with`]: crate::Webhooks::with
///
/// ```
#[doc = include_str!("images.md")]
/// use kubewright_webhook::{Create, Hook, Selector, Webhooks, validating};
///
/// fn hook() -> Hook {
///     validating("images", images).on([Create]).in_namespaces(Selector::not_in("tier", ["system"]))
/// }
///
/// let webhooks = Webhooks::new("policy.example.com").with(hook());
/// assert_eq!(webhooks.declarations()[0].rules[0].operations, [Create]);
/// assert_eq!(webhooks.check(), Ok(()));
/// ```
#[derive(Clone)]
#[must_use]
pub struct Hook {
    pub(crate) name: String,
    pub(crate) full_name: Option<String>,
    pub(crate) role: Role,
    pub(crate) path: String,
    pub(crate) handlers: Vec<Arc<dyn ErasedHandler>>,
    pub(crate) executor: Arc<Executor>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) when_undecodable: Undecodable,
    pub(crate) mode: Mode,
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

/// The answer to a review whose object cannot be read as the handler's type.
///
/// ```
#[doc = include_str!("images.md")]
/// use kubewright_webhook::{Undecodable, Webhooks, validating};
/// use serde_json::json;
#[doc = include_str!("call.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// for (answer, code) in [(Undecodable::Fail, 422), (Undecodable::Deny, 200), (Undecodable::PassThrough, 200)] {
///     let hook = validating("images", images).when_undecodable(answer);
///     let webhooks = Webhooks::new("policy.example.com").with(hook);
///     // The handler takes Pods.
///     let (found, response) = create(&webhooks, "/images", json!({"apiVersion": "v1", "kind": "Service"})).await;
///     assert_eq!(found, code);
///     assert_eq!(response["allowed"] == true, answer == Undecodable::PassThrough);
/// }
/// # }
/// ```
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
    fn new<K: Object>(name: String, role: Role, handler: Arc<dyn ErasedHandler>) -> Self {
        Self {
            path: format!("/{name}"),
            name,
            full_name: None,
            role,
            handlers: vec![handler],
            executor: Executor::new(),
            counters: Arc::default(),
            when_undecodable: Undecodable::default(),
            mode: Mode::Enforce,
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

    /// Adds a mutator, which gets the object as the earlier ones left it. All of them together answer one patch.
    ///
    /// The rule stays the one of the first handler's type.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Mutated, Review, Webhooks, mutating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// async fn team(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    ///     let mut pod = change.into_object();
    ///     pod.metadata.labels.get_or_insert_default().insert("team".into(), "blue".into());
    ///     Ok(pod)
    /// }
    ///
    /// async fn host(change: Change<Pod>, _: Review) -> Mutated<Pod> {
    ///     let mut pod = change.into_object();
    ///     let team = pod.metadata.labels.as_ref().map(|labels| labels["team"].clone());
    ///     pod.spec.get_or_insert_default().hostname = team;
    ///     Ok(pod)
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(mutating("pods", team).then(host));
    /// let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": []}});
    /// let (_, response) = create(&webhooks, "/pods", pod).await;
    /// let patch = json!([
    ///     {"op": "add", "path": "/metadata/labels", "value": {"team": "blue"}},
    ///     {"op": "add", "path": "/spec/hostname", "value": "blue"},
    /// ]);
    /// assert_eq!(response["patch"], patch, "it is Base64 on the wire, and decoded here");
    /// # }
    /// ```
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
        self.handlers.push(erased::mutator(handler));
        self
    }

    /// Sets the operations that it is called for. The default is CREATE and UPDATE.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Delete, Webhooks, validating};
    ///
    /// let hook = validating("images", images).on([Delete]);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].rules[0].operations, [Delete]);
    /// ```
    pub fn on(mut self, operations: impl IntoIterator<Item = Operation>) -> Self {
        self.operations = operations.into_iter().collect();
        self
    }

    /// Sets the path of its URL. The default is `/` and the name.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let hook = validating("images", images).at("/v1/images");
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].path, "/v1/images");
    /// ```
    pub fn at(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sets its full name. The default is its name, a dot and the domain of the [`Webhooks`](crate::Webhooks).
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let hook = validating("images", images).named("images.security.example.org");
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].name, "images.security.example.org");
    /// ```
    pub fn named(mut self, full_name: impl Into<String>) -> Self {
        self.full_name = Some(full_name.into());
        self
    }

    /// Lets requests pass if the API server cannot call it or it fails (`failurePolicy: Ignore`). By default such requests fail.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{FailurePolicy, Webhooks, validating};
    ///
    /// let hook = validating("images", images).fail_open();
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].failure_policy, FailurePolicy::Ignore);
    /// ```
    pub fn fail_open(mut self) -> Self {
        self.failure_policy = FailurePolicy::Ignore;
        self
    }

    /// Lets it decide without effect (shadow mode): its handlers run on every review, and every request passes unchanged.
    ///
    /// The decision is logged at the level `info` without values of objects, counted with the label `mode="shadow"`, and written into the
    /// audit event as the annotation `shadow` after the hook's full name. The answer has neither a patch nor warnings. Nothing
    /// about the hook blocks a request: its failure policy is Ignore, and it also allows if its handler fails, panics
    /// or reaches its deadline. Side effects of the handler happen as always. A conversion has no shadow mode, because API
    /// servers need its result.
    ///
    /// [`Webhooks::outcomes`](crate::Webhooks::outcomes) counts the decisions, and recordings contain the responses that were
    /// withheld.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, FailurePolicy, Review, Validated, Webhooks, deny, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// async fn frozen(_: Change<Pod>, _: Review) -> Validated {
    ///     deny("the namespace is frozen")
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("frozen", frozen).shadow());
    /// let (_, response) = create(&webhooks, "/frozen", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// assert_eq!(response["allowed"], true);
    /// assert_eq!(response["auditAnnotations"]["shadow"], "denied: the namespace is frozen");
    /// assert_eq!(webhooks.outcomes()[0].1.denied, 1);
    /// assert_eq!(webhooks.declarations()[0].failure_policy, FailurePolicy::Ignore);
    /// # }
    /// ```
    pub fn shadow(mut self) -> Self {
        self.mode = Mode::Shadow;
        self
    }

    /// Sets how long the API server waits, in whole seconds from 1 to 30. The default is 10 s.
    ///
    /// ```
    /// use std::time::Duration;
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let hook = validating("images", images).timeout(Duration::from_millis(1500));
    /// let error = Webhooks::new("policy.example.com").with(hook).check().unwrap_err();
    /// assert!(error.to_string().contains("is not 1 to 30 whole seconds"));
    /// ```
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Selects the namespaces that it is called for, by their labels (`namespaceSelector`). The default is every namespace.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Selector, Webhooks, validating};
    ///
    /// let hook = validating("images", images).in_namespaces(Selector::label("stage", "production"));
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].namespace_selector, Selector::label("stage", "production"));
    /// ```
    pub fn in_namespaces(mut self, selector: Selector) -> Self {
        self.namespace_selector = selector;
        self
    }

    /// Selects the objects that it is called for, by their labels (`objectSelector`). The default is every object.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Selector, Webhooks, validating};
    ///
    /// let opted_in = Selector::label("images.example.com/checked", "true");
    /// let hook = validating("images", images).for_objects(opted_in.clone());
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].object_selector, opted_in);
    /// ```
    pub fn for_objects(mut self, selector: Selector) -> Self {
        self.object_selector = selector;
        self
    }

    /// Adds a CEL expression (`matchConditions`). The API server calls the hook only if all of its expressions are true.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let hook = validating("images", images).when("not-kubelet", "!('system:nodes' in request.userInfo.groups)");
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].match_conditions[0].name, "not-kubelet");
    /// ```
    pub fn when(mut self, name: impl Into<String>, expression: impl Into<String>) -> Self {
        self.match_conditions
            .push(MatchCondition::new(name, expression));
        self
    }

    /// Sets whether it is also called for other versions of the same objects. The default is
    /// [`Equivalent`](MatchPolicy::Equivalent): it is, and the API server converts them.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{MatchPolicy, Webhooks, validating};
    ///
    /// let hook = validating("images", images).match_policy(MatchPolicy::Exact);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].match_policy, MatchPolicy::Exact);
    /// ```
    pub fn match_policy(mut self, policy: MatchPolicy) -> Self {
        self.match_policy = policy;
        self
    }

    /// Asks for another call if a later webhook changes the object (`reinvocationPolicy: IfNeeded`). Only for mutators.
    ///
    /// ```
    #[doc = include_str!("sidecar.md")]
    /// use kubewright_webhook::{Reinvocation, Webhooks, mutating};
    ///
    /// let hook = mutating("sidecar", sidecar).reinvoked();
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].reinvocation, Reinvocation::IfNeeded);
    /// ```
    pub fn reinvoked(mut self) -> Self {
        self.reinvocation = Reinvocation::IfNeeded;
        self
    }

    /// Declares what it does besides answering. The default is [`SideEffects::None`].
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{DeclarationError, SideEffects, Webhooks, validating};
    ///
    /// let check = |effects| {
    ///     let hook = validating("images", images).side_effects(effects);
    ///     Webhooks::new("policy.example.com").with(hook).check()
    /// };
    /// // The handler looks at `Review::dry_run`.
    /// assert_eq!(check(SideEffects::NoneOnDryRun), Ok(()));
    /// assert!(matches!(check(SideEffects::Some), Err(DeclarationError::SideEffects(_))));
    /// ```
    pub fn side_effects(mut self, side_effects: SideEffects) -> Self {
        self.side_effects = side_effects;
        self
    }

    /// Sets the versions of the review protocol, the preferred one first. The default is `v1` alone.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Version, Webhooks, validating};
    ///
    /// let hook = validating("images", images).review_versions([Version::V1, Version::V1Beta1]);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].review_versions.len(), 2);
    /// ```
    pub fn review_versions(mut self, versions: impl IntoIterator<Item = Version>) -> Self {
        self.review_versions = versions.into_iter().collect();
        self
    }

    /// Sets the sub-resource that it is called for, such as `status` or `scale`, instead of the object itself.
    ///
    /// Where the sub-resource has a kind of its own, [`Hook::of`] names the resource that it belongs to:
    ///
    /// ```
    /// use k8s_openapi::api::{apps::v1::Deployment, autoscaling::v1::Scale};
    /// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
    ///
    /// async fn scale_limit(change: Change<Scale>, _: Review) -> Validated {
    ///     match change.object().spec.as_ref().and_then(|spec| spec.replicas) {
    ///         Some(replicas) if replicas > 100 => deny("scale to at most 100 replicas"),
    ///         _ => Ok(()),
    ///     }
    /// }
    ///
    /// let hook = validating("limit", scale_limit).of::<Deployment>().sub_resource("scale");
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].rules[0].resources, ["deployments/scale"]);
    /// ```
    pub fn sub_resource(mut self, name: impl Into<String>) -> Self {
        self.sub_resource = Some(name.into());
        self
    }

    /// Sets the resource that it is called for, if it is not the one of the handler's type.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kube_core::DynamicObject;
    /// use kubewright_webhook::{Change, Connect, Review, Validated, Webhooks, deny, validating};
    ///
    /// /// Gets the options of `kubectl exec`, which have a kind of their own.
    /// async fn no_exec(_: Change<DynamicObject>, _: Review) -> Validated {
    ///     deny("use `kubectl debug` instead")
    /// }
    ///
    /// let hook = validating("no-exec", no_exec).of::<Pod>().sub_resource("exec").on([Connect]);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].rules[0].resources, ["pods/exec"]);
    /// ```
    pub fn of<R: Object>(mut self) -> Self {
        self.resource = R::target().or(self.resource);
        self
    }

    /// Sets the resource that it is called for, for handlers of dynamic objects.
    ///
    /// ```
    /// use kube_core::{ApiResource, DynamicObject, GroupVersionKind};
    /// use kubewright_webhook::{Change, Review, Scope, Validated, Webhooks, validating};
    ///
    /// async fn labelled(_: Change<DynamicObject>, _: Review) -> Validated {
    ///     Ok(())
    /// }
    ///
    /// let widgets = ApiResource::from_gvk(&GroupVersionKind::gvk("example.com", "v1", "Widget"));
    /// let hook = validating("labelled", labelled).of_resource(&widgets, Scope::Namespaced);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.declarations()[0].rules[0].groups, ["example.com"]);
    /// assert_eq!(webhooks.declarations()[0].rules[0].resources, ["widgets"]);
    /// ```
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

    /// Sets the scope of its rule. The default is the scope of the handler's type.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Scope, Webhooks, validating};
    ///
    /// let scope_of = |hook| Webhooks::new("policy.example.com").with(hook).declarations()[0].rules[0].scope;
    /// assert_eq!(scope_of(validating("images", images)), Scope::Namespaced);
    /// assert_eq!(scope_of(validating("images", images).scope(Scope::Any)), Scope::Any);
    /// ```
    pub fn scope(mut self, scope: Scope) -> Self {
        self.scope = Some(scope);
        self
    }

    /// Adds a rule. With a rule of its own, a hook of dynamic objects needs no resource.
    ///
    /// ```
    /// use kube_core::DynamicObject;
    /// use kubewright_webhook::{Change, Create, Review, Rule, Validated, Webhooks, validating};
    ///
    /// async fn labelled(_: Change<DynamicObject>, _: Review) -> Validated {
    ///     Ok(())
    /// }
    ///
    /// let hook = validating("labelled", labelled).rule(Rule::new([Create], "apps", "*", "*"));
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// assert_eq!(webhooks.check(), Ok(()));
    /// assert_eq!(webhooks.declarations()[0].rules.len(), 1);
    /// ```
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rules.push(rule);
        self
    }

    /// Sets the answer to a review whose object cannot be read as the handler's type. The default is [`Undecodable::Fail`], where
    /// the client sees why:
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Undecodable, Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let hook = validating("images", images).when_undecodable(Undecodable::Deny);
    /// let webhooks = Webhooks::new("policy.example.com").with(hook);
    /// let pod = json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": [], "hostname": 7}});
    /// let (_, response) = create(&webhooks, "/images", pod).await;
    /// let message = response["status"]["message"].as_str().unwrap();
    /// assert!(message.starts_with("cannot read object.spec.hostname: "), "{message}");
    /// # }
    /// ```
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
            failure_policy: match self.mode {
                Mode::Enforce => self.failure_policy,
                Mode::Shadow => FailurePolicy::Ignore,
            },
            mode: self.mode,
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
