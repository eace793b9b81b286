//! Whether a policy decides alike as a policy of the API server and as a webhook of the program.

mod agreed;
mod answers;
mod fields;
mod objects;
mod sample;
mod types;

use std::fmt;
use std::time::Duration;

use kube::CustomResourceExt;
use kubewright_manager::{App, Needs};
use kubewright_policy::{Policy, Tally};
use kubewright_webhook::{Hook, Object, Operation, Part, Webhooks};
use serde_json::Value;

use crate::fail;
use crate::{Builder, Server, TestCluster};
use answers::{Answer, Ask, Asked};
use objects::Objects;

pub use agreed::Agreed;
pub use types::type_check;

/// Asserts that a policy decides alike in both of its forms: as a policy that the API server evaluates, and as a webhook of the program.
///
/// Objects of the kind are made from its schema, around what the expressions mention, so that both outcomes occur. Each is sent in a dry run to
/// two clusters, one with the policy and one with the webhook, as a create, and as an update and a delete where the policy is for those.
/// The expressions are [type-checked](type_check) before. [`PoliciesAgree`] sets more.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_policy::Policy;
/// use kubewright_testing::policies_agree;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let images = || Policy::<Pod>::validating("images")
///     .rule("object.spec.containers.all(c, !c.image.endsWith(':latest'))", "name a version");
/// let agreed = policies_agree(|_| images()).await;
/// assert!(agreed.allowed > 0 && agreed.denied > 0);
/// # });
/// ```
///
/// # Panics
///
/// If the answers to an object differ: the message has the object, as small as it can be, and both answers. And if a rule was never
/// true or never false: then its forms were not compared.
pub async fn policies_agree<K: Object, R>(policy: impl Fn(&mut Needs) -> Policy<K, R>) -> Agreed
where
    K::DynamicType: Default,
{
    PoliciesAgree::of(policy).check().await
}

/// Makes the hook that a policy is compared with.
type MakeHook = dyn Fn(&mut Needs) -> Hook;

/// What [`policies_agree`] asserts, with settings.
#[must_use = "nothing is checked before `.check().await`"]
pub struct PoliciesAgree<F> {
    policy: F,
    webhook: Option<Box<MakeHook>>,
    definitions: Vec<Box<dyn Fn(Builder) -> Builder>>,
    sample: Option<Value>,
    params: Vec<Value>,
    values: Vec<(String, Vec<Value>)>,
    namespace_labels: Vec<(String, String)>,
    objects: usize,
    seed: u64,
    never: bool,
}

impl<F> fmt::Debug for PoliciesAgree<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PoliciesAgree")
            .field("objects", &self.objects)
            .field("seed", &self.seed)
            .finish_non_exhaustive()
    }
}

impl<F> PoliciesAgree<F> {
    /// Starts with the policy that a function makes: it is made once for each form.
    pub fn of<K: Object, R>(policy: F) -> Self
    where
        F: Fn(&mut Needs) -> Policy<K, R>,
    {
        Self {
            policy,
            webhook: None,
            definitions: Vec::new(),
            sample: None,
            params: Vec::new(),
            values: Vec::new(),
            namespace_labels: Vec::new(),
            objects: 100,
            seed: 0,
            never: false,
        }
    }

    /// Compares the policy with this hook in place of its own webhook, such as the hook that the policy replaces.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_policy::{Policy, Reason};
    /// use kubewright_testing::PoliciesAgree;
    /// use kubewright_webhook::{Change, Review, Validated, deny, validating};
    ///
    /// async fn sizes(change: Change<ConfigMap>, _: Review) -> Validated {
    ///     let keys = change.object().data.as_ref().map_or(0, |data| data.len());
    ///     if keys > 1 { deny("have one key") } else { Ok(()) }
    /// }
    ///
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// // A hook denies with code 403 by default, and a rule with 422.
    /// let policy = || Policy::<ConfigMap>::validating("sizes")
    ///     .rule("object.?data.orValue({}).size() < 2", "have one key")
    ///     .reason(Reason::Forbidden);
    /// PoliciesAgree::of(|_| policy())
    ///     .with_webhook(|_| validating("sizes", sizes))
    ///     .check()
    ///     .await;
    /// # });
    /// ```
    pub fn with_webhook(mut self, hook: impl Fn(&mut Needs) -> Hook + 'static) -> Self {
        self.webhook = Some(Box::new(hook));
        self
    }

