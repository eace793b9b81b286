//! Authentication: the user who sends a request, by a certificate or by a token.

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::AUTHORIZATION;
use http::request::Parts;
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::user::{ANONYMOUS, UNAUTHENTICATED, User};
use kubewright_storage::Store;
use tokio::sync::watch;
use uuid::Uuid;

use super::authorities::Authorities;
use super::authority::{Authority, AuthorityError, admin};
use super::authorizer::Authorizer;
use super::bound_tokens::{Refused, user_of};
use super::impersonation::LastModes;
use super::tokens::ServiceAccountTokens;
use super::websocket;

/// The secrets of one server.
#[derive(Debug)]
pub struct Access {
    token: String,
    /// The certificate authorities.
    pub authorities: Arc<Authorities>,
    /// The keys of service account tokens.
    pub service_accounts: ServiceAccountTokens,
    /// Decides who may do what.
    pub authorizer: Arc<dyn Authorizer>,
    /// By which mode each user impersonated last.
    pub modes: LastModes,
    store: Arc<Store>,
}

/// Where a request comes from.
#[derive(Clone, Debug)]
#[expect(clippy::exhaustive_structs, reason = "each listener makes it")]
pub struct Caller {
    /// The user that the connection authenticates by itself; in process, the admin.
    pub user: Option<User>,
    /// Whether the client showed a certificate that no trusted authority has signed.
    pub distrusted: bool,
    /// Where the other end of the connection is, if there is a connection.
    pub address: Option<IpAddr>,
    /// Becomes true when the connection's watches shall end.
    pub stopped: watch::Receiver<bool>,
}

impl Access {
    /// Sets up authentication with a fresh admin's token; the tokens of service accounts
    /// are held to the objects of `store`.
    pub fn new(
        authorizer: Arc<dyn Authorizer>,
        service_accounts: ServiceAccountTokens,
        store: Arc<Store>,
        authorities: Arc<Authorities>,
    ) -> Self {
        let token = format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple());
        Self {
            token,
            authorities,
            service_accounts,
            authorizer,
            modes: LastModes::default(),
            store,
        }
    }

    /// The admin's bearer token.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// The server's own certificate authority, made when it is first needed.
    ///
    /// # Errors
    /// The system has no random numbers.
    pub fn authority(&self) -> std::result::Result<&Authority, AuthorityError> {
        self.authorities.clients()
    }

    /// Authenticates the sender of a request. A caller without credentials is `system:anonymous`.
    ///
    /// # Errors
    /// 401 for a caller with invalid credentials.
    pub fn authenticate(&self, caller: &Caller, parts: &Parts) -> Result<User> {
        let token = match bearer(parts) {
            Some(token) => Some(Cow::Borrowed(token)),
            None => websocket::token(&parts.headers)?.map(Cow::Owned),
        };
        let user = match token {
            Some(token) => {
                let own = self.service_accounts.own_audiences();
                let known = self.by_token(&token, &own);
                Some(known.map_err(|_| Status::unauthorized())?.user)
            }
            None if caller.distrusted => return Err(Status::unauthorized()),
            None => caller.user.clone(),
        };
        Ok(user.unwrap_or_else(anonymous))
    }

    /// Authenticates a bearer token for one of these audiences.
    ///
    /// # Errors
    /// The real server's message if the token is invalid or has none of the audiences.
    pub fn by_token(&self, token: &str, wanted: &[&str]) -> std::result::Result<Known, String> {
        const INVALID: &str = "invalid bearer token";
        let is_admin = same(token.as_bytes(), self.token.as_bytes());
        let (user, meant) = if is_admin {
            let own = self.service_accounts.own_audiences();
            (admin(), own.into_iter().map(str::to_owned).collect())
        } else {
            user_of(&self.service_accounts, &self.store, token).map_err(
                |refused| match refused {
                    Refused::NotOurs => INVALID.to_owned(),
                    Refused::Invalid(why) => format!("[{INVALID}, {why}]"),
                },
            )?
        };
        let fits = |audience: &&String| wanted.contains(&audience.as_str());
        let audiences: Vec<String> = meant.iter().filter(fits).cloned().collect();
        if !audiences.is_empty() {
            return Ok(Known { user, audiences });
        }
        if is_admin {
            return Err(INVALID.to_owned());
        }
        let meant: Vec<String> = meant.iter().map(|audience| quoted(audience)).collect();
        let wanted: Vec<String> = wanted.iter().map(|audience| quoted(audience)).collect();
        let (meant, wanted) = (meant.join(" "), wanted.join(" "));
        Err(format!(
            "[{INVALID}, token audiences [{meant}] is invalid for the target audiences [{wanted}]]"
        ))
    }
}

/// The user of a bearer token, and the requested audiences that the token is for.
#[derive(Debug)]
#[non_exhaustive]
pub struct Known {
    /// The user.
    pub user: User,
    /// The requested audiences that the token is for.
    pub audiences: Vec<String>,
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
