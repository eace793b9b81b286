//! Who may read a page.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

use http::{HeaderMap, StatusCode, header};

/// A request to read a page, whose client has to be authenticated and authorized.
#[derive(Clone)]
#[non_exhaustive]
pub struct AccessRequest {
    /// The bearer token that the client shows.
    pub token: String,
    /// The path of the page.
    pub path: &'static str,
}

/// Whether a client may read a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// It may: 200.
    Allowed,
    /// Its token is not valid: 401.
    Unauthenticated,
    /// It is known, and may not: 403.
    Forbidden,
    /// Nothing could be found out, and the client should try again: 503.
    Unknown,
}

type Decision = Pin<Box<dyn Future<Output = Access> + Send>>;

/// The check of every page.
#[derive(Clone)]
pub(super) struct Check(Arc<dyn Fn(AccessRequest) -> Decision + Send + Sync>);

impl Check {
    pub(super) fn new<F>(check: impl Fn(AccessRequest) -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Access> + Send + 'static,
    {
        Self(Arc::new(move |request| Box::pin(check(request))))
    }

    pub(super) async fn access(&self, headers: &HeaderMap, path: &'static str) -> Access {
        match bearer(headers) {
            Some(token) => {
                let token = token.to_owned();
                (self.0)(AccessRequest { token, path }).await
            }
            None => Access::Unauthenticated,
        }
    }
}

/// The token of a header such as `Bearer a.b.c`.
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.trim().split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// What a client that may not read a page is answered.
pub(super) fn refusal(access: Access) -> Option<(StatusCode, &'static str)> {
    match access {
        Access::Allowed => None,
        Access::Unauthenticated => Some((
            StatusCode::UNAUTHORIZED,
            "unauthorized: send a token of a ServiceAccount as Authorization: Bearer TOKEN\n",
        )),
        Access::Forbidden => Some((
            StatusCode::FORBIDDEN,
            "forbidden: the user may not get this path; bind a ClusterRole with nonResourceURLs to it\n",
        )),
        Access::Unknown => Some((
            StatusCode::SERVICE_UNAVAILABLE,
            "the API server could not be asked whether the token is valid; try again\n",
        )),
    }
}

impl fmt::Debug for Check {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Check").finish()
    }
}

impl fmt::Debug for AccessRequest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("AccessRequest")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}
