//! The program's own calls to the API server, as those see them who watch over it.

use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::time::Instant;
use tracing::{Instrument, Span, field};

use crate::traces;

/// One call that was answered, or not.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) verb: &'static str,
    pub(crate) method: &'a Method,
    /// None: there was no answer.
    pub(crate) code: Option<StatusCode>,
    /// Until the answer began.
    pub(crate) latency: Duration,
}

/// The same client, with a function that is called for every call that was answered, or not.
pub(crate) fn observed(
    client: Client,
    observe: impl Fn(&Asked<'_>) + Clone + Send + 'static,
) -> Client {
    let (namespace, end) = (client.default_namespace().to_owned(), *client.valid_until());
    let service = tower::service_fn(move |mut request: Request<Body>| {
        let (client, observe) = (client.clone(), observe.clone());
        let (verb, method) = (verb(&request), request.method().clone());
        let begun = Instant::now();
        // The caller's span is the current one: kube hands it on with the request.
        let span = span(verb, request.uri().path());
        if !span.is_disabled() {
            traces::pass_on(&span, request.headers_mut());
        }
        let told = span.clone();
        let call = async move {
            let answer: kube::Result<Response<Body>> = client.send(request).await;
            let code = answer.as_ref().ok().map(Response::status);
            tell(&told, code);
            observe(&Asked {
                verb,
                method: &method,
                code,
                latency: begun.elapsed(),
            });
            answer
        };
        call.instrument(span)
    });
    Client::new(service, namespace).with_valid_until(end)
}

/// What a trace tells of a call: until its answer begins.
fn span(verb: &'static str, path: &str) -> Span {
    tracing::debug_span!(
        "call",
        otel.kind = "client",
        otel.status_code = field::Empty,
        verb,
        path = &path[..path.floor_char_boundary(LONGEST_PATH)],
        code = field::Empty,
    )
}

fn tell(span: &Span, code: Option<StatusCode>) {
    if let Some(code) = code {
        span.record("code", code.as_u16());
    }
    if code.is_none_or(|code| code.is_server_error()) {
        span.record("otel.status_code", "ERROR");
    }
}

/// What a request asks for, in the words of Kubernetes.
fn verb<B>(request: &Request<B>) -> &'static str {
    let is_named = names_an_object(request.uri().path());
    let mut query = request.uri().query().unwrap_or_default().split('&');
    match *request.method() {
        Method::GET if query.any(|pair| matches!(pair, "watch=true" | "watch=1")) => "watch",
        Method::GET if is_named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if is_named => "delete",
        Method::DELETE => "deletecollection",
        _ => "other",
    }
}

/// Whether a path is that of one object, and not of a collection.
fn names_an_object(path: &str) -> bool {
    let segments: Vec<&str> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .collect();
    let (["api", _, rest @ ..] | ["apis", _, _, rest @ ..]) = &segments[..] else {
        return true;
    };
    match rest {
        ["namespaces", _, _, of_it @ ..] => !of_it.is_empty(),
        [_, named @ ..] => !named.is_empty(),
        [] => true,
    }
}

/// Room for a namespace, a resource and a name of the greatest lengths.
const LONGEST_PATH: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_told_by_the_verbs_of_permissions() {
        for (method, uri, expected) in [
            ("GET", "/api/v1/pods", "list"),
            ("GET", "/api/v1/pods?limit=500&watch=true", "watch"),
            (
                "GET",
                "/api/v1/namespaces/blue/pods?labelSelector=a",
                "list",
            ),
            ("GET", "/api/v1/namespaces/blue/pods/a", "get"),
            ("GET", "/api/v1/namespaces/blue", "get"),
            ("GET", "/api/v1/namespaces", "list"),
            (
                "GET",
                "/apis/apps/v1/namespaces/blue/deployments/a/scale",
                "get",
            ),
            ("GET", "/apis/apps/v1/deployments", "list"),
            ("GET", "/version", "get"),
            ("GET", "/apis", "get"),
            ("POST", "/api/v1/namespaces/blue/pods", "create"),
            ("PUT", "/api/v1/namespaces/blue/pods/a", "update"),
            ("PATCH", "/api/v1/nodes/a", "patch"),
            ("DELETE", "/api/v1/nodes/a", "delete"),
            ("DELETE", "/api/v1/namespaces/blue/pods", "deletecollection"),
            ("HEAD", "/api/v1/pods", "other"),
        ] {
            let request = Request::builder().method(method).uri(uri).body(()).unwrap();
            assert_eq!(verb(&request), expected, "{method} {uri}");
        }
    }
}
