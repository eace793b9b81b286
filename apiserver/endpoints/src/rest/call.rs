//! One request to a resource: what every handler needs to know about it.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Method, Uri};
use hyper::upgrade::OnUpgrade;
use kubewright_admission::{Attributes, Notes, Operation};
use kubewright_apiextensions::custom::Custom;
use kubewright_apimachinery::accessor::meta_text;
use kubewright_apimachinery::conform::{Medium, write_empties};
use kubewright_apimachinery::field::FieldError;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::{Result, Status, qualified};
use kubewright_apimachinery::user::User;
use kubewright_auth::rbac::escalation;
use kubewright_fieldmanagement::Versions;
use kubewright_registry::{Findings, Resource};
use kubewright_storage::{Draft, Object};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::Instant;

use super::corrupt;
use super::negotiate::{APPLY, Output, content_type};
use super::path::ResourcePath;
use super::query::Query;
use crate::audit::Trail;
use crate::metrics::AdmissionStep;
use crate::rest::shared::Shared;

/// A request whose path leads to a resource that exists.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) resource: Arc<Resource>,
    /// The resource in whose form the objects are stored.
    pub(crate) storage: Arc<Resource>,
    /// The name of the resource's objects in the store.
    pub(crate) table: String,
    pub(crate) path: ResourcePath,
    pub(crate) method: Method,
    pub(crate) query: Query,
    /// The path and the query as they were sent.
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) output: Output,
    pub(crate) user: User,
    pub(crate) deadline: Instant,
    pub(crate) notes: Arc<Notes>,
    /// What the request leaves in the audit log, if there is one.
    pub(crate) trail: Option<Arc<Trail>>,
    /// What a webhook converted, so that the managers of other versions keep their fields.
    pub(crate) versions: Arc<Versions>,
    /// What becomes of an HTTP/1.1 connection that stops to be one.
    pub(crate) upgrade: Option<OnUpgrade>,
    /// Becomes true when watches shall end.
    pub(crate) stopped: watch::Receiver<bool>,
    /// The whole request body.
    pub(crate) body: Bytes,
}

impl Call {
    /// The key of an object in the store.
    pub(crate) fn key(&self, name: &str) -> String {
        if self.resource.namespaced {
            format!("{}/{name}", self.path.namespace)
        } else {
            name.to_owned()
        }
    }

    /// The object that the path names.
    pub(crate) fn stored(&self) -> Result<Arc<Object>> {
        self.stored_as(&self.path.name)
    }

    /// The object of a name, where the path's own has more in it.
    pub(crate) fn stored_as(&self, name: &str) -> Result<Arc<Object>> {
        let stored = self.shared.store.get(&self.table, &self.key(name));
        stored.ok_or_else(|| self.not_found(name))
    }

    /// A stored object in the request's version, as readers see it.
    pub(crate) async fn value(&self, object: &Object) -> Result<Value> {
        let mut value = object.value();
        if self.shows_as_stored(object) {
            return Ok(value);
        }
        self.decorate(&mut value);
        self.convert_from_storage(value).await
    }

    /// A stored object in the request's version, as writers see it.
    pub(crate) async fn value_to_write(&self, object: &Object) -> Result<Value> {
        if self.shows_as_stored(object) {
            return Ok(object.value());
        }
        self.convert_from_storage(object.value()).await
    }

    /// Makes what is stored what readers see of it, unless they read its status.
    pub(crate) fn decorate(&self, object: &mut Value) {
        if self.path.subresource != "status" {
            self.resource.strategy.decorate(object);
        }
    }

    /// Stored objects in the request's version.
    pub(crate) async fn values(&self, objects: &[Arc<Object>]) -> Result<Vec<Value>> {
        let mut values = Vec::with_capacity(objects.len());
        if let Some(custom) = Custom::of(&self.resource) {
            let mut failures = Vec::new();
            for object in objects {
                match Box::pin(custom.read(self.shared.reach(), object.value())).await {
                    Ok(value) => values.push(value),
                    Err(why) => failures.push((&**object, why)),
                }
                if failures.len() == corrupt::MOST {
                    break;
                }
            }
            if !failures.is_empty() {
                return Err(corrupt::listed(
                    self.shared.served.now().version(),
                    &self.resource,
                    &self.table,
                    &failures,
                ));
            }
            return Ok(values);
        }
        for object in objects {
            values.push(self.value(object).await?);
        }
        Ok(values)
    }

