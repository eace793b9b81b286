//! One request as it comes in: its head, its user and its body.

use std::sync::Arc;

use bytes::Bytes;
use http::header::HOST;
use http::request::Parts;
use http::uri::Authority;
use http_body_util::combinators::UnsyncBoxBody;
use kubewright_admission::Notes;
use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::user::User;
use tokio::sync::watch;
use tokio::time::Instant;

use super::negotiate::Output;
use super::query::Query;
use crate::audit::Trail;

/// An error of the transport of a request body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// A request body of any origin.
pub type Incoming = UnsyncBoxBody<Bytes, BoxError>;

/// A request apart from its parsed path.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) parts: Parts,
    pub(crate) query: Query,
    pub(crate) output: Result<Output>,
    /// The user; empty until the request is authenticated.
    pub(crate) user: User,
    pub(crate) deadline: Instant,
    pub(crate) notes: Arc<Notes>,
    pub(crate) trail: Option<Arc<Trail>>,
    pub(crate) stopped: watch::Receiver<bool>,
    pub(crate) body: Bytes,
}

impl Request {
    /// The address that the client has reached the server at.
    pub(crate) fn host(&self) -> &str {
        let Parts { headers, uri, .. } = &self.parts;
        let host = headers.get(HOST).and_then(|host| host.to_str().ok());
        let host = host.or(uri.authority().map(Authority::as_str));
        host.unwrap_or_default()
    }
}
