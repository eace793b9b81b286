//! `/openapi/v3` and `/openapi/v2`: which document, in which form, and how long it may be kept (spec section C.3).

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, VARY};
use http::{HeaderValue, Response, StatusCode};
use kubewright_apimachinery::status::{Result, Status};

use crate::body::Body;
use crate::openapi::{self, Document, v2};
use crate::rest::answer;
use crate::rest::negotiate::{Output, accepted};
use crate::rest::request::Request;
use crate::rest::shared::Shared;

/// Returns the list of documents: JSON whatever the client accepts, with the content type of plain text (measured on
/// v1.36).
pub(super) fn index(shared: &Shared) -> Response<Body> {
    let index = openapi::v3_index(&shared.served.now());
    let mut response = answer::whole(StatusCode::OK, &Output::json(), index);
    insert(&mut response, CONTENT_TYPE, "text/plain; charset=utf-8");
    response
}

/// The document of a group and version.
///
/// A URL with the document's hash may be cached for ever; a URL with another hash redirects to the current one.
pub(super) fn document(shared: &Shared, request: &Request, place: &[&str]) -> Response<Body> {
    let Some(document) = openapi::v3_document(&shared.served.now(), place) else {
        return no_document();
    };
    if !reads_json(request) {
        let mut response = answer::empty(StatusCode::NOT_ACCEPTABLE);
        insert(&mut response, VARY, "Accept");
        return response;
    }
    match request.query.get("hash") {
        None | Some("") => cacheable(request, &document, "no-cache, private"),
        Some(hash) if hash == document.hash => cacheable(request, &document, "public, immutable"),
        Some(_) => {
            let location = format!("{}?hash={}", request.parts.uri.path(), document.hash);
            let mut response = Response::new(Body::from(""));
            *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
            insert(&mut response, LOCATION, &location);
            insert(&mut response, CONTENT_TYPE, "application/json");
            insert(&mut response, CACHE_CONTROL, "no-cache, private");
            insert(&mut response, ETAG, &format!("\"{}\"", document.hash));
            insert(&mut response, VARY, "Accept");
            response
        }
    }
}

/// 404 without a word.
fn no_document() -> Response<Body> {
    let mut response = Response::new(Body::from(""));
    *response.status_mut() = StatusCode::NOT_FOUND;
    insert(&mut response, CACHE_CONTROL, "no-cache, private");
    response
}

/// The document that old kubectl reads before it looks at v3; it has no JSON form here.
pub(super) fn swagger(request: &Request) -> Result<Response<Body>> {
    if !accepted(&request.parts.headers)
        .iter()
        .any(|range| range.kind == v2::ACCEPT)
    {
        return Err(Status::not_implemented(
            "this server does not describe itself in OpenAPI v2; use /openapi/v3",
        ));
    }
    let mut response = Response::new(Body::from(v2::PROTOBUF));
    insert(&mut response, CONTENT_TYPE, v2::CONTENT_TYPE);
    insert(&mut response, VARY, "Accept");
    Ok(response)
}

/// The protobuf form of v3 is not made; clients that prefer it name JSON too.
fn reads_json(request: &Request) -> bool {
    let ranges = accepted(&request.parts.headers);
    let json = |kind| matches!(kind, "application/json" | "application/*" | "*/*");
    ranges.is_empty() || ranges.iter().any(|range| json(range.kind))
}

fn cacheable(request: &Request, document: &Document, how_long: &str) -> Response<Body> {
    let tag = format!("\"{}\"", document.hash);
    let known = request.parts.headers.get_all(IF_NONE_MATCH).iter();
    let mut response = if known
        .filter_map(|value| value.to_str().ok())
        .any(|known| known == tag || known == "*")
    {
        let mut response = Response::new(Body::from(""));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        response
    } else {
        answer::whole(StatusCode::OK, &Output::json(), document.body.clone())
    };
    insert(&mut response, ETAG, &tag);
    insert(&mut response, VARY, "Accept");
    insert(&mut response, CACHE_CONTROL, how_long);
    response
}

fn insert(response: &mut Response<Body>, name: http::HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}