    /// Turns the stored form into the request's.
    pub(crate) async fn convert_from_storage(&self, mut value: Value) -> Result<Value> {
        if let Some(custom) = Custom::of(&self.resource) {
            let revision = meta_text(&value, "resourceVersion").to_owned();
            let read = Box::pin(custom.read(self.shared.reach(), value)).await;
            return read.map_err(|why| {
                let version = self.shared.served.now().version();
                corrupt::undecodable(version, &revision, &why)
            });
        }
        if !self.stores_its_own_form() {
            kubewright_registry::convert(&self.storage, &self.resource, &mut value)?;
        }
        Ok(value)
    }

    /// Turns the request's form into the stored one.
    pub(crate) async fn to_storage(&self, value: &Value) -> Result<Draft> {
        if let Some(custom) = Custom::of(&self.resource) {
            let stored = Box::pin(custom.store(self.shared.reach(), value.clone())).await?;
            return Ok(Draft::new(&stored));
        }
        if self.stores_its_own_form() {
            return Ok(Draft::new(value));
        }
        let mut stored = value.clone();
        kubewright_registry::convert(&self.resource, &self.storage, &mut stored)?;
        Ok(Draft::new(&stored))
    }

    /// Converts the object to the versions that were missing. Returns false if none were.
    ///
    /// # Errors
    /// A conversion that failed.
    pub(crate) async fn complete_versions(&self) -> Result<bool> {
        Box::pin(self.versions.complete(self.shared.reach())).await
    }

    /// Whether a stored object is what is answered.
    pub(crate) fn shows_as_stored(&self, object: &Object) -> bool {
        self.shows_text_as_stored(object.json(), Some(object.revision))
    }

    /// Whether the text of an object, at the revision that it was stored at, is what is answered.
    pub(crate) fn shows_text_as_stored(&self, text: &[u8], revision: Option<u64>) -> bool {
        let strategy = &self.resource.strategy;
        self.stores_its_own_form() && strategy.shows_as_stored(text, revision)
    }

    /// Whether what a built-in kind stores is in the request's version.
    pub(crate) fn stores_its_own_form(&self) -> bool {
        Arc::ptr_eq(&self.resource, &self.storage)
    }

    /// The same request in one namespace, for an object that a collection delete found there.
    pub(crate) fn in_namespace(&self, namespace: String) -> Self {
        let mut call = self.clone();
        call.path.namespace = namespace;
        call
    }

    /// Whether the path leads to an object of this name: the deprecated path `/watch/…/<name>` follows one object.
    pub(crate) fn is_for(&self, name: &str) -> bool {
        self.path.name.is_empty() || self.path.name == name
    }

    /// Whether the request is a server-side apply.
    pub(crate) fn is_apply(&self) -> bool {
        content_type(&self.headers) == APPLY
    }

    /// The kind of the request's resource.
    pub(crate) fn kind(&self) -> GroupVersionKind {
        self.resource.group_version_kind()
    }

    /// The input of admission for this request.
    pub(crate) fn attributes(&self, operation: Operation, options: Value) -> Attributes {
        let namespace = if self.is_about_namespaces() {
            self.path.name.clone()
        } else {
            self.path.namespace.clone()
        };
        Attributes {
            operation,
            resource: self.resource.clone(),
            subresource: self.path.subresource.clone(),
            kind: self.kind(),
            namespace,
            name: self.path.name.clone(),
            user: self.user.clone(),
            dry_run: false,
            options,
            object: Value::Null,
            empties: false,
            patched: false,
            timed: false,
            unset_lists: Vec::new(),
            unpatched_managed_fields: None,
            new_managed_fields: None,
            old_object: Value::Null,
            deadline: self.deadline,
        }
    }

    /// Takes out of a custom object what webhooks or server-side apply put there and its schema does not know. Those that
    /// validate have seen it.
    ///
    /// # Errors
    /// The decoder's words for metadata that do not fit.
    pub(crate) fn prune_for_storage(&self, attributes: &mut Attributes) -> Result<()> {
        let Some(custom) = Custom::of(&self.resource) else {
            return Ok(());
        };
        let pruned = if attributes.patched {
            attributes.write_unset_lists();
            custom.coerce(&mut attributes.object)
        } else if self.is_apply() {
            custom.prune(&mut attributes.object)
        } else {
            return Ok(());
        };
        pruned.map(drop).map_err(|why| Status::internal(&why))
    }

