//! Who asks, and whether they may: certificates, tokens, impersonation, authorization, and the reviews about them.

mod authority;
mod authorizer;
mod derived;
mod impersonation;
mod modes;
mod node;
pub(crate) mod rbac;
pub(crate) mod reviews;
pub mod sec1;
mod selectors;
mod tokens;
mod websocket;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use http::header::AUTHORIZATION;
use http::request::Parts;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use tokio::sync::watch;
use uuid::Uuid;

use crate::admission::User;
use crate::rest::subresource::{RefusedToken, user_of_token};
use crate::server::Shared;
pub(crate) use authority::{Authority, AuthorityError};
pub(crate) use authorizer::{
    About, AllowAuthenticated, Authorizer, Decision, Question, Rules, answer_expression, check,
    forbidden,
};
pub(crate) use impersonation::{Impersonated, LastModes, impersonated};
pub use modes::AuthorizationMode;
pub(crate) use modes::Modes;
use rbac::Rbac;
pub(crate) use reviews::user_info;
pub use tokens::{ServiceAccountTokens, TokenKeyError};
pub(crate) use websocket::protocols as websocket_protocols;

/// The secrets of one server.
#[derive(Debug)]
pub(crate) struct Access {
    token: String,
    authority: OnceLock<Authority>,
    pub(crate) service_accounts: ServiceAccountTokens,
    pub(crate) authorizer: Arc<dyn Authorizer>,
    pub(crate) modes: LastModes,
}

/// Where a request comes from.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    /// Who the connection itself proves to be; the owner of the process is the admin.
    pub(crate) user: Option<User>,
    /// Whether the client showed a certificate that no trusted authority has signed.
    pub(crate) distrusted: bool,
    /// Where the other end of the connection is, if there is a connection.
    pub(crate) address: Option<IpAddr>,
    /// Becomes true when the connection's watches shall end.
    pub(crate) stopped: watch::Receiver<bool>,
}

impl Access {
    pub(crate) fn new(
        authorizer: Arc<dyn Authorizer>,
        service_accounts: ServiceAccountTokens,
    ) -> Self {
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self {
            token,
            authority: OnceLock::new(),
            service_accounts,
            authorizer,
            modes: LastModes::default(),
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
        groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// Says who sent the request.
///
/// # Errors
/// 401 for a caller with credentials that do not hold. One without any is anonymous.
pub(crate) fn authenticate(shared: &Shared, caller: &Caller, parts: &Parts) -> Result<User> {
    let token = match bearer(parts) {
        Some(token) => Some(Cow::Borrowed(token)),
        None => websocket::token(&parts.headers)?.map(Cow::Owned),
    };
    let user = match token {
        Some(token) => {
            let own = shared.access.service_accounts.own_audiences();
            let known = by_token(shared, &token, &own);
            Some(known.map_err(|_| Status::unauthorized())?.user)
        }
        None if caller.distrusted => return Err(Status::unauthorized()),
        None => caller.user.clone(),
    };
    Ok(user.unwrap_or_else(anonymous))
}

/// Whom a token names, and for which of the audiences that were asked for.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) user: User,
    pub(crate) audiences: Vec<String>,
}

/// Reads a bearer token that shall be meant for one of these audiences.
///
/// # Errors
/// Why it names nobody, in the words of the real server.
pub(crate) fn by_token(
    shared: &Shared,
    token: &str,
    wanted: &[&str],
) -> std::result::Result<Known, String> {
    const NOBODY: &str = "invalid bearer token";
    let is_admin = same(token.as_bytes(), shared.access.token.as_bytes());
    let (user, meant) = if is_admin {
        let own = shared.access.service_accounts.own_audiences();
        (admin(), own.into_iter().map(str::to_owned).collect())
    } else {
        user_of_token(shared, token).map_err(|refused| match refused {
            RefusedToken::NotOurs => NOBODY.to_owned(),
            RefusedToken::Invalid(why) => format!("[{NOBODY}, {why}]"),
        })?
    };
    let fits = |audience: &&String| wanted.contains(&audience.as_str());
    let audiences: Vec<String> = meant.iter().filter(fits).cloned().collect();
    if !audiences.is_empty() {
        return Ok(Known { user, audiences });
    }
    if is_admin {
        return Err(NOBODY.to_owned());
    }
    let meant: Vec<String> = meant.iter().map(|audience| quoted(audience)).collect();
    let wanted: Vec<String> = wanted.iter().map(|audience| quoted(audience)).collect();
    let (meant, wanted) = (meant.join(" "), wanted.join(" "));
    Err(format!(
        "[{NOBODY}, token audiences [{meant}] is invalid for the target audiences [{wanted}]]"
    ))
}

fn bearer(parts: &Parts) -> Option<&str> {
    let value = parts.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn anonymous() -> User {
    User {
        username: ANONYMOUS.to_owned(),
        groups: vec![UNAUTHENTICATED.to_owned()],
        ..User::default()
    }
}

/// Compares secrets in a time that does not depend on where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |acc, (a, b)| acc | (a ^ b)) == 0
}

/// Somebody who is not known.
const ANONYMOUS: &str = "system:anonymous";

/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// The group of everybody who is not known.
const UNAUTHENTICATED: &str = "system:unauthenticated";

/// The group of everybody who is known.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
