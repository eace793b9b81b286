//! The parameters of a policy: which objects they are, and how a webhook reads them.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use kubewright_controller::{Cached, Kind, Object};
use kubewright_webhook::{Requirement, Selector};
use serde_json::{Value, json};

/// Which objects are the parameters of a policy.
///
/// ```
/// use kubewright_policy::{NotFound, ParamRef};
///
/// // The object of this name in the namespace of the request; the request is denied if there is none.
/// let limits = ParamRef::named("limits");
/// // That of one namespace; the policy does not apply while there is none.
/// let limits = ParamRef::named("limits").in_namespace("policy-system").when_not_found(NotFound::Allow);
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct ParamRef {
    which: Which,
    namespace: Option<String>,
    not_found: NotFound,
}

#[derive(Clone, Debug)]
enum Which {
    Named(String),
    Labelled(Selector),
}

/// What happens to a request while there are no parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "Kubernetes has these two")]
pub enum NotFound {
    /// The policy does not apply.
    Allow,
    /// The failure policy decides.
    #[default]
    Deny,
}

/// The parameters of a policy, without the type of their kind.
#[derive(Clone)]
pub(crate) struct Params {
    pub(crate) kind: Kind,
    pub(crate) reference: ParamRef,
    pub(crate) cache: Option<Arc<Read>>,
}

/// Reads the parameters in a namespace, or of the cluster.
type Read = dyn Fn(Option<String>) -> Reading + Send + Sync;
type Reading = Pin<Box<dyn Future<Output = Result<Vec<Value>, Cause>> + Send>>;
pub(crate) type Cause = Box<dyn Error + Send + Sync>;

impl ParamRef {
    /// The object of this name.
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(Which::Named(name.into()))
    }

    /// Every object with these labels: the policy is evaluated once for each.
    pub fn labelled(selector: Selector) -> Self {
        Self::new(Which::Labelled(selector))
    }

    fn new(which: Which) -> Self {
        Self {
            which,
            namespace: None,
            not_found: NotFound::default(),
        }
    }

    /// Sets the namespace of the objects. Default: that of the request, if their kind has namespaces.
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Sets what happens while there is no such object. Default: [`NotFound::Deny`].
    pub fn when_not_found(mut self, action: NotFound) -> Self {
        self.not_found = action;
        self
    }

    fn to_json(&self) -> Value {
        let mut reference = json!({
            "parameterNotFoundAction": match self.not_found {
                NotFound::Allow => "Allow",
                NotFound::Deny => "Deny",
            },
        });
        match &self.which {
            Which::Named(name) => reference["name"] = json!(name),
            Which::Labelled(selector) => reference["selector"] = labels(selector),
        }
        if let Some(namespace) = &self.namespace {
            reference["namespace"] = json!(namespace);
        }
        reference
    }

    /// Whether an object is one of them, going by its name and labels.
    fn selects(&self, object: &Value) -> bool {
        let metadata = &object["metadata"];
        match &self.which {
            Which::Named(name) => metadata["name"] == **name,
            Which::Labelled(selector) => {
                let label = |key: &str| metadata["labels"][key].as_str();
                let mut requirements = selector.requirements().iter();
                requirements.all(|requirement| match requirement {
                    Requirement::Is(key, value) => label(key) == Some(value),
                    Requirement::In(key, values) => {
                        label(key).is_some_and(|found| values.iter().any(|value| value == found))
                    }
                    Requirement::NotIn(key, values) => {
                        label(key).is_none_or(|found| values.iter().all(|value| value != found))
                    }
                    Requirement::Exists(key) => label(key).is_some(),
                    Requirement::DoesNotExist(key) => label(key).is_none(),
                })
            }
        }
    }
}

fn labels(selector: &Selector) -> Value {
    let requirements = selector.requirements().iter();
    let expressions: Vec<Value> = requirements
        .map(|requirement| match requirement {
            Requirement::Is(key, value) => {
                json!({"key": key, "operator": "In", "values": [value]})
            }
            Requirement::In(key, values) => {
                json!({"key": key, "operator": "In", "values": values})
            }
            Requirement::NotIn(key, values) => {
                json!({"key": key, "operator": "NotIn", "values": values})
            }
            Requirement::Exists(key) => json!({"key": key, "operator": "Exists"}),
            Requirement::DoesNotExist(key) => json!({"key": key, "operator": "DoesNotExist"}),
        })
        .collect();
    if expressions.is_empty() {
        return json!({});
    }
    json!({"matchExpressions": expressions})
}

impl Params {
    pub(crate) fn of<P: Object>(reference: ParamRef) -> Self {
        Self {
            kind: Kind::of::<P>(),
            reference,
            cache: None,
        }
    }

