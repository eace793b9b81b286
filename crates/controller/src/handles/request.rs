//! One request, and why it fails.

use std::any::TypeId;
use std::fmt;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::response::Parts;
use kube::Client;
use kube::client::Body;
use kube::core::response::StatusDetails;
use kube::core::{DynamicResourceScope, Request as Requests, Status};
use serde::de::DeserializeOwned;

use super::answer::Answer;
use super::connection::Link;
use crate::election::{LeaderGuard, NotLeading};
use crate::kind::WithoutNamespace;
use crate::object::OutsideScope;
use crate::ownership::Refusal;
use crate::{AnyObject, Key, Kind, Scope};

/// The reason why the API server rejected or did not answer a request.
///
/// It is fit for a log: where the API server quotes the object that it refuses, the fields are named and the values left out.
/// What it has said to the letter is [`status`](Self::status).
///
/// ```
/// use kubewright_controller::{Scope, Writer};
#[doc = include_str!("example.md")]
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let (_cluster, connection) = connected().await;
/// let error = Writer::new(&connection, Scope::all()).replace(&settings("quiet")).await.unwrap_err();
/// assert_eq!(error.to_string(), "cannot update ConfigMap default/settings");
/// assert!(error.is_not_found());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct RequestError {
    what: String,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Api(Answer),
    Scope(OutsideScope),
    NotLeading(NotLeading),
    Refused(Refusal),
    MetadataAlone(MetadataAlone),
    UnknownKind(UnknownKind),
    WithoutNamespace(WithoutNamespace),
}

/// An object that was decoded without its API version and kind.
#[derive(Debug, thiserror::Error)]
#[error("the object has no `apiVersion` and `kind` of its own: set its `types`")]
struct UnknownKind;

/// An object whose metadata alone is known cannot be written as a whole.
#[derive(Debug, thiserror::Error)]
#[error(
    "its metadata alone is known, and the rest would be lost: patch it, or work with the whole object"
)]
struct MetadataAlone;

impl RequestError {
    pub(crate) fn new(verb: &str, kind: &Kind, key: &Key, source: kube::Error) -> Self {
        Self {
            what: format!("cannot {verb} {}", kind.reference(key)),
            cause: Cause::Api(Answer(source)),
        }
    }

    pub(crate) fn of_list(kind: &Kind, source: kube::Error) -> Self {
        Self {
            what: format!("cannot list {kind}"),
            cause: Cause::Api(Answer(source)),
        }
    }

    /// Refuses what the handle was not asked for, before an API server has to.
    pub(crate) fn unless_within(
        scope: &Scope,
        verb: &str,
        kind: &Kind,
        key: &Key,
    ) -> Result<(), Self> {
        let admitted = kind.unless_without_namespace(key);
        admitted.map_err(|error| Self {
            what: format!("cannot {verb} {}", kind.reference(key)),
            cause: Cause::WithoutNamespace(error),
        })?;
        if scope.admits(key) {
            return Ok(());
        }
        Err(Self {
            what: format!("cannot {verb} {}", kind.reference(key)),
            cause: Cause::Scope(OutsideScope(scope.clone())),
        })
    }

    /// Refuses to write what cannot be owned.
    pub(crate) fn refused(verb: &str, what: impl fmt::Display, refusal: Refusal) -> Self {
        Self {
            what: format!("cannot {verb} {what}"),
            cause: Cause::Refused(refusal),
        }
    }

    pub(crate) fn of_unknown_kind(verb: &str, key: &Key) -> Self {
        Self {
            what: format!("cannot {verb} {key}"),
            cause: Cause::UnknownKind(UnknownKind),
        }
    }

    /// Refuses to write for a leader that leads no more.
    pub(crate) fn unless_leading(verb: &str, kind: &Kind, key: &Key) -> Result<(), Self> {
        LeaderGuard::check().map_err(|over| Self {
            what: format!("cannot {verb} {}", kind.reference(key)),
            cause: Cause::NotLeading(over),
        })
    }

