//! Who may read the metrics: whose token an API server knows, and whom its authorization lets get the path.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::{Client, Error};
use kubewright_certificates::Fingerprint;
use kubewright_manifests::PolicyRule;
use kubewright_server::{Access, AccessRequest};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// Asks an API server, and remembers for a while what it said. Clones share what they remember.
#[derive(Clone)]
pub(super) struct Readers(Arc<Shared>);

struct Shared {
    client: Client,
    known: Mutex<HashMap<Asked, Known>>,
    /// How many clients may have the API server asked at a time.
    room: Semaphore,
    /// Whether the API server could not be asked the last time.
    is_troubled: AtomicBool,
}

/// A token is remembered by its digest, which is no use to a thief.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Asked {
    token: Fingerprint,
    path: &'static str,
}

#[derive(Clone, Copy)]
struct Known {
    access: Access,
    until: Instant,
}

/// What a program takes to ask.
pub(crate) fn rules() -> [PolicyRule; 2] {
    [
        PolicyRule::new("authentication.k8s.io", "tokenreviews", ["create"]),
        PolicyRule::new("authorization.k8s.io", "subjectaccessreviews", ["create"]),
    ]
}

impl Readers {
    pub(super) fn new(client: Client) -> Self {
        Self(Arc::new(Shared {
            client,
            known: Mutex::default(),
            room: Semaphore::new(REVIEWS),
            is_troubled: AtomicBool::new(false),
        }))
    }

    pub(super) async fn access(self, request: AccessRequest) -> Access {
        let shared = &*self.0;
        let asked = Asked {
            token: Fingerprint::of(request.token.as_bytes()),
            path: request.path,
        };
        if let Some(access) = shared.known(asked) {
            return access;
        }
        let answer = timeout(PATIENCE, async {
            // A client that sends token after token has no more of these than others.
            let _room = shared.room.acquire().await;
            // Another connection may have asked meanwhile.
            match shared.known(asked) {
                Some(access) => Ok(access),
                None => shared.ask(&request).await,
            }
        });
        let trouble = match answer.await {
            Ok(Ok(access)) => {
                shared.remember(asked, access);
                shared.is_troubled.store(false, Ordering::Relaxed);
                return access;
            }
            Ok(Err(error)) => error.to_string(),
            Err(_) => format!("no answer within {} s", PATIENCE.as_secs()),
        };
        // Once, and not for each request of a client that others control.
        if !shared.is_troubled.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                error = trouble,
                "cannot review who reads this page or the metrics: both are refused until the API server answers"
            );
        }
        Access::Unknown
    }
}

impl Shared {
    fn known(&self, asked: Asked) -> Option<Access> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get(&asked)?;
        (Instant::now() < known.until).then_some(known.access)
    }

    fn remember(&self, asked: Asked, access: Access) {
        let until = Instant::now() + lifetime(access);
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            let now = Instant::now();
            known.retain(|_, known| now < known.until);
        }
        if known.len() >= REMEMBERED {
            // Tokens that are not valid are as many as a client can make up.
            known.retain(|_, known| known.access != Access::Unauthenticated);
        }
        if known.len() < REMEMBERED {
            known.insert(asked, Known { access, until });
        }
    }

    async fn ask(&self, request: &AccessRequest) -> Result<Access, Error> {
        let review = TokenReview {
            spec: TokenReviewSpec {
                token: request.token.clone(),
                ..TokenReviewSpec::default()
            },
            ..TokenReview::default()
        };
        let reviews: Api<TokenReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await?;
        let status = review.status.unwrap_or_default();
        let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else {
            return Ok(Access::Unauthenticated);
        };
        let name = user.username.clone().unwrap_or_default();
        let review = SubjectAccessReview {
            spec: may_get(user, request.path),
            ..SubjectAccessReview::default()
        };
        let reviews: Api<SubjectAccessReview> = Api::all(self.client.clone());
        let review = reviews.create(&PostParams::default(), &review).await?;
        if review.status.is_some_and(|status| status.allowed) {
            return Ok(Access::Allowed);
        }
        tracing::info!(
            user = name,
            path = request.path,
            "the user may not read this page"
        );
        Ok(Access::Forbidden)
    }
}

fn may_get(user: UserInfo, path: &str) -> SubjectAccessReviewSpec {
    SubjectAccessReviewSpec {
        user: user.username,
        uid: user.uid,
        groups: user.groups,
        extra: user.extra,
        non_resource_attributes: Some(NonResourceAttributes {
            path: Some(path.to_owned()),
            verb: Some("get".to_owned()),
        }),
        ..SubjectAccessReviewSpec::default()
    }
}

/// For how long an answer is remembered. A permission that is withdrawn holds for so long, and one that is granted is missed.
fn lifetime(access: Access) -> Duration {
    match access {
        Access::Allowed => Duration::from_mins(1),
        _ => Duration::from_secs(10),
    }
}

const REVIEWS: usize = 4;
const REMEMBERED: usize = 256;
const PATIENCE: Duration = Duration::from_secs(5);
