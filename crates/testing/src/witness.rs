//! The connection of a program under test, which tells what goes over it.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt as _, Either, Full};
use kubewright_apiserver::RequestInfo;
use serde_json::Value;
use tower::{BoxError, Layer, Service};

use crate::permissions::Ledger;

/// Puts a [`Witness`] before a service.
#[derive(Clone, Debug)]
pub(crate) struct WitnessLayer(pub(crate) Arc<Ledger>);

/// A service that takes every request and every refusal down.
#[derive(Clone, Debug)]
pub(crate) struct Witness<S> {
    inner: S,
    ledger: Arc<Ledger>,
}

impl<S> Layer<S> for WitnessLayer {
    type Service = Witness<S>;

    fn layer(&self, inner: S) -> Witness<S> {
        Witness {
            inner,
            ledger: self.0.clone(),
        }
    }
}

impl<S, B, A> Service<Request<B>> for Witness<S>
where
    S: Service<Request<B>, Response = Response<A>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    A: Body<Data = Bytes> + Send + 'static,
    A::Error: Into<BoxError>,
{
    type Response = Response<Either<A, Full<Bytes>>>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let info = RequestInfo::of(request.method(), request.uri());
        let ledger = self.ledger.clone();
        ledger.asked(&info);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await.map_err(Into::into)?;
            if answer.status() != StatusCode::FORBIDDEN {
                return Ok(answer.map(Either::Left));
            }
            let (head, body) = answer.into_parts();
            let body = body.collect().await.map_err(Into::into)?.to_bytes();
            let status: Value = serde_json::from_slice(&body).unwrap_or_default();
            ledger.forbidden(&info, &status);
            Ok(Response::from_parts(head, Either::Right(Full::new(body))))
        })
    }
}
