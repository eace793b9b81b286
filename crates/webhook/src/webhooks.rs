//! All webhooks of a program, as one value.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use crate::convert::{Conversion, Convertible, Converting};
use crate::declaration::{ConversionDeclaration, Declaration, Reinvocation, Role, SideEffects};
use crate::error::DeclarationError;
use crate::hook::Hook;
use crate::observer::{Answered, Observer};
use crate::outcomes::Outcomes;
use crate::policy::{ClusterPolicy, KubernetesVersion, PolicyDeclaration};
use crate::room::Room;
use kubewright_review::Operation;

/// All webhooks of a program: a tower service that answers reviews, and the declarations that manifests are generated from.
///
/// Clones share the hooks.
///
/// ```
/// use http_body_util::BodyExt as _;
/// # use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, deny, validating};
/// use tower::ServiceExt as _;
///
/// async fn named(change: Change<Pod>, _: Review) -> Validated {
///     match change.object().metadata.name {
///         Some(_) => Ok(()),
///         None => deny("the pod has no name"),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let webhooks = Webhooks::new("policy.example.com").with(validating("named", named));
/// let kind = serde_json::json!({"group": "", "version": "v1", "kind": "Pod"});
/// let review = serde_json::json!({
///     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
///     "request": {"uid": "1", "operation": "CREATE", "kind": kind, "object": {"apiVersion": "v1", "kind": "Pod"}},
/// });
/// # let body = http_body_util::Full::<bytes::Bytes>::from(review.to_string());
/// let call = http::Request::post("/named").header("content-type", "application/json").body(body).unwrap();
/// let answer = webhooks.oneshot(call).await.unwrap().into_body().collect().await.unwrap().to_bytes();
/// let review: serde_json::Value = serde_json::from_slice(&answer).unwrap();
/// assert_eq!(review["response"]["allowed"], false);
/// assert_eq!(review["response"]["status"]["message"], "the pod has no name");
/// # }
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Webhooks {
    pub(crate) inner: Arc<Inner>,
}

#[derive(Clone, Debug)]
pub(crate) struct Inner {
    domain: String,
    pub(crate) hooks: Vec<Arc<Hook>>,
    pub(crate) conversions: Vec<Arc<Conversion>>,
    policies: Vec<ClusterPolicy>,
    oldest: Option<KubernetesVersion>,
    pub(crate) body_limit: usize,
    room: OnceLock<Room>,
    checked: OnceLock<Result<(), DeclarationError>>,
    pub(crate) observer: Observer,
}

/// What [`Webhooks`] consist of: hooks, conversions, and policies.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_enums,
    reason = "API servers call for two, and evaluate the third"
)]
pub enum Part {
    /// A hook of admission.
    Hook(Box<Hook>),
    /// A conversion.
    Conversion(Box<Conversion>),
    /// A policy.
    Policy(Box<ClusterPolicy>),
}

impl From<ClusterPolicy> for Part {
    fn from(policy: ClusterPolicy) -> Self {
        Self::Policy(Box::new(policy))
    }
}

impl From<Hook> for Part {
    fn from(hook: Hook) -> Self {
        Self::Hook(Box::new(hook))
    }
}

impl From<Conversion> for Part {
    fn from(conversion: Conversion) -> Self {
        Self::Conversion(Box::new(conversion))
    }
}

impl<Hub: Convertible> From<Converting<Hub>> for Part {
    fn from(converting: Converting<Hub>) -> Self {
        Conversion::from(converting).into()
    }
}

