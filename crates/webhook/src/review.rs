//! The review that a handler takes part in: who asks for what, and what to tell them.

use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kubewright_review::{AdmissionReview, Body, GroupVersionKind, GroupVersionResource, Operation};
use serde::{Deserialize, de::DeserializeOwned};
use tokio::time::Instant;

/// The review that a handler takes part in: the user, the operation, the deadline, and the warnings and audit annotations to
/// return.
///
/// Clones are the same review, so functions of a handler take one freely. Warnings and annotations reach the API server with
/// every verdict, also if the handler returns early.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Review, Validated, deny};
///
/// async fn no_exec(_: Change<Pod>, review: Review) -> Validated {
///     if review.user().groups.iter().any(|group| group == "operators") {
///         review.annotate("exec", "operator");
///         return Ok(());
///     }
///     deny(format_args!("{} is not an operator", review.user().username))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let review = Review::builder().user("jane", ["operators"]).build();
/// assert!(no_exec(Change::Create(Pod::default()), review.clone()).await.is_ok());
/// assert_eq!(review.annotations(), [("exec".to_owned(), "operator".to_owned())]);
/// # }
/// ```
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

/// The user that sent the request (`userInfo`).
///
/// ```
/// use kubewright_webhook::Review;
///
/// let review = Review::builder().user("system:serviceaccount:blue:default", ["system:authenticated"]).build();
/// let user = review.user();
/// assert_eq!(user.username.strip_prefix("system:serviceaccount:"), Some("blue:default"));
/// assert!(user.extra.is_empty());
/// ```
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
#[serde(default)]
pub struct User {
    /// The name, such as `system:serviceaccount:blue:default`.
    pub username: String,
    /// The UID. If the user is deleted and another user gets the same name, that user has another UID.
    pub uid: String,
    /// The groups.
    pub groups: Vec<String>,
    /// Additional information from the authenticator.
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

    /// Builds a review of an object in a namespace, for tests of handlers. [`Review::builder`] sets more.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// assert_eq!(Review::in_namespace("blue").namespace(), Some("blue"));
    /// ```
    pub fn in_namespace(namespace: &str) -> Self {
        Self::builder().namespace(namespace).build()
    }

    /// Builds a review, for tests of handlers.
    ///
    /// ```
    /// use kubewright_webhook::{Delete, Review};
    ///
    /// let review = Review::builder().operation(Delete).namespace("blue").name("web").build();
    /// assert_eq!(review.operation(), Delete);
    /// assert_eq!(review.name(), Some("web"));
    /// ```
    pub fn builder() -> ReviewBuilder {
        ReviewBuilder::default()
    }

    /// Returns the UID of this call, which the answer repeats.
    pub fn uid(&self) -> &str {
        self.0.request.uid()
    }

    /// Returns the operation that the client asked for.
    ///
    /// ```
    /// use kubewright_webhook::{Create, Review, Update};
    ///
    /// assert_eq!(Review::builder().build().operation(), Create);
    /// assert_eq!(Review::builder().operation(Update).build().operation(), Update);
    /// ```
    pub fn operation(&self) -> Operation {
        self.0.request.operation()
    }

    /// Returns the object's name, or `None` if the API server has yet to generate it (`generateName`).
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// assert_eq!(Review::builder().name("web").build().name(), Some("web"));
    /// assert_eq!(Review::builder().build().name(), None);
    /// ```
    pub fn name(&self) -> Option<&str> {
        some(self.0.request.name())
    }

    /// Returns the object's namespace, or `None` if the object is cluster-scoped.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// let review = Review::in_namespace("kube-system");
    /// assert!(review.namespace().is_some_and(|namespace| namespace.starts_with("kube-")));
    /// assert_eq!(Review::builder().build().namespace(), None);
    /// ```
    pub fn namespace(&self) -> Option<&str> {
        some(self.0.request.namespace())
    }

    /// Returns the sub-resource, such as `scale`, or `None` if the review is about the object itself.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// assert_eq!(Review::builder().sub_resource("scale").build().sub_resource(), Some("scale"));
    /// assert_eq!(Review::builder().build().sub_resource(), None);
    /// ```
    pub fn sub_resource(&self) -> Option<&str> {
        some(self.0.request.sub_resource())
    }

