//! One request, and why it fails.

use std::fmt;

use kube::Client;
use kube::core::Request as Requests;
use serde::de::DeserializeOwned;

use crate::{Key, Kind, Object};

/// Why the API server did not do what it was asked.
#[derive(Debug)]
pub struct RequestError {
    what: String,
    source: kube::Error,
}

impl RequestError {
    pub(crate) fn new(verb: &str, kind: &Kind, key: &Key, source: kube::Error) -> Self {
        let what = format!("cannot {verb} {}", kind.reference(key));
        Self { what, source }
    }

    pub(crate) fn of_list(kind: &Kind, source: kube::Error) -> Self {
        let what = format!("cannot list {kind}");
        Self { what, source }
    }

    /// Returns whether somebody else has changed the object meanwhile, or manages what was to be applied.
    pub fn is_conflict(&self) -> bool {
        self.has(409, "Conflict")
    }

    /// Returns whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.has(404, "NotFound")
    }

    /// Returns whether there is such an object already.
    pub fn is_already_exists(&self) -> bool {
        self.has(409, "AlreadyExists")
    }

    /// Returns whether the program may not do this.
    pub fn is_forbidden(&self) -> bool {
        self.has(403, "Forbidden")
    }

    fn has(&self, code: u16, reason: &str) -> bool {
        matches!(&self.source, kube::Error::Api(status) if status.code == code && status.reason == reason)
    }
}

impl fmt::Display for RequestError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.what)
    }
}

impl std::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

pub(crate) fn requests<K: Object>(key: &Key) -> Requests {
    Requests::new(Kind::of::<K>().path(key.namespace()))
}

pub(crate) async fn ask<T: DeserializeOwned>(
    client: &Client,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> kube::Result<T> {
    client
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await
}

/// The same as [`ask`], for a request about one object.
pub(crate) async fn ask_about<K: Object, T: DeserializeOwned>(
    client: &Client,
    verb: &str,
    key: &Key,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<T, RequestError> {
    ask(client, request)
        .await
        .map_err(|source| RequestError::new(verb, &Kind::of::<K>(), key, source))
}

pub(crate) fn body<K: Object>(verb: &str, object: &K, key: &Key) -> Result<Vec<u8>, RequestError> {
    serde_json::to_vec(object).map_err(|error| {
        RequestError::new(verb, &Kind::of::<K>(), key, kube::Error::SerdeError(error))
    })
}
