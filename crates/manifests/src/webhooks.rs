//! Webhook configurations from the webhooks that run.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kubewright_webhook::{
    ConversionDeclaration, Declaration, DeclarationError, FailurePolicy, MatchPolicy, Operation,
    Reinvocation, Requirement, Role, Rule, Scope, Selector, SideEffects, Version, Webhooks,
};
use serde_json::{Map, Value, json};

use crate::{Endpoint, Manifests, names};

/// The webhook configurations of a program: one `MutatingWebhookConfiguration` with all its
/// mutators and one `ValidatingWebhookConfiguration` with all its validators. Before them stands the
/// `CustomResourceDefinition` of every custom resource that the program converts, with all versions
/// and its `spec.conversion`.
///
/// Every field is written, also where it has the default of Kubernetes, so that what is in the
/// cluster can be compared with it word by word.
///
/// A program that is reached through a Service leaves its own namespace out of what it judges with
/// `failurePolicy: Fail`: otherwise none of its pods could start once all of them are gone. A
/// namespace selector that asks for a label, or that speaks of `kubernetes.io/metadata.name`, is
/// left as it is.
///
/// # Example: the configuration of one validator
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_manifests::{Endpoint, WebhookConfigurations};
/// use kubewright_webhook::{Change, Review, Validated, Webhooks, validating};
///
/// async fn lenient(_: Change<Pod>, _: Review) -> Validated {
///     Ok(())
/// }
///
/// let webhooks = Webhooks::new("policy.example.com").with(validating("lenient", lenient));
/// let endpoint = Endpoint::url("https://127.0.0.1:8080")?;
/// let manifests = WebhookConfigurations::new("policy", &webhooks, endpoint).build()?;
/// assert!(manifests.to_yaml().contains("name: lenient.policy.example.com"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct WebhookConfigurations {
    webhooks: Webhooks,
    endpoint: Endpoint,
    mutating: String,
    validating: String,
    trust: Option<String>,
}

/// The reason why manifests cannot be written.
///
/// ```
/// use kubewright_manifests::{Install, Installer, ManifestError, Parts};
///
/// let error = Installer::new(&Parts::new("My Program"), &Install::default()).unwrap_err();
/// assert!(matches!(error, ManifestError::Label { name, .. } if name == "My Program"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ManifestError {
    /// The API server does not accept the declaration of a hook.
    #[error("cannot write a webhook configuration")]
    Hook(#[from] DeclarationError),
    /// The API server does not accept the name of a configuration.
    #[error(
        "`{0}` cannot be the name of a webhook configuration: it needs lower-case letters, digits, `-` and `.`"
    )]
    Name(String),
    /// The CA bundle contains no certificate.
    #[error("the certificates to trust hold no PEM block `CERTIFICATE`")]
    NoCertificate,
    /// The CA bundle contains a private key, which every user who can read the configuration could read.
    #[error("the certificates to trust hold a private key, which must stay with the program")]
    PrivateKey,
    /// A name that an object cannot have.
    #[error(
        "`{name}` cannot be the name of {what}: it needs lower-case letters, digits and `-`, begins with a letter and has at most 63 characters"
    )]
    Label {
        /// What has it.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// Two objects are the same for an API server.
    #[error("there are two objects of kind {kind} that are named `{name}`; rename one of them")]
    Clash {
        /// Their kind.
        kind: String,
        /// Their name.
        name: String,
    },
    /// Nothing says where the certificate comes from with which webhooks are served.
    #[error(
        "the program has webhooks, and nothing says where their certificate comes from; give it one of its own with `App::certificates`, or say `certificates_in_secret` or `cert_manager` of the `Install`"
    )]
    NoIdentity,
    /// The certificate comes from two places.
    #[error(
        "the program makes its certificates itself, and its `Install` has another one mounted; leave out one of the two"
    )]
    TwoIdentities,
    /// A webhook would keep the program that serves it from starting.
    #[error(
        "the hook `{hook}` fails closed and is called for {resource} of the program's own namespace, so that the program could not start once it is gone; leave that namespace out by `.in_namespaces(..)`, or say `.fail_open()`"
    )]
    SelfLock {
        /// The webhook.
        hook: String,
        /// What it is called for.
        resource: &'static str,
    },
    /// Several replicas would all run the same controllers.
    #[error(
        "each of {0} replicas would run the controllers and the tasks of the leader, and do everything anew; add `App::leader_election`, or have one replica"
    )]
    NoLeader(u16),
}

