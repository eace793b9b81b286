//! The limits of a server as a layer for services of other servers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body::Body as HttpBody;
use http_body_util::{Either, Full};
use tower::{Layer, Service};

use crate::budget::Budget;
use crate::counters::Counters;
use crate::limited::{Answer, BoxError, limited};
use crate::{Body, Limits};

/// Holds the requests of a service to [`Limits`]: the size of a body, the time that it may take, the bytes of all bodies
/// together, and the number of calls.
///
/// [`Server`](crate::Server) has these limits by itself. The layer is for services that another server serves. Clones, and all
/// services that one layer wraps, share one budget. Limits of connections have no effect here.
///
/// A request beyond the limits is answered with 408, 413 or 503 and a sentence.
///
/// ```
/// use std::convert::Infallible;
/// use bytes::Bytes;
/// use http::{Request, Response};
/// use http_body_util::{BodyExt as _, Full};
/// use kubewright_server::{Body, BodyError, LimitLayer, Limits};
/// use tower::{ServiceBuilder, ServiceExt as _, service_fn};
///
/// async fn length(request: Request<Body<Full<Bytes>>>) -> Result<Response<Full<Bytes>>, BodyError> {
///     let bytes = request.into_body().collect().await?.to_bytes();
///     Ok(Response::new(Full::from(bytes.len().to_string())))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let service = ServiceBuilder::new()
///     .layer(LimitLayer::new(Limits::default().body(4)))
///     .service_fn(length);
/// let small = service.clone().oneshot(Request::new(Full::from("four"))).await?;
/// assert_eq!(small.status(), 200);
/// let large = service.oneshot(Request::new(Full::from("fives"))).await?;
/// assert_eq!(large.status(), 413);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LimitLayer {
    budget: Arc<Budget>,
}

/// A service whose requests [`LimitLayer`] holds to limits.
#[derive(Clone, Debug)]
pub struct Limited<S> {
    service: S,
    budget: Arc<Budget>,
}

impl LimitLayer {
    /// Returns a layer with a budget of its own.
    pub fn new(limits: Limits) -> Self {
        Self {
            budget: Arc::new(Budget::new(limits, Counters::default())),
        }
    }

    /// Returns the counters of calls and bodies; those of connections stay zero.
    ///
    /// ```
    /// use kubewright_server::{LimitLayer, Limits};
    ///
    /// let layer = LimitLayer::new(Limits::default());
    /// assert_eq!(layer.counters().read().calls_refused, 0);
    /// ```
    pub fn counters(&self) -> Counters {
        self.budget.counters.clone()
    }
}

impl<S> Layer<S> for LimitLayer {
    type Service = Limited<S>;

    fn layer(&self, service: S) -> Limited<S> {
        Limited {
            service,
            budget: Arc::clone(&self.budget),
        }
    }
}

impl<S, R, B> Service<Request<R>> for Limited<S>
where
    S: Service<Request<Body<R>>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    R: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    R::Error: Into<BoxError>,
    B: HttpBody<Data = Bytes> + 'static,
{
    type Response = Response<Either<B, Full<Bytes>>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    /// Is always ready: a call waits for the service within its limits.
    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<R>) -> Self::Future {
        let (budget, service) = (Arc::clone(&self.budget), self.service.clone());
        Box::pin(async move {
            Ok(match limited(&budget, service, request, true).await? {
                Answer::OfService(response) => response.map(Either::Left),
                Answer::Rejected(status, sentence) => {
                    let mut response = Response::new(Either::Right(Full::from(sentence)));
                    *response.status_mut() = status;
                    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
                    response.headers_mut().insert(header::CONTENT_TYPE, plain);
                    response
                }
            })
        })
    }
}
