//! The API server as a tower service, for each caller and for the controllers.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::{BodyExt as _, Full};
use kubewright_apimachinery::user::User;
use kubewright_auth::Caller;
use kubewright_endpoints::{Body, Shared, serve};
use tokio::sync::watch;
use tower::util::BoxCloneSyncService;
use tower::{BoxError, ServiceExt as _, service_fn};

use crate::in_process;

/// The API server as a tower service: requests are answered in process, as from the admin.
#[derive(Clone, Debug)]
pub struct ApiService {
    shared: Arc<Shared>,
    caller: Caller,
}

impl ApiService {
    /// The service for the caller of one connection.
    pub(crate) fn for_caller(shared: Arc<Shared>, caller: Caller) -> Self {
        Self { shared, caller }
    }
}

impl<B> tower::Service<Request<B>> for ApiService
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let (parts, body) = request.into_parts();
        let body = body.map_err(Into::into).boxed_unsync();
        if self.caller.address.is_none() && in_process::lacks_connection(&parts) {
            let service = self.clone();
            return Box::pin(async { Ok(in_process::serve(service, parts, body).await) });
        }
        let (shared, caller) = (self.shared.clone(), self.caller.clone());
        Box::pin(async move { Ok(serve(shared, caller, parts, body).await) })
    }
}

/// The service of the controllers, who say in the request's extensions who they are. It does not keep the server.
pub(crate) fn of_controllers(
    shared: Weak<Shared>,
    stopped: watch::Receiver<bool>,
) -> kubewright_controllers::Service {
    BoxCloneSyncService::new(service_fn(move |mut request: Request<Bytes>| {
        let user: Option<User> = request.extensions_mut().remove();
        let caller = Caller {
            user,
            distrusted: false,
            address: None,
            stopped: stopped.clone(),
        };
        let shared = shared.upgrade();
        async move {
            let shared = shared.ok_or(GONE)?;
            let service = ApiService::for_caller(shared, caller);
            let answer = service.oneshot(request.map(Full::new)).await?;
            let (head, body) = answer.into_parts();
            // What an aggregated API server answers comes in pieces.
            let body = body.collect().await?.to_bytes();
            Ok(Response::from_parts(head, body))
        }
    }))
}

/// The failure of a request after the last handle of the server was dropped.
pub(crate) const GONE: &str = "the server is gone";
