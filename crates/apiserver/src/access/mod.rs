//! Who asks, and whether they may: certificates, tokens, impersonation, authorization, and the reviews about them.

mod authority;
mod authorizer;
mod impersonation;
pub(crate) mod reviews;

use std::sync::OnceLock;

use http::header::AUTHORIZATION;
use http::request::Parts;
use tokio::sync::watch;
use uuid::Uuid;

use crate::admission::User;
use crate::rest::path::Path;
use crate::rest::subresource::user_of_token;
use crate::server::Shared;
use crate::status::{Result, Status};
pub(crate) use authority::{Authority, AuthorityError};
pub(crate) use authorizer::{AllowAll, Authorizer, Decision, Question, check};

/// The secrets of one server.
#[derive(Debug)]
pub(crate) struct Access {
    token: String,
    authority: OnceLock<Authority>,
    pub(crate) authorizer: Box<dyn Authorizer>,
}

/// Where a request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Who the connection itself proves to be; the owner of the process is the admin.
    pub(crate) user: Option<User>,
    /// Becomes true when the connection's watches shall end.
    pub(crate) stopped: watch::Receiver<bool>,
}

impl Access {
    pub(crate) fn new(authorizer: Box<dyn Authorizer>) -> Self {
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self {
            token,
            authority: OnceLock::new(),
            authorizer,
        }
    }

    /// The admin's bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// The server's own certificate authority, made when it is first needed.
    pub(crate) fn authority(&self) -> std::result::Result<&Authority, AuthorityError> {
        if let Some(authority) = self.authority.get() {
            return Ok(authority);
        }
        let made = Authority::new()?;
        Ok(self.authority.get_or_init(|| made))
    }
}

/// The user with all rights.
pub(crate) fn admin() -> User {
    User {
        username: "kubernetes-admin".to_owned(),
        groups: vec!["system:masters".to_owned(), AUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// Says who sent the request, and checks that they may.
///
/// # Errors
/// 401 for a caller without valid credentials, 403 for one who may not do it.
pub(crate) fn identify(
    shared: &Shared,
    caller: &Caller,
    parts: &Parts,
    path: &Path,
) -> Result<User> {
    let user = match bearer(parts) {
        Some(token) => Some(by_token(shared, token).ok_or_else(Status::unauthorized)?),
        None => caller.user.clone(),
    };
    let user = match user {
        Some(user) => user,
        None if is_public(path) => anonymous(),
        None => return Err(Status::unauthorized()),
    };
    impersonation::apply(shared, user, &parts.headers)
}

/// The user whom a bearer token names.
pub(crate) fn by_token(shared: &Shared, token: &str) -> Option<User> {
    if same(token.as_bytes(), shared.access.token.as_bytes()) {
        return Some(admin());
    }
    user_of_token(shared, token)
}

fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// What anybody may ask: whether the server lives, and what it is.
fn is_public(path: &Path) -> bool {
    let Path::Other(words) = path else {
        return false;
    };
    matches!(
        words.first().map(String::as_str),
        Some("healthz" | "livez" | "readyz" | "version")
    )
}

fn anonymous() -> User {
    User {
        username: "system:anonymous".to_owned(),
        groups: vec!["system:unauthenticated".to_owned()],
        ..User::default()
    }
}

/// Compares secrets in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

/// The group of everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