    /// Returns whether the object was changed concurrently, or another field manager owns an applied field.
    ///
    /// ```
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// let read = cluster.create(&settings("quiet")).await.expect_allowed();
    /// cluster.replace(&settings("loud")).await.expect_allowed();
    /// let mut stale = read;
    /// stale.data = None;
    /// let error = Writer::new(&connection, Scope::all()).replace(&stale).await.unwrap_err();
    /// assert!(error.is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_conflict(&self) -> bool {
        self.has(409, "Conflict")
    }

    /// Returns whether the object does not exist.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// let error = writer.merge(("default", "settings"), &serde_json::json!({"data": {}})).await.unwrap_err();
    /// assert!(error.is_not_found() && !error.is_conflict());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_not_found(&self) -> bool {
        self.has(404, "NotFound")
    }

    /// Returns whether an object of this name already exists.
    ///
    /// ```
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (cluster, connection) = connected().await;
    /// cluster.create(&settings("quiet")).await.expect_allowed();
    /// let error = Writer::new(&connection, Scope::all()).create(&settings("quiet")).await.unwrap_err();
    /// assert!(error.is_already_exists());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_already_exists(&self) -> bool {
        self.has(409, "AlreadyExists")
    }

    /// Returns whether the program lacks the permission: no role grants it, or the object is outside the scope of the handle.
    ///
    /// ```
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer = Writer::new(&connection, Scope::all().in_namespace("blue"));
    /// assert!(writer.create(&settings("quiet")).await.unwrap_err().is_forbidden());
    /// # Ok(())
    /// # }
    /// ```
    pub fn is_forbidden(&self) -> bool {
        matches!(self.cause, Cause::Scope(_)) || self.has(403, "Forbidden")
    }

    /// Returns the `Status` of the response, if the API server has answered. It may quote values of the object.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kubewright_controller::{Scope, Writer};
    #[doc = include_str!("example.md")]
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let (_cluster, connection) = connected().await;
    /// let writer: Writer<ConfigMap> = Writer::new(&connection, Scope::all());
    /// let invalid = kubewright_testing::yaml("metadata: {namespace: default, name: Not_A_Name}");
    /// let error = writer.create(&invalid).await.unwrap_err();
    /// let status = error.status().unwrap();
    /// assert_eq!((status.code, &*status.reason), (422, "Invalid"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn status(&self) -> Option<&Status> {
        match &self.cause {
            Cause::Api(answer) => answer.status(),
            Cause::Scope(_)
            | Cause::NotLeading(_)
            | Cause::Refused(_)
            | Cause::MetadataAlone(_)
            | Cause::UnknownKind(_)
            | Cause::WithoutNamespace(_) => None,
        }
    }

    /// Returns how long the API server wants to be left alone, if it says so.
    pub fn retry_after(&self) -> Option<Duration> {
        let seconds = self.status()?.details.as_ref()?.retry_after_seconds;
        (seconds > 0).then(|| Duration::from_secs(seconds.into()))
    }

    fn has(&self, code: u16, reason: &str) -> bool {
        let status = self.status();
        status.is_some_and(|status| status.code == code && status.reason == reason)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.cause {
            Cause::Api(error) => Some(error),
            Cause::Scope(error) => Some(error),
            Cause::NotLeading(error) => Some(error),
            Cause::Refused(error) => Some(error),
            Cause::MetadataAlone(error) => Some(error),
            Cause::UnknownKind(error) => Some(error),
            Cause::WithoutNamespace(error) => Some(error),
        }
    }
}

pub(crate) fn requests(kind: &Kind, key: &Key) -> Requests {
    Requests::new(kind.path(key.namespace()))
}

/// Sends a request and reads the answer.
pub(crate) async fn ask<T: DeserializeOwned>(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<T> {
    let body = send(client, request).await?;
    serde_json::from_slice(&body).map_err(kube::Error::SerdeError)
}

/// Sends a request and returns the body of a success. A refusal that says only in its header how long to stay away has it in its
/// status afterwards.
pub(crate) async fn send(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<Bytes> {
    let request = request.map_err(kube::Error::BuildRequest)?;
    let answer = client.send(request.map(Body::from)).await?;
    let (head, body) = answer.into_parts();
    let body = body.collect_bytes().await?;
    if head.status.is_success() {
        return Ok(body);
    }
    Err(refused(&head, &body))
}

/// The error that an answer without success is. Not part of the future, whose code every crate has that polls it.
fn refused(head: &Parts, body: &[u8]) -> kube::Error {
    let status = serde_json::from_slice::<Status>(body);
    let mut status = status.unwrap_or_else(|_| {
        let text = String::from_utf8_lossy(body);
        Status::failure(text.trim(), "").with_code(head.status.as_u16())
    });
    let header = head.headers.get(RETRY_AFTER);
    if let Some(seconds) = header.and_then(|seconds| seconds.to_str().ok()?.parse().ok()) {
        let details = status.details.get_or_insert_with(no_details);
        details.retry_after_seconds = seconds;
    }
    kube::Error::Api(status.boxed())
}

fn no_details() -> StatusDetails {
    StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: 0,
    }
}

/// The same as [`ask`], for a request that writes one object: caches show what comes of it before the caller knows. So it asks for
/// the whole object, also where the caller reads its metadata alone.
pub(crate) async fn ask_about<T: DeserializeOwned>(
    link: &Link,
    scope: &Scope,
    verb: &str,
    kind: &Kind,
    key: &Key,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<T, RequestError> {
    RequestError::unless_leading(verb, kind, key)?;
    RequestError::unless_within(scope, verb, kind, key)?;
    let failed = |source| RequestError::new(verb, kind, key, source);
    let body = send(&link.client, request).await.map_err(failed)?;
    link.informers.take_write(kind, key, &body);
    serde_json::from_slice(&body)
        .map_err(kube::Error::SerdeError)
        .map_err(failed)
}

/// The object as it is sent to be created or to replace another.
pub(crate) fn body<K: AnyObject>(
    verb: &str,
    kind: &Kind,
    object: &K,
    key: &Key,
) -> Result<Vec<u8>, RequestError> {
    if kind.is_metadata() {
        return Err(RequestError {
            what: format!("cannot {verb} {}", kind.reference(key)),
            cause: Cause::MetadataAlone(MetadataAlone),
        });
    }
    typed(verb, kind, object, key)
}

/// The JSON of an object, with its kind.
pub(crate) fn typed<K: AnyObject>(
    verb: &str,
    kind: &Kind,
    object: &K,
    key: &Key,
) -> Result<Vec<u8>, RequestError> {
    let knows_its_kind = TypeId::of::<K::Scope>() != TypeId::of::<DynamicResourceScope>();
    let json = if knows_its_kind && !kind.is_metadata() {
        serde_json::to_vec(object)
    } else {
        serde_json::to_value(object).and_then(|mut object| {
            // An object from a list has none, and metadata has those of metadata.
            object["apiVersion"] = kind.api_version().into();
            object["kind"] = kind.name().into();
            serde_json::to_vec(&object)
        })
    };
    json.map_err(|error| RequestError::new(verb, kind, key, kube::Error::SerdeError(error)))
}