impl ManifestError {
    pub(crate) fn no_name(what: &'static str, name: &str) -> Self {
        Self::Label {
            what,
            name: name.to_owned(),
        }
    }
}

impl WebhookConfigurations {
    /// Starts the configurations of `webhooks`, each named `name`, for a program that the API server reaches at `endpoint`.
    ///
    /// ```
    /// use kubewright_manifests::{Endpoint, WebhookConfigurations};
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let endpoint = Endpoint::service("policy-system/policy")?;
    /// let manifests = WebhookConfigurations::new("policy", &webhooks, endpoint).build()?;
    /// let configuration = &manifests.objects()[0];
    /// assert_eq!(configuration["kind"], "ValidatingWebhookConfiguration");
    /// assert_eq!(configuration["metadata"]["name"], "policy");
    /// assert_eq!(configuration["webhooks"][0]["clientConfig"]["service"]["path"], "/images");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(name: impl Into<String>, webhooks: &Webhooks, endpoint: Endpoint) -> Self {
        let name = name.into();
        Self {
            webhooks: webhooks.clone(),
            endpoint,
            mutating: name.clone(),
            validating: name,
            trust: None,
        }
    }

    /// Sets the name of the configuration of mutators.
    ///
    /// ```
    /// use kubewright_manifests::{Endpoint, WebhookConfigurations};
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use kubewright_webhook::{Change, Mutated, Review};
    /// # async fn sidecar(change: Change<Pod>, _: Review) -> Mutated<Pod> { Ok(change.into_object()) }
    /// use kubewright_webhook::{Webhooks, mutating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(mutating("sidecar", sidecar));
    /// let endpoint = Endpoint::service("policy-system/policy")?;
    /// let configurations = WebhookConfigurations::new("policy", &webhooks, endpoint).mutating_named("50-policy");
    /// assert_eq!(configurations.build()?.objects()[0]["metadata"]["name"], "50-policy");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn mutating_named(mut self, name: impl Into<String>) -> Self {
        self.mutating = name.into();
        self
    }

    /// Sets the name of the configuration of validators.
    ///
    /// ```
    /// use kubewright_manifests::{Endpoint, WebhookConfigurations};
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let endpoint = Endpoint::service("policy-system/policy")?;
    /// let configurations = WebhookConfigurations::new("policy", &webhooks, endpoint).validating_named("images");
    /// assert_eq!(configurations.build()?.objects()[0]["metadata"]["name"], "images");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn validating_named(mut self, name: impl Into<String>) -> Self {
        self.validating = name.into();
        self
    }

    /// Sets the CA certificates, as PEM, that the API server verifies the program's certificate with (`caBundle`). Without them
    /// it trusts the authorities of its own machine.
    ///
    /// ```
    /// use kubewright_manifests::{Endpoint, ManifestError, WebhookConfigurations};
    #[doc = include_str!("images.md")]
    /// use kubewright_webhook::{Webhooks, validating};
    ///
    /// let webhooks = Webhooks::new("policy.example.com").with(validating("images", images));
    /// let configurations = WebhookConfigurations::new("policy", &webhooks, Endpoint::service("policy-system/policy")?);
    /// let pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
    /// let manifests = configurations.clone().trusting(pem).build()?;
    /// assert!(manifests.objects()[0]["webhooks"][0]["clientConfig"]["caBundle"].is_string());
    ///
    /// let key = "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----\n";
    /// assert_eq!(configurations.trusting(key).build(), Err(ManifestError::PrivateKey));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trusting(mut self, pem: impl Into<String>) -> Self {
        self.trust = Some(pem.into());
        self
    }

    /// Generates the objects.
    ///
    /// # Errors
    ///
    /// When the API server would not accept a hook ([`Webhooks::check`]) or the name of a
    /// configuration, or what it should trust holds no certificate, or a private key.
    pub fn build(&self) -> Result<Manifests, ManifestError> {
        self.webhooks.check()?;
        let ca_bundle = self.trust.as_deref().map(ca_bundle).transpose()?;
        let declarations = self.webhooks.declarations();
        let flavours = [
            (
                Role::Mutating,
                "MutatingWebhookConfiguration",
                &self.mutating,
            ),
            (
                Role::Validating,
                "ValidatingWebhookConfiguration",
                &self.validating,
            ),
        ];
        let mut objects: Vec<Value> = self
            .webhooks
            .conversions()
            .iter()
            .map(|conversion| self.definition(conversion, ca_bundle.as_deref()))
            .collect();
        for (role, kind, name) in flavours {
            let webhooks: Vec<Value> = declarations
                .iter()
                .filter(|declaration| declaration.role == role)
                .map(|declaration| self.webhook(declaration, ca_bundle.as_deref()))
                .collect();
            if webhooks.is_empty() {
                continue;
            }
            if !names::is_subdomain(name) {
                return Err(ManifestError::Name(name.clone()));
            }
            objects.push(json!({
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": {"name": name},
                "webhooks": webhooks,
            }));
        }
        Ok(Manifests::new(objects))
    }

    /// The definition of a custom resource, with its conversion.
    fn definition(&self, conversion: &ConversionDeclaration, ca_bundle: Option<&str>) -> Value {
        let versions = conversion.review_versions.iter();
        let versions: Vec<&str> = versions.map(|version| version.as_str()).collect();
        let mut definition = conversion.definition.clone();
        definition["spec"]["conversion"] = json!({
            "strategy": "Webhook",
            "webhook": {
                "clientConfig": self.endpoint.client_config(&conversion.path, ca_bundle),
                "conversionReviewVersions": versions,
            },
        });
        definition
    }

    fn webhook(&self, declaration: &Declaration, ca_bundle: Option<&str>) -> Value {
        let namespaces = self.namespaces(declaration);
        let rules: Vec<Value> = declaration.rules.iter().map(rule).collect();
        let conditions: Vec<Value> = declaration
            .match_conditions
            .iter()
            .map(|condition| json!({"name": condition.name, "expression": condition.expression}))
            .collect();
        let versions: Vec<&str> = declaration
            .review_versions
            .iter()
            .copied()
            .map(Version::as_str)
            .collect();
        let mut webhook = json!({
            "name": declaration.name,
            "clientConfig": self.endpoint.client_config(&declaration.path, ca_bundle),
            "rules": rules,
            "failurePolicy": failure_policy(declaration.failure_policy),
            "matchPolicy": match_policy(declaration.match_policy),
            "namespaceSelector": selector(&namespaces),
            "objectSelector": selector(&declaration.object_selector),
            "sideEffects": side_effects(declaration.side_effects),
            "timeoutSeconds": declaration.timeout.as_secs(),
            "admissionReviewVersions": versions,
        });
        if !conditions.is_empty() {
            webhook["matchConditions"] = Value::Array(conditions);
        }
        if declaration.role == Role::Mutating {
            webhook["reinvocationPolicy"] = json!(reinvocation(declaration.reinvocation));
        }
        webhook
    }

    /// The namespaces that a hook is called for, without the program's own where that could lock
    /// it out.
    fn namespaces(&self, declaration: &Declaration) -> Selector {
        let selector = declaration.namespace_selector.clone();
        // The selector holds for namespaces themselves, too, though they are objects of the cluster.
        let is_namespaces = |resource: &String| resource == "namespaces" || resource.contains('*');
        let in_namespaces = declaration
            .rules
            .iter()
            .any(|rule| rule.scope != Scope::Cluster || rule.resources.iter().any(is_namespaces));
        match self.endpoint.namespace() {
            Some(own)
                if declaration.failure_policy == FailurePolicy::Fail
                    && in_namespaces
                    && selector.requirements().iter().all(may_select_own) =>
            {
                selector.without(NAMESPACE_NAME, [own])
            }
            _ => selector,
        }
    }
}

