//! Requests as another user, by impersonation or with that user's token.

use std::task::{Context, Poll};

use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use tower::Service;

/// A service that sends each request as another user, with impersonation headers. Made by [`acting_as`].
#[derive(Clone, Debug)]
pub struct ActingAs<S> {
    inner: S,
    user: HeaderValue,
    groups: Vec<HeaderValue>,
}

/// Wraps a service of the API server so that its requests act as a user with these groups.
///
/// ```
/// use kubewright_testing::{Server, TestCluster, acting_as};
/// use tower::ServiceExt as _;
///
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let cluster = TestCluster::builder().on(Server::Embedded).start().await;
/// let alice = acting_as(cluster.server().service(), "alice", &["dev"]);
/// let secrets = http::Request::get("/api/v1/secrets").body(kube::client::Body::empty()).unwrap();
/// assert_eq!(alice.oneshot(secrets).await.unwrap().status(), 403);
/// # });
/// ```
///
/// # Panics
/// If a name is not a valid value of an HTTP header.
#[track_caller]
pub fn acting_as<S>(inner: S, user: &str, groups: &[impl AsRef<str>]) -> ActingAs<S> {
    let header = |name: &str| {
        HeaderValue::from_str(name).unwrap_or_else(|_| {
            crate::fail(format_args!(
                "{name:?} is no name that can be sent in a header"
            ))
        })
    };
    ActingAs {
        inner,
        user: header(user),
        groups: groups.iter().map(|group| header(group.as_ref())).collect(),
    }
}

impl<S, B> Service<Request<B>> for ActingAs<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let headers = request.headers_mut();
        headers.insert("impersonate-user", self.user.clone());
        for group in &self.groups {
            headers.append("impersonate-group", group.clone());
        }
        self.inner.call(request)
    }
}

/// Wraps a service of the API server so that its requests carry this bearer token.
#[track_caller]
pub(crate) fn known_by_token<S>(inner: S, token: &str) -> Knocking<S> {
    let Ok(mut credential) = HeaderValue::from_str(&format!("Bearer {token}")) else {
        crate::fail(format_args!("the token cannot be sent in a header"));
    };
    credential.set_sensitive(true);
    Knocking { inner, credential }
}

/// A service whose requests carry a bearer token.
#[derive(Clone, Debug)]
pub(crate) struct Knocking<S> {
    inner: S,
    credential: HeaderValue,
}

impl<S, B> Service<Request<B>> for Knocking<S>
where
    S: Service<Request<B>>,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let headers = request.headers_mut();
        headers.insert(AUTHORIZATION, self.credential.clone());
        self.inner.call(request)
    }
}