    /// Defines a custom resource in the clusters: the kind of the policy, or of its parameters.
    pub fn crd<K: CustomResourceExt + 'static>(mut self) -> Self {
        self.definitions.push(Box::new(Builder::crd::<K>));
        self
    }

    /// Sets the object that others are made from: a valid one of the kind. Pods, workloads and some other kinds have one by default.
    pub fn sample(mut self, object: Value) -> Self {
        self.sample = Some(object);
        self
    }

    /// Creates an object before the comparison, such as the parameters of the policy.
    pub fn with_object(mut self, object: Value) -> Self {
        self.params.push(object);
        self
    }

    /// Sets the labels of the namespace of the objects.
    pub fn namespace_label(mut self, key: &str, value: &str) -> Self {
        self.namespace_labels
            .push((key.to_owned(), value.to_owned()));
        self
    }

    /// Sets the values of a field by its path, such as `spec.containers[].image`.
    pub fn values<T: Into<Value>>(
        mut self,
        path: &str,
        values: impl IntoIterator<Item = T>,
    ) -> Self {
        let values = values.into_iter().map(Into::into).collect();
        self.values.push((path.to_owned(), values));
        self
    }

    /// Sets how many objects are made. Default: 100.
    pub fn objects(mut self, objects: usize) -> Self {
        self.objects = objects;
        self
    }

    /// Makes other objects.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Accepts rules that were never true or never false.
    pub fn accept_untested_rules(mut self) -> Self {
        self.never = true;
        self
    }

    /// Compares the two forms.
    ///
    /// # Panics
    ///
    /// As [`policies_agree`].
    pub async fn check<K: Object, R>(self) -> Agreed
    where
        F: Fn(&mut Needs) -> Policy<K, R>,
        K::DynamicType: Default,
    {
        Box::pin(self.compare::<K, R>()).await
    }

    async fn compare<K: Object, R>(self) -> Agreed
    where
        F: Fn(&mut Needs) -> Policy<K, R>,
        K::DynamicType: Default,
    {
        let mut tally = None;
        let as_policy = self.start(|needs| Webhooks::new(DOMAIN).with((self.policy)(needs)));
        let cluster = as_policy.await;
        let as_webhook = self.start(|needs| {
            let mut policy = (self.policy)(needs);
            tally = Some(policy.tally());
            let part: Part = match &self.webhook {
                Some(hook) => hook(needs).into(),
                None => policy.into(),
            };
            match "1.0".parse() {
                Ok(oldest) => Webhooks::new(DOMAIN).with(part).for_kubernetes(oldest),
                Err(error) => fail(format_args!("{error}")),
            }
        });
        let webhook = as_webhook.await;
        let mut policy = (self.policy)(&mut Needs::default());
        let in_process = policy.tally();
        let tally = match (&self.webhook, tally) {
            (None, Some(tally)) => tally,
            _ => in_process,
        };
        let schema = types::checked(&cluster, &policy).await;
        let asked = Asked::of::<K>(&cluster);
        let sample = self.sample.clone();
        let sample = sample.unwrap_or_else(|| sample::of(asked.kind()));
        let mut objects = Objects::new(
            &schema,
            sample,
            policy.expressions(),
            &self.values,
            self.seed,
        );
        let declared = Webhooks::new(DOMAIN).with((self.policy)(&mut Needs::default()));
        let operations: Vec<Operation> = declared
            .policies()
            .into_iter()
            .flat_map(|policy| policy.declaration.rules)
            .flat_map(|rule| rule.operations)
            .collect();
        let pair = Pair {
            cluster,
            webhook,
            settles: policy.reads_caches(),
        };
        let mut agreed = Agreed::default();
        let mut stored: Vec<(String, [Value; 2])> = Vec::new();
        for number in 0..self.objects {
            let object = objects.next();
            if self.webhook.is_some() {
                policy.decide(&kubewright_policy::Request::create::<K>(object.clone()));
            }
            for operation in &operations {
                let old = stored.get(number % stored.len().max(1));
                let ask = match (operation, old) {
                    (Operation::Create, _) => Ask::Create,
                    (Operation::Update, Some((name, _))) => Ask::Update(name.clone()),
                    (Operation::Delete, Some((name, _))) => Ask::Delete(name.clone()),
                    _ => continue,
                };
                let answers = pair.ask(&asked, &ask, &object).await;
                if !answers[0].is_as(&answers[1]) {
                    let (object, answers) = pair.smallest(&asked, &ask, object, answers).await;
                    fail(format_args!(
                        "the policy and the webhook differ in {ask}\n  the object: {object}\n  the policy: {}\n  the webhook: {}\n  {agreed} before it",
                        answers[0], answers[1]
                    ));
                }
                answers[0].count(&mut agreed);
            }
            if stored.len() < STORED {
                let name = format!("stored-{number}");
                let both = pair.ask(&asked, &Ask::Store(name.clone()), &object).await;
                if let [
                    Answer::Allowed { object: one, .. },
                    Answer::Allowed { object: other, .. },
                ] = both
                {
                    stored.push((name, [one, other]));
                }
            }
        }
        agreed.changed = usize::try_from(tally.changed()).unwrap_or(usize::MAX);
        if !self.never {
            tested(&tally, &agreed);
        }
        agreed
    }

    /// A cluster with these webhooks.
    async fn start(&self, webhooks: impl FnOnce(&mut Needs) -> Webhooks) -> TestCluster {
        let builder = TestCluster::builder().on(Server::Embedded);
        let definitions = self.definitions.iter();
        let builder = definitions.fold(builder, |builder, define| define(builder));
        let app = |needs: &mut Needs| App::new("under-test").webhooks(webhooks(needs));
        let cluster = builder.app(app).start().await;
        let labels = self.namespace_labels.iter();
        let labels: Vec<(&str, &str)> = labels
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .collect();
        let cluster = cluster.new_namespace("agree", &labels).await;
        for object in &self.params {
            cluster.apply(object).await.expect_allowed();
        }
        cluster
    }
}

