//! The webhooks as a tower service: from an HTTP request to an HTTP answer.

use std::convert::Infallible;
use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body::Body;
use http_body_util::Full;
use tokio::time::Instant;
use tracing::{Instrument, Span};

use crate::admit::{Observed, admit};
use crate::hook::Hook;
use crate::refusal::Refusal;
use crate::{Conversion, Webhooks, body, convert, shadow, span, timeout};

/// What is left for the answer to travel, at most.
const MARGIN: Duration = Duration::from_millis(250);

/// The longest that the API server waits for a webhook.
const LONGEST: Duration = Duration::from_secs(30);

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
        let span = span::of_call();
        if span.is_disabled() {
            return Box::pin(respond(webhooks, request, arrival, span));
        }
        Box::pin(respond(webhooks, request, arrival, span.clone()).instrument(span))
    }
}

async fn respond<B>(
    webhooks: Webhooks,
    request: Request<B>,
    arrival: Instant,
    span: Span,
) -> Result<Response<Full<Bytes>>, Infallible>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    Ok(match answer(&webhooks, request, arrival, &span).await {
        Ok(body) => reply(StatusCode::OK, body),
        Err(refusal) => {
            span::failed(&span, refusal.code());
            refuse(&refusal)
        }
    })
}

fn reply(code: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut reply = Response::new(Full::from(body));
    *reply.status_mut() = code;
    let json = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(header::CONTENT_TYPE, json);
    reply
}

fn refuse(refusal: &Refusal) -> Response<Full<Bytes>> {
    let mut reply = reply(refusal.code(), refusal.to_json());
    if refusal.code() == StatusCode::METHOD_NOT_ALLOWED {
        let post = HeaderValue::from_static("POST");
        reply.headers_mut().insert(header::ALLOW, post);
    }
    reply
}

async fn answer<B>(
    webhooks: &Webhooks,
    request: Request<B>,
    arrival: Instant,
    span: &Span,
) -> Result<Vec<u8>, Refusal>
where
    B: Body,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    let served = webhooks.serves(request.uri().path())?;
    check_head(&request)?;
    let query = request.uri().query().unwrap_or_default();
    let timeout = timeout::of(query)?;
    let is_revealed = shadow::is_revealed(query);
    let own = match &served {
        Served::Hook(hook) => hook.timeout,
        Served::Conversion(_) => LONGEST,
    };
    let timeout = timeout.map_or(own, |timeout| timeout.min(LONGEST));
    let deadline = arrival + timeout.saturating_sub(MARGIN.min(timeout / 10));
    let body = body::read(request.into_body(), webhooks.inner.body_limit, deadline).await?;
    let room = webhooks.room();
    let hook = match served {
        Served::Hook(hook) => hook,
        Served::Conversion(conversion) => {
            let _room = room.take_for_conversion(body.text(), deadline).await?;
            return convert::answer(&conversion, &body, deadline).await;
        }
    };
    let _room = room.take(body.text(), deadline).await?;
    let observed = Observed {
        observer: webhooks.inner.observer.get(),
        arrival,
        span,
        is_revealed,
    };
    admit(&hook, &body, deadline, observed).await
}

/// What is at a path.
enum Served {
    Hook(Arc<Hook>),
    Conversion(Arc<Conversion>),
}

impl Webhooks {
    fn serves(&self, path: &str) -> Result<Served, Refusal> {
        if let Err(error) = self.checked() {
            return Err(Refusal::unusable(error));
        }
        let hooks = &self.inner.hooks;
        if let Some(hook) = hooks.iter().find(|hook| hook.path == path) {
            return Ok(Served::Hook(Arc::clone(hook)));
        }
        let conversions = &self.inner.conversions;
        if let Some(conversion) = conversions.iter().find(|known| known.path == path) {
            return Ok(Served::Conversion(Arc::clone(conversion)));
        }
        let hooks = hooks.iter().map(|hook| &*hook.path);
        let all = hooks.chain(conversions.iter().map(|known| &*known.path));
        Err(Refusal::unknown_path(path, all))
    }
}

fn check_head<B>(request: &Request<B>) -> Result<(), Refusal> {
    if request.method() != Method::POST {
        return Err(Refusal::method(request.method()));
    }
    let content_type = request.headers().get(header::CONTENT_TYPE);
    if !content_type.is_some_and(|value| is_json(value.as_bytes())) {
        return Err(Refusal::content_type(content_type));
    }
    match request.headers().get(header::CONTENT_ENCODING) {
        Some(coding) if !coding.as_bytes().eq_ignore_ascii_case(b"identity") => {
            Err(Refusal::content_encoding())
        }
        _ => Ok(()),
    }
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
