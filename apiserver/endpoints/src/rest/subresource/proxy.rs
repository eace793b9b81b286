//! The proxies to pods and to the pods behind services.

use std::net::{IpAddr, SocketAddr};

use http::header::{CONNECTION, HOST, LOCATION, UPGRADE};
use http::{HeaderValue, Method, Request, Response, StatusCode, Uri};
use http_body_util::Full;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_kubelet::{Unanswered, connect};

use crate::body::Body;
use crate::rest::call::Call;
use crate::rest::forward;
use crate::rest::upgrade::{is_upgrade, join};

/// Where a proxied request goes.
#[derive(Debug)]
pub(super) struct Target<'a> {
    /// `http` or `https`; empty for the former.
    pub(super) scheme: &'a str,
    /// The address and the port of the pod, as its status says.
    pub(super) address: (IpAddr, u16),
}

/// The path of a request, cut behind `/proxy`.
#[derive(Debug, PartialEq, Eq)]
struct Split<'a> {
    prefix: &'a str,
    rest: &'a str,
}

/// Passes a request on to the program of a pod.
///
/// # Errors
/// 503 if the program does not answer, and 501 for a pod whose containers do not run.
pub(super) async fn forward(
    call: &Call,
    method: &Method,
    target: &Target<'_>,
) -> Result<Response<Body>> {
    let (address, port) = target.address;
    let Some(dialed) = call.shared.pods.dial(address, port) else {
        return Err(Unanswered::Proxy.into());
    };
    let client = call.upgrade.clone().filter(|_| is_upgrade(&call.headers));
    let split = Split::of(call.uri.path());
    let query = call
        .uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    if client.is_none()
        && split.rest.is_empty()
        && (method == Method::GET || method == Method::HEAD)
    {
        return Ok(redirect(&format!("{}/{query}", split.prefix)));
    }
    let shown = SocketAddr::from(target.address);
    let unreachable = |why: String| {
        let message = format!("error trying to reach service: {why}");
        Status::new(503, "ServiceUnavailable", message)
    };
    let connection = connect(dialed, target.scheme).await;
    let connection = connection.map_err(|error| {
        let why = match error.kind() {
            std::io::ErrorKind::ConnectionRefused => "connect: connection refused".to_owned(),
            _ => error.to_string(),
        };
        unreachable(format!("dial tcp {shown}: {why}"))
    })?;
    let mut request = request(call, method, &split, &query, shown)?;
    if client.is_some()
        && let Some(protocol) = call.headers.get(UPGRADE)
    {
        let headers = request.headers_mut();
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, protocol.clone());
    }
    let answer = forward::exchange(connection, request).await;
    let mut answer = answer.map_err(unreachable)?;
    if let (StatusCode::SWITCHING_PROTOCOLS, Some(client)) = (answer.status(), client) {
        let program = hyper::upgrade::on(&mut answer);
        tokio::spawn(join(client, program, call.stopped.clone()));
        return Ok(answer.map(|_| Body::from("")));
    }
    let mut answer = forward::answer(answer);
    if let Some(location) = answer.headers().get(LOCATION)
        && let Some(rewritten) = rewritten(location, split.prefix, shown)
    {
        answer.headers_mut().insert(LOCATION, rewritten);
    }
    Ok(answer)
}

impl<'a> Split<'a> {
    /// Cuts `/api/v1/namespaces/<ns>/<resource>/<name>/proxy/…`.
    fn of(path: &'a str) -> Self {
        const SEGMENTS: usize = 7;
        let mut slashes = path.match_indices('/').map(|(at, _)| at);
        let end = slashes.nth(SEGMENTS).unwrap_or(path.len());
        let (prefix, rest) = path.split_at(end);
        Self { prefix, rest }
    }
}

fn request(
    call: &Call,
    method: &Method,
    split: &Split<'_>,
    query: &str,
    shown: SocketAddr,
) -> Result<Request<Full<bytes::Bytes>>> {
    let path = if split.rest.is_empty() {
        "/"
    } else {
        split.rest
    };
    let uri: Uri = format!("{path}{query}")
        .parse()
        .map_err(|_| Status::bad_request("the path cannot be forwarded"))?;
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = method.clone();
    *request.uri_mut() = uri;
    let headers = request.headers_mut();
    *headers = forward::headers(&call.headers);
    // Over HTTP/2, the host is part of the address.
    let host = headers.get(HOST).cloned();
    let authority = call.uri.authority().map(ToString::to_string);
    let authority = authority.unwrap_or_else(|| shown.to_string());
    if let (None, Ok(host)) = (host, HeaderValue::try_from(authority)) {
        headers.insert(HOST, host);
    }
    let forwarded = format!("{}{path}", split.prefix);
    if let Ok(forwarded) = HeaderValue::try_from(forwarded) {
        headers.insert("x-forwarded-uri", forwarded);
    }
    Ok(request)
}

fn redirect(to: &str) -> Response<Body> {
    let mut response = Response::new(Body::from(""));
    *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
    if let Ok(to) = HeaderValue::try_from(to) {
        response.headers_mut().insert(LOCATION, to);
    }
    response
}

/// A location of the pod as one that leads through the proxy.
fn rewritten(location: &HeaderValue, prefix: &str, own: SocketAddr) -> Option<HeaderValue> {
    let location: Uri = location.to_str().ok()?.parse().ok()?;
    let is_own = location
        .authority()
        .is_none_or(|authority| authority.as_str() == own.to_string());
    let path = location.path_and_query()?.as_str();
    if !is_own || !path.starts_with('/') || path.starts_with(prefix) {
        return None;
    }
    HeaderValue::try_from(format!("{prefix}{path}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_behind_proxy_is_the_programs() {
        for (path, prefix, rest) in [
            (
                "/api/v1/namespaces/a/pods/b/proxy",
                "/api/v1/namespaces/a/pods/b/proxy",
                "",
            ),
            (
                "/api/v1/namespaces/a/pods/b/proxy/",
                "/api/v1/namespaces/a/pods/b/proxy",
                "/",
            ),
            (
                "/api/v1/namespaces/a/services/b:80/proxy/x/%2Fy",
                "/api/v1/namespaces/a/services/b:80/proxy",
                "/x/%2Fy",
            ),
        ] {
            assert_eq!(Split::of(path), Split { prefix, rest });
        }
    }

    #[test]
    fn redirects_of_the_program_lead_through_the_proxy() {
        let own = SocketAddr::from(([10, 244, 0, 1], 80));
        for (location, expected) in [
            ("/a?b", Some("/p/a?b")),
            ("http://10.244.0.1:80/a", Some("/p/a")),
            ("http://example.com/a", None),
            ("/p/a", None),
        ] {
            let header = HeaderValue::from_static(location);
            let rewritten = rewritten(&header, "/p", own);
            assert_eq!(
                rewritten,
                expected.map(HeaderValue::from_static),
                "{location}"
            );
        }
    }
}
