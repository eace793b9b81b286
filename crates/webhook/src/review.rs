//! The review that a handler takes part in: who asks for what, and what to tell them.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kubewright_review::{AdmissionReview, Body, Kind, Operation, Resource};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;

/// The review that a handler takes part in: who asks for what, until when, and what to tell them.
///
/// Clones are the same review, so helpers take one freely. Warnings and annotations reach the API server whatever the
/// verdict is, also if the handler returns early.
#[derive(Clone)]
pub struct Review(Arc<Inner>);

struct Inner {
    request: AdmissionReview,
    deadline: Instant,
    user: OnceLock<User>,
    notes: Mutex<Notes>,
}

#[derive(Default)]
pub(crate) struct Notes {
    pub(crate) warnings: Vec<String>,
    pub(crate) annotations: Vec<(String, String)>,
    /// A handler asked who asks, and the review did not say it in a way that can be read.
    pub(crate) user_is_unreadable: bool,
}

/// Who asks.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct User {
    /// The name, such as `system:serviceaccount:blue:default`.
    pub username: String,
    /// What stays the same if the name is given to somebody else.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// What the authenticator adds.
    pub extra: std::collections::BTreeMap<String, Vec<String>>,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // `extra` can hold what an authenticator was told in confidence.
        f.debug_struct("User")
            .field("username", &self.username)
            .field("uid", &self.uid)
            .field("groups", &self.groups)
            .finish_non_exhaustive()
    }
}

impl Review {
    pub(crate) fn new(request: AdmissionReview, deadline: Instant) -> Self {
        Self(Arc::new(Inner {
            request,
            deadline,
            user: OnceLock::new(),
            notes: Mutex::default(),
        }))
    }

    /// A review of an object in a namespace, for tests of handlers. [`Review::builder`] sets more.
    pub fn in_namespace(namespace: &str) -> Self {
        Self::builder().namespace(namespace).build()
    }

    /// Builds a review, for tests of handlers.
    pub fn builder() -> ReviewBuilder {
        ReviewBuilder::default()
    }

    /// The identity of this call.
    pub fn uid(&self) -> &str {
        self.0.request.uid()
    }

    /// What the client asked for.
    pub fn operation(&self) -> Operation {
        self.0.request.operation()
    }

    /// The object's name, unless the API server has yet to generate it.
    pub fn name(&self) -> Option<&str> {
        some(self.0.request.name())
    }

    /// The object's namespace, unless it is an object of the cluster.
    pub fn namespace(&self) -> Option<&str> {
        some(self.0.request.namespace())
    }

    /// The sub-resource, such as `scale`, unless this is about the object itself.
    pub fn sub_resource(&self) -> Option<&str> {
        some(self.0.request.sub_resource())
    }