    /// Shows the object of the request to the audit log.
    pub(crate) fn audit(&self, kind: &GroupVersionKind, object: &Value) {
        if let Some(trail) = &self.trail {
            let mut object = object.clone();
            write_empties(kind, &mut object, Medium::Json);
            if kind.kind == self.resource.kind {
                self.resource.strategy.complete_for_audit(&mut object);
            }
            trail.request_object(&object);
        }
    }

    /// Shows the patch in the body to the audit log.
    pub(crate) fn audit_patch(&self) {
        if let Some(trail) = &self.trail {
            trail.request_patch(&self.body);
        }
    }

    /// Lets the mutating steps of admission change the object.
    pub(crate) async fn mutate(&self, attributes: &mut Attributes) -> Result<()> {
        let Shared { chain, cluster, .. } = &*self.shared;
        let (began, operation) = (Instant::now(), attributes.operation);
        // The chain's future is large, and most of its room is for webhooks that are not called.
        let outcome = Box::pin(chain.mutate(cluster, attributes, &self.notes)).await;
        self.admitted(operation, AdmissionStep::Admit, outcome.is_err(), began);
        outcome
    }

    /// Lets the validating steps of admission judge the object.
    pub(crate) async fn validate(&self, attributes: &Attributes) -> Result<()> {
        let Shared { chain, cluster, .. } = &*self.shared;
        let began = Instant::now();
        let outcome = Box::pin(chain.validate(cluster, attributes, &self.notes)).await;
        let operation = attributes.operation;
        self.admitted(operation, AdmissionStep::Validate, outcome.is_err(), began);
        outcome
    }

    fn admitted(&self, operation: Operation, step: AdmissionStep, rejected: bool, began: Instant) {
        let metrics = &self.shared.metrics;
        metrics.admitted(operation, step, rejected, began.elapsed());
    }

    /// The write of a role or a binding that this request is, if it is one.
    pub(crate) fn escalation(&self) -> escalation::Write<'_> {
        escalation::Write {
            user: &self.user,
            group: &self.resource.group,
            resource: &self.resource.plural,
            namespace: &self.path.namespace,
            name: &self.path.name,
            authorizer: &*self.shared.access.authorizer,
            store: &self.shared.store,
        }
    }

    /// Whether the resource is `namespaces` itself.
    pub(crate) fn is_about_namespaces(&self) -> bool {
        self.resource.group.is_empty() && self.resource.plural == "namespaces"
    }

    /// 404 for an object of this resource.
    pub(crate) fn not_found(&self, name: &str) -> Status {
        // The one resource that the real server names in the singular here.
        let plural = match self.resource.plural.as_str() {
            "componentstatuses" => "componentstatus",
            plural => plural,
        };
        Status::not_found(&self.resource.group, plural, name)
    }

    /// 409 for an object of this resource.
    pub(crate) fn conflict(&self, name: &str, why: &str) -> Status {
        Status::conflict(&self.resource.group, &self.resource.plural, name, why)
    }

    /// Returns the errors of a validation; the client is warned of the rest.
    pub(crate) fn told(&self, found: Findings) -> Vec<FieldError> {
        for warning in &found.warnings {
            self.notes.warn(warning);
        }
        found.errors
    }

    /// 422 for an object; a custom one is called what it says that it is.
    pub(crate) fn invalid_object(&self, object: &Value, errors: &[FieldError]) -> Status {
        let name = meta_text(object, "name");
        if !self.resource.strategy.is_unstructured() {
            return self.invalid(name, errors);
        }
        let text = |field: &str| object[field].as_str().unwrap_or_default();
        let group = text("apiVersion")
            .split_once('/')
            .map_or("", |(group, _)| group);
        Status::invalid(group, text("kind"), name, errors)
    }

    /// 422 for an object of this resource.
    pub(crate) fn invalid(&self, name: &str, errors: &[FieldError]) -> Status {
        // Events have their kind from the group that they were first in.
        let group = match self.resource.group.as_str() {
            "events.k8s.io" => "",
            group => group,
        };
        Status::invalid(group, &self.resource.kind, name, errors)
    }
}

/// The name under which a resource's objects are stored.
pub(crate) fn table_of(storage: &Resource) -> String {
    qualified(&storage.plural, &storage.group)
}