impl Webhooks {
    /// Starts without hooks. The domain completes the names of hooks: `pinned-images` in `policy.example.com` is
    /// `pinned-images.policy.example.com`.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// assert!(Webhooks::new("policy.example.com").declarations().is_empty());
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("pinned-images", images));
    /// assert_eq!(webhooks.declarations()[0].name, "pinned-images.policy.example.com");
    /// ```
    pub fn new(domain: impl Into<String>) -> Self {
        Self {
            inner: Arc::new(Inner {
                domain: domain.into(),
                hooks: Vec::new(),
                conversions: Vec::new(),
                policies: Vec::new(),
                oldest: None,
                body_limit: 7 * 1024 * 1024,
                room: OnceLock::new(),
                checked: OnceLock::new(),
                observer: Observer::default(),
            }),
        }
    }

    /// Adds a hook, a conversion, or a policy.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com")
    ///     .with(validating("images", images))
    ///     .with(validating("registries", images));
    /// let paths: Vec<_> = webhooks.declarations().into_iter().map(|declared| declared.path).collect();
    /// assert_eq!(paths, ["/images", "/registries"]);
    /// ```
    pub fn with(mut self, part: impl Into<Part>) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        match part.into() {
            Part::Hook(hook) => inner.hooks.push(Arc::new(*hook)),
            Part::Conversion(conversion) => inner.conversions.push(Arc::new(*conversion)),
            Part::Policy(policy) => {
                inner.hooks.extend(policy.as_hook(inner.oldest).cloned());
                inner.policies.push(*policy);
            }
        }
        inner.checked = OnceLock::new();
        self
    }

    /// Sets the oldest version of Kubernetes that has to be served. Policies of kinds that it does not have become hooks of these
    /// webhooks, which decide the same. Default: clusters have all kinds of policies.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{ClusterPolicy, Webhooks, validating};
    /// use serde_json::json;
    ///
    /// let policy = ClusterPolicy::new(validating("images", images), json!({}), json!({}));
    /// let webhooks = Webhooks::new("policy.example.com").with(policy);
    /// assert_eq!((webhooks.policies().len(), webhooks.declarations().len()), (1, 0));
    /// let webhooks = webhooks.for_kubernetes("1.29".parse()?);
    /// assert_eq!((webhooks.policies().len(), webhooks.declarations().len()), (0, 1));
    /// # Ok::<(), kubewright_webhook::NoKubernetesVersion>(())
    /// ```
    pub fn for_kubernetes(mut self, oldest: KubernetesVersion) -> Self {
        let inner = Arc::make_mut(&mut self.inner);
        let policies = &inner.policies;
        inner.hooks.retain(|hook| {
            let mut policies = policies.iter();
            !policies.any(|policy| Arc::ptr_eq(&policy.hook, hook))
        });
        inner.oldest = Some(oldest);
        let hooks = inner.policies.iter();
        inner
            .hooks
            .extend(hooks.filter_map(|policy| policy.as_hook(Some(oldest)).cloned()));
        inner.checked = OnceLock::new();
        self
    }

    /// Returns what the policies and their bindings say that API servers evaluate, in the order in which they were added.
    pub fn policies(&self) -> Vec<PolicyDeclaration> {
        let oldest = self.inner.oldest;
        let policies = self.inner.policies.iter();
        policies
            .filter(|policy| policy.as_hook(oldest).is_none())
            .map(|policy| policy.declaration(&self.inner.domain))
            .collect()
    }

    /// Sets the largest body that is read, in bytes. The default is 7 MiB: two objects of at most 3 MiB, and the rest.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    #[doc = include_str!("call.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images)).body_limit(1024);
    /// let (code, _) = create_raw(&webhooks, "/images", " ".repeat(2000)).await;
    /// assert_eq!(code, 413);
    /// # }
    /// ```
    pub fn body_limit(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.inner).body_limit = bytes;
        self
    }

    /// Sets how much memory reviews may take together while they are answered, in bytes. The default is 256 MiB, and three
    /// eighths of its memory in a program.
    ///
    /// What a review takes is estimated by its JSON, of which many short strings take many times their length. A review waits
    /// until there is memory for it, and one that would take more than there is for all is rejected. A quarter of the memory is
    /// for small reviews, which never wait for large ones.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    #[doc = include_str!("call.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images)).memory(1 << 20);
    /// // 50 000 empty strings in 150 kB of JSON.
    /// let review = format!("[{}0]", r#""","#.repeat(50_000));
    /// let (code, _) = create_raw(&webhooks, "/images", review).await;
    /// assert_eq!(code, 413);
    /// # }
    /// ```
    pub fn memory(mut self, bytes: usize) -> Self {
        Arc::make_mut(&mut self.inner).room = OnceLock::from(Room::of(bytes));
        self
    }

    /// The same for all clones, unless it is set already.
    pub fn memory_by_default(&self, bytes: usize) {
        // What is set holds, as promised.
        drop(self.inner.room.set(Room::of(bytes)));
    }

    pub(crate) fn room(&self) -> &Room {
        self.inner.room.get_or_init(|| Room::of(256 << 20))
    }

    /// Returns what webhook configurations say about the hooks, in the order in which they were added.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Role, Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let [declared] = &webhooks.declarations()[..] else { panic!() };
    /// assert_eq!(declared.role, Role::Validating);
    /// assert_eq!(declared.rules[0].resources, ["pods"]);
    /// ```
    pub fn declarations(&self) -> Vec<Declaration> {
        self.inner
            .hooks
            .iter()
            .map(|hook| hook.declaration(&self.inner.domain))
            .collect()
    }

    /// Returns what CustomResourceDefinitions say about the conversions, in the order in which they were added. Conversions that
    /// [`Webhooks::check`] rejects are left out.
    ///
    /// ```
    /// # mod kube { pub use kube_core as core; }
    #[doc = include_str!("convert/widgets.md")]
    /// # renamed!(); fn main() {
    /// use kubewright_webhook::{Webhooks, converting};
    ///
    /// let webhooks = Webhooks::new("example.com").with(converting::<v1::Widget>().spoke::<v2::Widget>());
    /// let [declared] = &webhooks.conversions()[..] else { panic!() };
    /// assert_eq!(declared.path, "/convert/widgets.example.com");
    /// assert_eq!(declared.definition["spec"]["versions"][1]["name"], "v2");
    /// # }
    /// ```
    pub fn conversions(&self) -> Vec<ConversionDeclaration> {
        let conversions = self.inner.conversions.iter();
        conversions
            .filter_map(|conversion| conversion.declaration())
            .collect()
    }

    /// Returns the number of reviews of each hook by outcome, with the hook's full name, in the order in which the hooks were
    /// added.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// create(&webhooks, "/images", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// let (name, outcomes) = &webhooks.outcomes()[0];
    /// assert_eq!(name, "images.policy.example.com");
    /// assert_eq!((outcomes.allowed, outcomes.denied), (1, 0));
    /// # }
    /// ```
    pub fn outcomes(&self) -> Vec<(String, Outcomes)> {
        let hooks = self.inner.hooks.iter();
        hooks
            .map(|hook| (hook.full_name(&self.inner.domain), hook.counters.read()))
            .collect()
    }

    /// Calls a function for every review that was answered, before the answer is sent: it has to be quick. All clones call the
    /// same function, and the first one that was set stays.
    ///
    /// ```
    /// use std::sync::mpsc;
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Decision, Webhooks, validating};
    /// use serde_json::json;
    #[doc = include_str!("call.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let (sender, answered) = mpsc::channel();
    /// webhooks.observe(move |review| sender.send((review.hook.to_owned(), review.decision)).unwrap());
    /// create(&webhooks, "/images", json!({"apiVersion": "v1", "kind": "Pod"})).await;
    /// assert_eq!(answered.recv().unwrap(), ("images".to_owned(), Decision::Allowed));
    /// # }
    /// ```
    pub fn observe(&self, observe: impl Fn(&Answered<'_>) + Send + Sync + 'static) {
        self.inner.observer.set(observe);
    }

    /// The result of [`Webhooks::check`], which is found once. Webhooks that do not pass are not served.
    pub(crate) fn checked(&self) -> Result<(), &DeclarationError> {
        let checked = self.inner.checked.get_or_init(|| self.check());
        checked.as_ref().copied()
    }

    /// Checks that the API server would accept the hooks and that no two of them share a name or path.
    ///
    /// ```
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{DeclarationError, Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// assert_eq!(webhooks.check(), Ok(()));
    ///
    /// let twice = webhooks.with(validating("registries", images).at("/images"));
    /// assert!(matches!(twice.check(), Err(DeclarationError::PathClash { .. })));
    /// ```
    ///
    /// # Errors
    ///
    /// If a name or path is used twice or is malformed, a mutator is called for DELETE, side effects also happen in a dry
    /// run, or a hook would never be called.
    pub fn check(&self) -> Result<(), DeclarationError> {
        let mut names = HashSet::new();
        let mut paths = HashMap::new();
        for declaration in self.declarations() {
            let name = declaration.name.clone();
            check_one(&declaration)?;
            if let Some(first) = paths.insert(declaration.path.clone(), name.clone()) {
                return Err(DeclarationError::PathClash {
                    path: declaration.path,
                    first,
                    second: name,
                });
            }
            if !names.insert(name.clone()) {
                return Err(DeclarationError::NameClash(name));
            }
        }
        self.check_policies(&mut names)?;
        let mut definitions = HashSet::new();
        for conversion in &self.inner.conversions {
            let known = conversion.known.as_ref().map_err(Clone::clone)?;
            let name = known.name().to_owned();
            let path = conversion.path.clone();
            check_path(&path, &name)?;
            if conversion.review_versions.is_empty() || has_twice(&conversion.review_versions) {
                return Err(DeclarationError::ReviewVersions(name));
            }
            if !definitions.insert(name.clone()) {
                return Err(DeclarationError::TwoConversions(name));
            }
            if let Some(first) = paths.insert(path.clone(), name.clone()) {
                let second = name;
                return Err(DeclarationError::PathClash {
                    path,
                    first,
                    second,
                });
            }
        }
        Ok(())
    }

    fn check_policies(&self, names: &mut HashSet<String>) -> Result<(), DeclarationError> {
        for policy in &self.inner.policies {
            let declaration = policy.declaration(&self.inner.domain).declaration;
            let name = declaration.name.clone();
            if let Some(why) = policy.problem() {
                let (policy, why) = (name, why.to_owned());
                return Err(DeclarationError::Policy { policy, why });
            }
            let oldest = self.inner.oldest;
            if policy.as_hook(oldest).is_some() {
                // It was checked as a hook.
                continue;
            }
            if let (Some(version), Err(why)) = (oldest, policy.hook())
                && !version.has_policies(declaration.role)
            {
                let (policy, why) = (name, why.to_owned());
                return Err(DeclarationError::NoWebhook {
                    policy,
                    version,
                    why,
                });
            }
            check_one(&declaration)?;
            if !names.insert(name.clone()) {
                return Err(DeclarationError::NameClash(name));
            }
        }
        Ok(())
    }
}

fn has_twice<T: PartialEq>(items: &[T]) -> bool {
    let mut places = items.iter().enumerate();
    places.any(|(place, item)| items[..place].contains(item))
}

fn check_path(path: &str, hook: &str) -> Result<(), DeclarationError> {
    let segments = path.strip_prefix('/');
    if segments.is_none_or(|rest| !rest.is_empty() && rest.split('/').any(str::is_empty)) {
        return Err(DeclarationError::Path {
            hook: hook.to_owned(),
            path: path.to_owned(),
        });
    }
    Ok(())
}

fn check_one(declaration: &Declaration) -> Result<(), DeclarationError> {
    let name = || declaration.name.clone();
    if !is_webhook_name(&declaration.name) {
        return Err(DeclarationError::Name(name()));
    }
    check_path(&declaration.path, &declaration.name)?;
    if declaration.rules.is_empty() {
        return Err(DeclarationError::NoRule(name()));
    }
    if declaration
        .rules
        .iter()
        .any(|rule| rule.operations.is_empty())
    {
        return Err(DeclarationError::NoOperations(name()));
    }
    let deletes = |rule: &crate::Rule| rule.operations.contains(&Operation::Delete);
    if declaration.role == Role::Mutating && declaration.rules.iter().any(deletes) {
        return Err(DeclarationError::MutatesDelete(name()));
    }
    if declaration.side_effects == SideEffects::Some {
        return Err(DeclarationError::SideEffects(name()));
    }
    let whole = Duration::from_secs(declaration.timeout.as_secs());
    if whole != declaration.timeout || !(1..=30).contains(&whole.as_secs()) {
        return Err(DeclarationError::Timeout(name()));
    }
    let again = declaration.reinvocation == Reinvocation::IfNeeded;
    if again && declaration.role == Role::Validating {
        return Err(DeclarationError::ValidatesAgain(name()));
    }
    let versions = &declaration.review_versions;
    if versions.is_empty() || has_twice(versions) {
        return Err(DeclarationError::ReviewVersions(name()));
    }
    Ok(())
}

/// A domain with at least three segments (kube-apiserver: `admissionregistration/validation`, "should be a domain with
/// at least three segments separated by dots").
fn is_webhook_name(name: &str) -> bool {
    let label = |label: &str| {
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').count() >= 3 && name.split('.').all(label)
}