    /// The kind of the objects in this review.
    pub fn kind(&self) -> Kind<'_> {
        self.0.request.kind()
    }

    /// The resource as the webhook's rule names it.
    pub fn resource(&self) -> Resource<'_> {
        self.0.request.resource()
    }

    /// The kind that the client sent, which can be of another version.
    pub fn request_kind(&self) -> Kind<'_> {
        self.0.request.request_kind()
    }

    /// The resource that the client named, which can be of another version.
    pub fn request_resource(&self) -> Resource<'_> {
        self.0.request.request_resource()
    }

    /// Whether nothing will be stored, so that nothing else may be changed either.
    pub fn dry_run(&self) -> bool {
        self.0.request.dry_run()
    }

    /// Who asks.
    ///
    /// If the review does not say it as the protocol has it, this is nobody, and the call fails whatever the handler answers.
    pub fn user(&self) -> &User {
        self.0.user.get_or_init(|| {
            let user = self.0.request.user_info().map(serde_json::from_str);
            user.unwrap_or_else(|| Ok(User::default()))
                .unwrap_or_else(|_| {
                    self.notes(|notes| notes.user_is_unreadable = true);
                    User::default()
                })
        })
    }

    /// The options of the request, such as `DeleteOptions`, unless there are none.
    ///
    /// # Errors
    ///
    /// If they are not of this type.
    pub fn options<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        self.0
            .request
            .options()
            .map(serde_json::from_str)
            .transpose()
    }

    /// When the handler is stopped, because the API server would not wait for the answer.
    pub fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// How much time is left.
    pub fn remaining(&self) -> Duration {
        self.0.deadline.saturating_duration_since(Instant::now())
    }

    /// Warns the client, whatever the verdict is. `kubectl` prints warnings.
    pub fn warn(&self, text: impl fmt::Display) {
        let text = text.to_string();
        self.notes(|notes| notes.warnings.push(text));
    }

    /// Annotates the audit event, whatever the verdict is. The API server puts the webhook's name before the key.
    pub fn annotate(&self, key: impl Into<String>, value: impl fmt::Display) {
        let annotation = (key.into(), value.to_string());
        self.notes(|notes| {
            notes.annotations.retain(|(key, _)| *key != annotation.0);
            notes.annotations.push(annotation);
        });
    }

    /// The warnings so far, for tests of handlers.
    pub fn warnings(&self) -> Vec<String> {
        self.notes(|notes| notes.warnings.clone())
    }

    /// The annotations of the audit event so far, for tests of handlers.
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.notes(|notes| notes.annotations.clone())
    }

    pub(crate) fn request(&self) -> &AdmissionReview {
        &self.0.request
    }

    /// The same review of the object as a handler left it.
    pub(crate) fn with_request(&self, request: AdmissionReview) -> Self {
        Self(Arc::new(Inner {
            request,
            deadline: self.0.deadline,
            user: OnceLock::new(),
            notes: Mutex::new(self.take_notes()),
        }))
    }

    pub(crate) fn take_notes(&self) -> Notes {
        self.notes(std::mem::take)
    }

    fn notes<T>(&self, act: impl FnOnce(&mut Notes) -> T) -> T {
        act(&mut self.0.notes.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl fmt::Debug for Review {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0.request, f)
    }
}

fn some(text: &str) -> Option<&str> {
    Some(text).filter(|text| !text.is_empty())
}

/// Builds a review, for tests of handlers.
#[derive(Clone, Debug)]
#[must_use]
pub struct ReviewBuilder {
    request: serde_json::Value,
    remaining: Duration,
}

impl Default for ReviewBuilder {
    fn default() -> Self {
        Self {
            request: serde_json::json!({
                "uid": "00000000-0000-0000-0000-000000000000",
                "operation": "CREATE",
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "resource": {"group": "", "version": "v1", "resource": "pods"},
                "userInfo": {},
                "dryRun": false,
            }),
            remaining: Duration::from_secs(10),
        }
    }
}

impl ReviewBuilder {
    /// Sets the namespace.
    pub fn namespace(self, namespace: &str) -> Self {
        self.field("namespace", namespace.into())
    }

    /// Sets the object's name.
    pub fn name(self, name: &str) -> Self {
        self.field("name", name.into())
    }

    /// Sets what the client asked for.
    pub fn operation(self, operation: Operation) -> Self {
        self.field("operation", operation.as_str().into())
    }

    /// Sets the sub-resource.
    pub fn sub_resource(self, sub_resource: &str) -> Self {
        self.field("subResource", sub_resource.into())
    }

    /// Makes it a dry run.
    pub fn dry_run(self) -> Self {
        self.field("dryRun", true.into())
    }

    /// Sets who asks.
    pub fn user<'a>(self, name: &str, groups: impl IntoIterator<Item = &'a str>) -> Self {
        let groups: Vec<_> = groups.into_iter().collect();
        self.field(
            "userInfo",
            serde_json::json!({"username": name, "groups": groups}),
        )
    }

    /// Sets the options of the request, such as `DeleteOptions`.
    pub fn options(self, options: serde_json::Value) -> Self {
        self.field("options", options)
    }

    /// Sets the time until the deadline.
    pub fn remaining(mut self, remaining: Duration) -> Self {
        self.remaining = remaining;
        self
    }

    /// Builds it.
    ///
    /// # Panics
    ///
    /// Never: the builder writes every field that a review needs.
    pub fn build(self) -> Review {
        let body = serde_json::json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": self.request,
        });
        let request = Body::new(body.to_string().into_bytes())
            .and_then(|body| AdmissionReview::read(&body))
            .expect("the builder writes every field that a review needs");
        Review::new(request, Instant::now() + self.remaining)
    }

    fn field(mut self, name: &str, value: serde_json::Value) -> Self {
        self.request[name] = value;
        self
    }
}