    pub(crate) fn cached<P: Object>(cache: &Cached<P>, reference: ParamRef) -> Self {
        let cache = cache.decode_as::<Value>();
        let read = move |namespace: Option<String>| -> Reading {
            let cache = cache.clone();
            Box::pin(async move {
                Ok(match namespace {
                    Some(namespace) => cache.list_in(&namespace).await?,
                    None => cache.list().await?,
                })
            })
        };
        Self {
            cache: Some(Arc::new(read)),
            ..Self::of::<P>(reference)
        }
    }

    /// `paramKind` of the policy.
    pub(crate) fn kind(&self) -> Value {
        json!({"apiVersion": self.kind.api_version(), "kind": self.kind.name()})
    }

    /// `paramRef` of the binding.
    pub(crate) fn reference(&self) -> Value {
        self.reference.to_json()
    }

    /// The namespace that the parameters of a request are in, in the words of the API server where there is none.
    ///
    /// # Errors
    /// The reference does not fit the request.
    fn namespace(&self, of_request: &str) -> Result<Option<String>, String> {
        match (&self.reference.namespace, self.kind.is_namespaced()) {
            (Some(namespace), true) => Ok(Some(namespace.clone())),
            (None, true) if of_request.is_empty() => Err(
                "cannot use namespaced paramRef in policy binding that matches cluster-scoped resources"
                    .to_owned(),
            ),
            (None, true) => Ok(Some(of_request.to_owned())),
            (None, false) => Ok(None),
            (Some(_), false) => Err(
                "paramRef.namespace must not be provided for a cluster-scoped `paramKind`".to_owned(),
            ),
        }
    }

    /// Reads the parameters of a request from the cache of the program.
    ///
    /// # Errors
    /// The cache cannot be read.
    pub(crate) async fn read(&self, of_request: &str) -> Result<Vec<Value>, Cause> {
        let Ok(namespace) = self.namespace(of_request) else {
            return Ok(Vec::new());
        };
        match &self.cache {
            Some(read) => read(namespace).await,
            None => Err("the policy has no cache of its parameters".into()),
        }
    }

    /// Those of some objects that are the parameters of a request, in the order of namespaces and names.
    ///
    /// # Errors
    /// There are none, and the reference says that this is an error; or it does not fit the request.
    pub(crate) fn select(&self, objects: &[Value], of_request: &str) -> Result<Vec<Value>, String> {
        let namespace = self
            .namespace(of_request)
            .map_err(|why| format!("failed to configure binding: {why}"))?;
        let is_in = |object: &Value| match (&namespace, object["metadata"]["namespace"].as_str()) {
            (Some(namespace), found) => found.is_none_or(|found| found == namespace),
            (None, _) => true,
        };
        let found = objects
            .iter()
            .filter(|object| is_in(object) && self.reference.selects(object));
        let found: Vec<Value> = found.cloned().collect();
        if found.is_empty() && self.reference.not_found == NotFound::Deny {
            return Err(
                "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
                    .to_owned(),
            );
        }
        Ok(found)
    }

    /// Parameters as expressions see them.
    pub(crate) fn shown(&self, mut object: Value, is_validating: bool) -> Value {
        if !is_built_in(self.kind.group()) {
            return object;
        }
        let Some(members) = object.as_object_mut() else {
            return object;
        };
        if let Some(Value::Object(metadata)) = members.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        if is_validating {
            members.insert("apiVersion".to_owned(), json!(self.kind.api_version()));
            members.insert("kind".to_owned(), json!(self.kind.name()));
        } else {
            // Mutating policies get them of typed caches, where they have no kind.
            members.remove("apiVersion");
            members.remove("kind");
        }
        object
    }

    /// Whether the API server holds them in Go types where mutating policies get them.
    pub(crate) fn is_native(&self, is_validating: bool) -> bool {
        !is_validating && is_built_in(self.kind.group())
    }
}

/// Whether a group is one of Kubernetes' own, whose objects the API server holds in Go types.
pub(crate) fn is_built_in(group: &str) -> bool {
    const GROUPS: [&str; 20] = [
        "",
        "admissionregistration.k8s.io",
        "apiextensions.k8s.io",
        "apps",
        "authentication.k8s.io",
        "authorization.k8s.io",
        "autoscaling",
        "batch",
        "certificates.k8s.io",
        "coordination.k8s.io",
        "discovery.k8s.io",
        "events.k8s.io",
        "flowcontrol.apiserver.k8s.io",
        "internal.apiserver.k8s.io",
        "networking.k8s.io",
        "node.k8s.io",
        "policy",
        "rbac.authorization.k8s.io",
        "resource.k8s.io",
        "storage.k8s.io",
    ];
    GROUPS.contains(&group) || matches!(group, "scheduling.k8s.io" | "storagemigration.k8s.io")
}

impl fmt::Debug for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Params")
            .field("kind", &self.kind)
            .field("reference", &self.reference)
            .finish_non_exhaustive()
    }
}