fn may_select_own(requirement: &Requirement) -> bool {
    match requirement {
        Requirement::Is(..) | Requirement::In(..) | Requirement::Exists(_) => false,
        Requirement::NotIn(key, _) | Requirement::DoesNotExist(key) => key != NAMESPACE_NAME,
    }
}

fn ca_bundle(pem: &str) -> Result<String, ManifestError> {
    if pem.contains("PRIVATE KEY-----") {
        return Err(ManifestError::PrivateKey);
    }
    if !pem.contains("-----BEGIN CERTIFICATE-----") {
        return Err(ManifestError::NoCertificate);
    }
    Ok(STANDARD.encode(pem))
}

pub(crate) fn rule(rule: &Rule) -> Value {
    let operations: Vec<&str> = rule
        .operations
        .iter()
        .copied()
        .map(Operation::as_str)
        .collect();
    json!({
        "operations": operations,
        "apiGroups": rule.groups,
        "apiVersions": rule.versions,
        "resources": rule.resources,
        "scope": match rule.scope {
            Scope::Any => "*",
            Scope::Cluster => "Cluster",
            Scope::Namespaced => "Namespaced",
        },
    })
}

pub(crate) fn selector(selector: &Selector) -> Value {
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    let mut expect = |key: &str, operator: &str, values: &[String]| {
        let mut expression = json!({"key": key, "operator": operator});
        if !values.is_empty() {
            expression["values"] = json!(values);
        }
        expressions.push(expression);
    };
    for requirement in selector.requirements() {
        match requirement {
            // A second value for the same label selects nothing, and must not replace the first.
            Requirement::Is(key, value) if labels.get(key).is_some_and(|first| first != value) => {
                expect(key, "In", std::slice::from_ref(value));
            }
            Requirement::Is(key, value) => {
                labels.insert(key.clone(), json!(value));
            }
            Requirement::In(key, values) => expect(key, "In", values),
            Requirement::NotIn(key, values) => expect(key, "NotIn", values),
            Requirement::Exists(key) => expect(key, "Exists", &[]),
            Requirement::DoesNotExist(key) => expect(key, "DoesNotExist", &[]),
        }
    }
    let mut selector = Map::new();
    if !labels.is_empty() {
        selector.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    if !expressions.is_empty() {
        selector.insert("matchExpressions".to_owned(), Value::Array(expressions));
    }
    Value::Object(selector)
}

fn failure_policy(policy: FailurePolicy) -> &'static str {
    match policy {
        FailurePolicy::Fail => "Fail",
        FailurePolicy::Ignore => "Ignore",
    }
}

fn match_policy(policy: MatchPolicy) -> &'static str {
    match policy {
        MatchPolicy::Exact => "Exact",
        MatchPolicy::Equivalent => "Equivalent",
    }
}

fn side_effects(effects: SideEffects) -> &'static str {
    match effects {
        SideEffects::None => "None",
        SideEffects::NoneOnDryRun => "NoneOnDryRun",
        SideEffects::Some => "Some",
    }
}

fn reinvocation(policy: Reinvocation) -> &'static str {
    match policy {
        Reinvocation::Never => "Never",
        Reinvocation::IfNeeded => "IfNeeded",
    }
}

/// The label that the API server puts on every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";