    /// Returns the kind of the objects in this review.
    pub fn kind(&self) -> GroupVersionKind<'_> {
        self.0.request.kind()
    }

    /// Returns the resource as the webhook's rule names it.
    pub fn resource(&self) -> GroupVersionResource<'_> {
        self.0.request.resource()
    }

    /// Returns the kind that the client sent, which can be of another version.
    pub fn request_kind(&self) -> GroupVersionKind<'_> {
        self.0.request.request_kind()
    }

    /// Returns the resource that the client named, which can be of another version.
    pub fn request_resource(&self) -> GroupVersionResource<'_> {
        self.0.request.request_resource()
    }

    /// Returns whether nothing will be stored. The handler must not have side effects then.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Review, Validated};
    ///
    /// async fn booked(_: Change<Pod>, review: Review) -> Validated {
    ///     if !review.dry_run() {
    ///         review.annotate("booked", true); // And book it in another system.
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let review = Review::builder().dry_run().build();
    /// booked(Change::Create(Pod::default()), review.clone()).await.unwrap();
    /// assert!(review.annotations().is_empty());
    /// # }
    /// ```
    pub fn dry_run(&self) -> bool {
        self.0.request.dry_run()
    }

    /// Returns the user that sent the request.
    ///
    /// If its `userInfo` is not what the protocol says, this is a user without a name and groups, and the call fails with every
    /// verdict of the handler.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// let review = Review::builder().user("jane", ["developers"]).build();
    /// assert_eq!(review.user().username, "jane");
    /// assert_eq!(review.user().groups, ["developers"]);
    /// ```
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

    /// Returns the options of the request, such as `DeleteOptions`, or `None` if there are none.
    ///
    /// ```
    /// use k8s_openapi::apimachinery::pkg::apis::meta::v1::DeleteOptions;
    /// use kubewright_webhook::{Delete, Review};
    ///
    /// let options = serde_json::json!({"propagationPolicy": "Orphan"});
    /// let review = Review::builder().operation(Delete).options(options).build();
    /// let options: DeleteOptions = review.options().unwrap().unwrap();
    /// assert_eq!(options.propagation_policy.as_deref(), Some("Orphan"));
    /// ```
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

    /// Returns the time at which the handler is stopped, because the API server would not wait for the answer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_webhook::Review;
    ///
    /// /// Asks another system, and leaves time to answer.
    /// async fn ask(review: &Review) -> Option<u32> {
    ///     let soon = review.deadline() - Duration::from_millis(100);
    ///     tokio::time::timeout_at(soon, std::future::pending()).await.ok()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let review = Review::builder().remaining(Duration::from_millis(150)).build();
    /// assert_eq!(ask(&review).await, None);
    /// assert!(!review.remaining().is_zero());
    /// # }
    /// ```
    pub fn deadline(&self) -> Instant {
        self.0.deadline
    }

    /// Returns the time left until the [deadline](Self::deadline).
    pub fn remaining(&self) -> Duration {
        self.0.deadline.saturating_duration_since(Instant::now())
    }

    /// Warns the client, with every verdict. `kubectl` prints warnings.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use kubewright_webhook::{Change, Review, Validated};
    ///
    /// async fn labels(change: Change<Pod>, review: Review) -> Validated {
    ///     if change.object().metadata.labels.is_none() {
    ///         review.warn("the label `team` will be required from 2027 on");
    ///     }
    ///     Ok(())
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let review = Review::in_namespace("blue");
    /// labels(Change::Create(Pod::default()), review.clone()).await.unwrap();
    /// assert_eq!(review.warnings(), ["the label `team` will be required from 2027 on"]);
    /// # }
    /// ```
    pub fn warn(&self, text: impl fmt::Display) {
        let text = text.to_string();
        self.notes(|notes| notes.warnings.push(text));
    }

    /// Annotates the audit event, with every verdict. The API server puts the webhook's name before the key. A later value
    /// replaces an earlier one.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// let review = Review::in_namespace("blue");
    /// review.annotate("images", "unpinned");
    /// review.annotate("images", 3);
    /// assert_eq!(review.annotations(), [("images".to_owned(), "3".to_owned())]);
    /// ```
    pub fn annotate(&self, key: impl Into<String>, value: impl fmt::Display) {
        let annotation = (key.into(), value.to_string());
        self.notes(|notes| {
            notes.annotations.retain(|(key, _)| *key != annotation.0);
            notes.annotations.push(annotation);
        });
    }

    /// Returns the warnings so far, for tests of handlers.
    pub fn warnings(&self) -> Vec<String> {
        self.notes(|notes| notes.warnings.clone())
    }

    /// Returns the annotations of the audit event so far, for tests of handlers.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// let review = Review::in_namespace("blue");
    /// review.annotate("checked", true);
    /// assert_eq!(review.annotations(), [("checked".to_owned(), "true".to_owned())]);
    /// ```
    pub fn annotations(&self) -> Vec<(String, String)> {
        self.notes(|notes| notes.annotations.clone())
    }

    /// Returns the JSON of the object as the API server sent it, with the changes of earlier handlers of the same hook, or `None`
    /// where there is none: for DELETE, and in a test that calls a handler as a function.
    pub fn object_json(&self) -> Option<&str> {
        self.0.request.object()
    }

    /// Returns the JSON of the object before the change as the API server sent it, or `None` where there is none: for CREATE, and in
    /// a test that calls a handler as a function.
    pub fn old_object_json(&self) -> Option<&str> {
        self.0.request.old_object()
    }

    /// Returns the sub-resource that the client asked for, if the review is of an equivalent one.
    pub fn request_sub_resource(&self) -> Option<&str> {
        some(self.0.request.request_sub_resource())
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

/// Builds a review, for tests of handlers. The default is the creation of a Pod, 10 s before the deadline.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use kubewright_webhook::{Change, Delete, Review, Validated, deny};
///
/// async fn kept(_: Change<Pod>, review: Review) -> Validated {
///     match review.user().username.as_str() {
///         "system:admin" => Ok(()),
///         _ => deny("only administrators delete this pod"),
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let pod = || Change::Delete(Pod::default());
/// let by = |user| Review::builder().operation(Delete).user(user, []).build();
/// assert!(kept(pod(), by("system:admin")).await.is_ok());
/// assert!(kept(pod(), by("jane")).await.is_err());
/// # }
/// ```
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
    /// Sets the namespace. The default is none, as for cluster-scoped objects.
    pub fn namespace(self, namespace: &str) -> Self {
        self.field("namespace", namespace.into())
    }

    /// Sets the object's name.
    pub fn name(self, name: &str) -> Self {
        self.field("name", name.into())
    }

    /// Sets the operation. The default is CREATE.
    pub fn operation(self, operation: Operation) -> Self {
        self.field("operation", operation.as_str().into())
    }

    /// Sets the sub-resource.
    pub fn sub_resource(self, sub_resource: &str) -> Self {
        self.field("subResource", sub_resource.into())
    }

    /// Makes it a dry run, as `kubectl apply --dry-run=server` asks for.
    pub fn dry_run(self) -> Self {
        self.field("dryRun", true.into())
    }

    /// Sets the user and the user's groups. The default is a user without a name.
    ///
    /// ```
    /// use kubewright_webhook::Review;
    ///
    /// let review = Review::builder().user("system:node:a", ["system:nodes"]).build();
    /// assert_eq!(review.user().groups, ["system:nodes"]);
    /// ```
    pub fn user<'a>(self, name: &str, groups: impl IntoIterator<Item = &'a str>) -> Self {
        let groups: Vec<_> = groups.into_iter().collect();
        self.field(
            "userInfo",
            serde_json::json!({"username": name, "groups": groups}),
        )
    }

    /// Sets the options of the request, such as `DeleteOptions`. The default is none.
    ///
    /// ```
    /// use kubewright_webhook::{Delete, Review};
    ///
    /// let review = Review::builder().operation(Delete).options(serde_json::json!({"gracePeriodSeconds": 0})).build();
    /// let options: serde_json::Value = review.options().unwrap().unwrap();
    /// assert_eq!(options["gracePeriodSeconds"], 0);
    /// ```
    pub fn options(self, options: serde_json::Value) -> Self {
        self.field("options", options)
    }

    /// Sets the time until the deadline. The default is 10 s.
    ///
    /// ```
    /// use std::time::Duration;
    /// use kubewright_webhook::Review;
    ///
    /// let late = Review::builder().remaining(Duration::ZERO).build();
    /// assert_eq!(late.remaining(), Duration::ZERO);
    /// ```
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
