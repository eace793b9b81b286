//! The webhooks as a tower service: from an HTTP request to an HTTP answer.

use std::convert::Infallible;
use std::error::Error;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes};
use http::{Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use kubewright_review::{AdmissionReview, Patch, Response as Answer};
use tokio::time::Instant;

use crate::Webhooks;
use crate::hook::{Hook, Undecodable};
use crate::link::Stop;
use crate::refusal::Refusal;
use crate::review::Review;
use crate::verdict::{Denial, Rejection};

/// What is left for the answer to travel.
const MARGIN: Duration = Duration::from_millis(250);

impl<B> tower::Service<Request<B>> for Webhooks
where
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let webhooks = self.clone();
        let arrival = Instant::now();
        Box::pin(async move {
            Ok(match answer(&webhooks, request, arrival).await {
                Ok(body) => reply(StatusCode::OK, body),
                Err(refusal) => {
                    let mut reply = reply(refusal.code(), refusal.to_json());
                    if refusal.code() == StatusCode::METHOD_NOT_ALLOWED {
                        reply
                            .headers_mut()
                            .insert(header::ALLOW, header::HeaderValue::from_static("POST"));
                    }
                    reply
                }
            })
        })
    }
}

fn reply(code: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::from(body));
    *reply.status_mut() = code;
    reply.headers_mut().insert(
        header::CONTENT_TYPE,
        header::HeaderValue::from_static("application/json"),
    );
    reply
}

async fn answer<B>(
    webhooks: &Webhooks,
    request: Request<B>,
    arrival: Instant,
) -> Result<Vec<u8>, Refusal>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let hooks = &webhooks.inner.hooks;
    let path = request.uri().path();
    let hook = hooks
        .iter()
        .find(|hook| hook.path == path)
        .ok_or_else(|| Refusal::unknown_path(path))?;
    if request.method() != Method::POST {
        return Err(Refusal::method(request.method()));
    }
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
        return Err(Refusal::content_type(content_type));
    }
    let timeout = request
        .uri()
        .query()
        .and_then(timeout_of)
        .unwrap_or(hook.timeout);
    let deadline = arrival + timeout.saturating_sub(MARGIN.min(timeout / 10));
    let limit = webhooks.inner.body_limit;
    let body = tokio::time::timeout_at(deadline, Limited::new(request, limit).collect())
        .await
        .map_err(|_| Refusal::slow_body())?
        .map_err(|error| {
            if error.is::<LengthLimitError>() {
                Refusal::too_large(limit)
            } else {
                Refusal::broken_body(&*error)
            }
        })?;
    let mut body = body.aggregate();
    let body = body.copy_to_bytes(body.remaining());
    if body.is_empty() {
        return Err(Refusal::empty());
    }
    let review = AdmissionReview::read(body.into()).map_err(|error| Refusal::unreadable(&error))?;
    judge(hook, Review::new(review, deadline)).await
}

async fn judge(hook: &Hook, review: Review) -> Result<Vec<u8>, Refusal> {
    let mut patch = Patch::default();
    let mut denial = None;
    for link in &hook.links {
        let run = std::sync::Arc::clone(link).run(review.clone());
        let run = tokio::time::timeout_at(review.deadline(), Guarded(Some(run)));
        match run.await {
            Err(_) => return Err(Refusal::deadline(&review, &hook.name)),
            Ok(Err(_)) => return Err(Refusal::panicked(&review, &hook.name)),
            Ok(Ok(Ok(made))) => patch = made,
            Ok(Ok(Err(stop))) => match (stop, hook.when_undecodable) {
                (Stop::Undecodable(_), Undecodable::PassThrough) => {}
                (Stop::Undecodable(cause), Undecodable::Deny) => {
                    denial = Some(Denial::new(cause).code(422));
                }
                (Stop::Undecodable(cause), Undecodable::Fail) => {
                    return Err(Refusal::undecodable(&review, &hook.name, &*cause));
                }
                (Stop::Failed(cause), _) => {
                    return Err(Refusal::failed(&review, &hook.name, &*cause));
                }
                (Stop::Rejected(reject), _) => match reject.into_rejection() {
                    Rejection::Denied(denied, _) => denial = Some(denied),
                    Rejection::Failed(cause) => {
                        return Err(Refusal::failed(&review, &hook.name, &*cause));
                    }
                },
            },
        }
    }
    let notes = review.take_notes();
    let status = denial.map(Denial::into_status);
    let mut answer = Answer::new(review.request().version(), review.uid())
        .warnings(&notes.warnings)
        .audit_annotations(&notes.annotations);
    answer = match &status {
        Some(status) => answer.denied(status),
        None => answer.patch(&patch),
    };
    Ok(answer.to_json())
}

fn is_json(content_type: &[u8]) -> bool {
    let essence = content_type
        .split(|byte| *byte == b';')
        .next()
        .unwrap_or(&[]);
    essence
        .trim_ascii()
        .eq_ignore_ascii_case(b"application/json")
}

/// The API server says how long it will wait: `?timeout=10s`.
fn timeout_of(query: &str) -> Option<Duration> {
    let value = query
        .split('&')
        .find_map(|pair| pair.strip_prefix("timeout="))?;
    let seconds: u64 = value.strip_suffix('s')?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// A handler whose panics, also those in `Drop`, stay with the call.
struct Guarded<F>(Option<Pin<Box<F>>>)
where
    F: ?Sized;

impl<F: Future + ?Sized> Future for Guarded<F> {
    type Output = Result<F::Output, ()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some(run) = &mut self.0 else {
            return Poll::Pending;
        };
        match catch_unwind(AssertUnwindSafe(|| run.as_mut().poll(context))) {
            Ok(Poll::Pending) => Poll::Pending,
            Ok(Poll::Ready(output)) => Poll::Ready(Ok(output)),
            Err(_) => Poll::Ready(Err(())),
        }
    }
}

impl<F: ?Sized> Drop for Guarded<F> {
    fn drop(&mut self) {
        let run = self.0.take();
        let _ = catch_unwind(AssertUnwindSafe(|| drop(run)));
    }
}
