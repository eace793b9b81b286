//! A request as expressions see it.

use std::fmt;
use std::sync::Arc;

use kube_core::Resource;
use kubewright_cel::{AccessCheck, Authority, Authorizer, Decision, ResourceAttributes, Variables};
use kubewright_webhook::{Operation, Review};
use serde_json::{Map, Value, json};

use crate::params::{Params, is_built_in};

/// A request that a test asks a policy about.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kubewright_policy::{Policy, Request};
/// use serde_json::json;
///
/// let policy = Policy::<Deployment>::validating("replicas")
///     .rule("oldObject == null || object.spec.replicas >= oldObject.spec.replicas", "do not scale down");
/// let (three, two) = (json!({"spec": {"replicas": 3}}), json!({"spec": {"replicas": 2}}));
/// assert!(policy.decide(&Request::create::<Deployment>(two.clone())).denial().is_none());
/// let down = Request::update::<Deployment>(three, two);
/// assert_eq!(policy.decide(&down).denial().unwrap().message, "do not scale down");
/// ```
#[derive(Clone)]
#[must_use]
pub struct Request {
    pub(crate) head: Value,
    pub(crate) head_of_conditions: Option<Value>,
    pub(crate) object: Value,
    pub(crate) old: Value,
    pub(crate) namespace: Value,
    pub(crate) params: Vec<Value>,
    authorizer: Option<Arc<dyn Authorizer>>,
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("object", &self.object)
            .field("old_object", &self.old)
            .finish_non_exhaustive()
    }
}

impl Request {
    /// An object is created.
    pub fn create<K: Resource<DynamicType: Default>>(object: Value) -> Self {
        Self::of::<K>(Operation::Create, object, Value::Null)
    }

    /// An object is replaced by a new one.
    pub fn update<K: Resource<DynamicType: Default>>(old: Value, new: Value) -> Self {
        Self::of::<K>(Operation::Update, new, old)
    }

    /// An object is deleted.
    pub fn delete<K: Resource<DynamicType: Default>>(old: Value) -> Self {
        Self::of::<K>(Operation::Delete, Value::Null, old)
    }

    fn of<K: Resource<DynamicType: Default>>(
        operation: Operation,
        mut object: Value,
        mut old: Value,
    ) -> Self {
        let of = K::DynamicType::default();
        let (group, version) = (K::group(&of), K::version(&of));
        let api_version = K::api_version(&of);
        for object in [&mut object, &mut old] {
            if let Some(members) = object.as_object_mut() {
                members
                    .entry("apiVersion")
                    .or_insert_with(|| json!(api_version));
                members.entry("kind").or_insert_with(|| json!(K::kind(&of)));
            }
        }
        let any = if object.is_null() { &old } else { &object };
        let metadata = &any["metadata"];
        let kind = json!({"group": group, "version": version, "kind": K::kind(&of)});
        let resource = json!({"group": group, "version": version, "resource": K::plural(&of)});
        let options = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            _ => "DeleteOptions",
        };
        let mut request = json!({
            "uid": "", "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
            "operation": operation.as_str(), "userInfo": {}, "object": null, "oldObject": null, "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": options},
        });
        for name in ["name", "namespace"] {
            if let Some(text) = metadata[name].as_str().filter(|text| !text.is_empty()) {
                request[name] = json!(text);
            }
        }
        Self {
            head: request,
            head_of_conditions: None,
            object,
            old,
            namespace: Value::Null,
            params: Vec::new(),
            authorizer: None,
        }
    }

    /// What a webhook is asked. `params` and the namespace are read by the program.
    pub(crate) fn of_review(review: &Review) -> Result<Self, serde_json::Error> {
        let kind = |kind: kubewright_webhook::GroupVersionKind<'_>| json!({"group": kind.group, "version": kind.version, "kind": kind.kind});
        let resource = |of: kubewright_webhook::GroupVersionResource<'_>| json!({"group": of.group, "version": of.version, "resource": of.resource});
        let mut request = json!({
            "uid": "",
            "kind": kind(review.kind()),
            "resource": resource(review.resource()),
            "requestKind": kind(review.request_kind()),
            "requestResource": resource(review.request_resource()),
            "operation": review.operation().as_str(),
            "userInfo": user(review),
            "object": null,
            "oldObject": null,
            "dryRun": review.dry_run(),
            "options": review.options::<Value>()?,
        });
        for (name, text) in [
            ("subResource", review.sub_resource()),
            ("requestSubResource", review.request_sub_resource()),
            ("name", review.name()),
            ("namespace", review.namespace()),
        ] {
            if let Some(text) = text {
                request[name] = json!(text);
            }
        }
        let mut of_conditions = None;
        if request["resource"] != request["requestResource"] {
            let mut request = request.clone();
            request["resource"] = request["requestResource"].clone();
            of_conditions = Some(request);
        }
        let read = |text: Option<&str>| text.map_or(Ok(Value::Null), serde_json::from_str);
        Ok(Self {
            head: request,
            head_of_conditions: of_conditions,
            object: read(review.object_json())?,
            old: read(review.old_object_json())?,
            namespace: Value::Null,
            params: Vec::new(),
            authorizer: None,
        })
    }

    /// Sets the namespace of the object, which expressions see as `namespaceObject`.
    pub fn in_namespace(mut self, namespace: &Value) -> Self {
        self.namespace = shown(namespace);
        self.field("namespace", namespace["metadata"]["name"].clone())
    }

    /// Sets the objects of the kind of the parameters that exist: the policy selects its own of them.
    pub fn params(mut self, params: impl IntoIterator<Item = Value>) -> Self {
        self.params = params.into_iter().collect();
        self
    }

    /// Sets the user who makes the request.
    pub fn user<'a>(self, name: &str, groups: impl IntoIterator<Item = &'a str>) -> Self {
        let groups: Vec<&str> = groups.into_iter().collect();
        self.field("userInfo", json!({"username": name, "groups": groups}))
    }

    /// Sets a field of the variable `request`, such as `dryRun`.
    pub fn field(mut self, name: &str, value: Value) -> Self {
        self.head[name] = value;
        self
    }

    /// Answers the access checks of `authorizer`. Without it, expressions that check access fail.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_policy::{AccessCheck, Decision, Policy, Request};
    /// use serde_json::json;
    ///
    /// let policy = Policy::<ConfigMap>::validating("admins")
    ///     .rule("authorizer.path('/admin').check('get').allowed()", "ask an administrator");
    /// let request = Request::create::<ConfigMap>(json!({})).authorize(|check: &AccessCheck<'_>| {
    ///     assert_eq!(check.verb, "get");
    ///     Decision::allow("")
    /// });
    /// assert!(policy.decide(&request).denial().is_none());
    /// ```
    pub fn authorize(
        mut self,
        authorizer: impl Fn(&AccessCheck<'_>) -> Decision + Send + Sync + 'static,
    ) -> Self {
        self.authorizer = Some(Arc::new(authorizer));
        self
    }

    pub(crate) fn namespace_name(&self) -> &str {
        self.head["namespace"].as_str().unwrap_or_default()
    }

    /// Whether the API server holds the objects in Go types.
    pub(crate) fn is_built_in(&self) -> bool {
        is_built_in(self.head["kind"]["group"].as_str().unwrap_or_default())
    }

    pub(crate) fn authority(&self) -> Option<Authority<'_>> {
        self.authorizer.as_deref().map(Authority::new)
    }
}