/// The same API server twice: with the policy, and with the webhook.
struct Pair {
    cluster: TestCluster,
    webhook: TestCluster,
    /// Whether the webhook reads from caches, which learn of new objects a little later.
    settles: bool,
}

impl Pair {
    async fn ask(&self, asked: &Asked, ask: &Ask, object: &Value) -> [Answer; 2] {
        let by_policy = asked.ask(&self.cluster, ask, object).await;
        let mut by_webhook = asked.ask(&self.webhook, ask, object).await;
        let mut tries = if self.settles { 20 } else { 0 };
        while tries > 0 && !by_policy.is_as(&by_webhook) {
            tokio::time::sleep(Duration::from_millis(10)).await;
            by_webhook = asked.ask(&self.webhook, ask, object).await;
            tries -= 1;
        }
        [by_policy, by_webhook]
    }

    /// The smallest part of an object that is answered differently.
    async fn smallest(
        &self,
        asked: &Asked,
        ask: &Ask,
        mut object: Value,
        mut answers: [Answer; 2],
    ) -> (Value, [Answer; 2]) {
        'smaller: loop {
            for smaller in objects::smaller(&object) {
                let still = self.ask(asked, ask, &smaller).await;
                if !still[0].is_as(&still[1]) {
                    (object, answers) = (smaller, still);
                    continue 'smaller;
                }
            }
            return (object, answers);
        }
    }
}

/// Asserts that every rule was true and false.
fn tested(tally: &Tally, agreed: &Agreed) {
    for (index, rule) in tally.rules().iter().enumerate() {
        let never = match (rule.held, rule.refused) {
            (0, _) => "true",
            (_, 0) => "false",
            _ => continue,
        };
        fail(format_args!(
            "{}:{}: rule {} was never {never} for the objects that were compared ({agreed}); say which values its fields have \
             with `.values(..)`, or an object to begin with by `.sample(..)`, or `.accept_untested_rules()`\n  {}",
            rule.at.file(),
            rule.at.line(),
            index + 1,
            rule.expression,
        ));
    }
    if tally.rules().is_empty() && agreed.changed == 0 {
        fail(format_args!(
            "the policy never changed an object of those that were compared ({agreed}); say which values its fields have with \
             `.values(..)`, or an object to begin with by `.sample(..)`"
        ));
    }
}

const DOMAIN: &str = "agree.kubewright.dev";
/// How many objects are stored to be updated and deleted.
const STORED: usize = 8;