/// The variables of one evaluation.
pub(crate) struct Seen<'a> {
    pub(crate) request: &'a Request,
    /// The object as earlier mutations left it.
    pub(crate) object: &'a Value,
    pub(crate) params: &'a Value,
    pub(crate) are_params_native: bool,
    pub(crate) is_native: bool,
}

static NULL: Value = Value::Null;

impl<'a> Seen<'a> {
    pub(crate) fn of_conditions(&self, authority: Option<&Authority<'a>>) -> Variables<'a> {
        let variables = self.variables(&NULL, authority);
        match &self.request.head_of_conditions {
            Some(head) => variables.with_native("request", head),
            None => variables,
        }
    }

    pub(crate) fn of_expressions(&self, authority: Option<&Authority<'a>>) -> Variables<'a> {
        self.variables(&self.request.namespace, authority)
    }

    fn variables(&self, namespace: &'a Value, authority: Option<&Authority<'a>>) -> Variables<'a> {
        let (object, old) = (self.object, &self.request.old);
        let variables = if self.is_native {
            Variables::new()
                .with_native("object", object)
                .with_native("oldObject", old)
        } else {
            Variables::new()
                .with_json("object", object)
                .with_json("oldObject", old)
        };
        let variables = variables
            .with_native("request", &self.request.head)
            .with_native("namespaceObject", namespace);
        let variables = if self.are_params_native {
            variables.with_native("params", self.params)
        } else {
            variables.with_json("params", self.params)
        };
        let Some(authority) = authority else {
            return variables;
        };
        let request = &self.request.head;
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let own = &request["requestResource"];
        let checked = authority.request_resource(&ResourceAttributes {
            group: text(&own["group"]),
            resource: text(&own["resource"]),
            subresource: text(&request["requestSubResource"]),
            namespace: text(&request["namespace"]),
            name: text(&request["name"]),
            ..ResourceAttributes::default()
        });
        variables
            .with("authorizer", authority.clone().value())
            .with("authorizer.requestResource", checked)
    }
}

fn user(review: &Review) -> Value {
    let user = review.user();
    let mut shown = Map::new();
    for (name, text) in [("username", &user.username), ("uid", &user.uid)] {
        if !text.is_empty() {
            shown.insert(name.to_owned(), json!(text));
        }
    }
    if !user.groups.is_empty() {
        shown.insert("groups".to_owned(), json!(user.groups));
    }
    if !user.extra.is_empty() {
        shown.insert("extra".to_owned(), json!(user.extra));
    }
    Value::Object(shown)
}

/// The fields of a namespace that expressions see.
pub(crate) fn shown(namespace: &Value) -> Value {
    const HIDDEN: [&str; 3] = ["managedFields", "ownerReferences", "selfLink"];
    let mut metadata = namespace["metadata"].clone();
    if let Some(members) = metadata.as_object_mut() {
        members.retain(|name, _| !HIDDEN.contains(&name.as_str()));
    }
    json!({"metadata": metadata, "spec": namespace["spec"], "status": namespace["status"]})
}

/// The parameters that a policy is evaluated with, each once; null for a policy without parameters.
///
/// # Errors
/// There are none, and the policy says that this is an error.
pub(crate) fn params(
    params: Option<&Params>,
    request: &Request,
    is_validating: bool,
) -> Result<Vec<Value>, String> {
    let Some(params) = params else {
        return Ok(vec![Value::Null]);
    };
    let found = params.select(&request.params, request.namespace_name())?;
    let shown = found
        .into_iter()
        .map(|object| params.shown(object, is_validating));
    Ok(shown.collect())
}
