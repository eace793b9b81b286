//! `/openapi/v3` and `/openapi/v2`: which document, in which form, and how long it may be kept (spec section C.3).

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, LOCATION, VARY};
use http::{HeaderValue, Response, StatusCode};

use crate::body::Body;
use crate::openapi::{self, Document};
use crate::rest::negotiate::{Output, accepted};
use crate::rest::request::Request;
use crate::rest::shared::Shared;
use crate::rest::{answer, compress};

/// Returns the list of documents: JSON whatever the client accepts, with the content type of plain text (measured on
/// v1.36).
pub(super) fn index(shared: &Shared) -> Response<Body> {
    let registrations = shared.aggregator.registrations(&shared.store);
    let remote = registrations.iter().filter(|it| it.service.is_some());
    let others = remote.filter_map(|it| {
        let documents = shared.aggregator.documents(&it.name)?;
        let place = it.path().trim_start_matches('/').to_owned();
        Some((place, documents.openapi.clone()?))
    });
    let index = openapi::v3_index(&shared.served.now(), others);
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
    let Some(form) = form_of(request, V3) else {
        return not_acceptable();
    };
    match request.query.get("hash") {
        None | Some("") => cacheable(request, &document, form, "no-cache, private"),
        Some(hash) if hash == document.hash => {
            cacheable(request, &document, form, "public, immutable")
        }
        Some(_) => {
            let location = format!("{}?hash={}", request.parts.uri.path(), document.hash);
            let mut response = Response::new(Body::from(""));
            *response.status_mut() = StatusCode::MOVED_PERMANENTLY;
            insert(&mut response, LOCATION, &location);
            insert(&mut response, CONTENT_TYPE, form.content_type);
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

/// The document of v2, which is compressed for clients that read gzip.
pub(super) fn swagger(shared: &Shared, request: &Request) -> Response<Body> {
    let mut response = match form_of(request, V2) {
        Some(form) => {
            let document = shared.swagger.document(&shared.served.now());
            let whole = cacheable(request, &document, form, "no-cache, private");
            if compress::is_wanted(&request.parts.headers) {
                compress::compressed(whole)
            } else {
                whole
            }
        }
        None => not_acceptable(),
    };
    insert(&mut response, VARY, "Accept-Encoding");
    let accept = HeaderValue::from_static("Accept");
    response.headers_mut().append(VARY, accept);
    response
}

/// A form in which documents are written.
#[derive(Clone, Copy)]
struct DocumentForm {
    content_type: &'static str,
    is_protobuf: bool,
}

/// How the protobuf form of a version is called: `@` in what clients ask for, `.` in what they get, which Go can read.
#[derive(Clone, Copy)]
struct Names {
    asked: &'static str,
    answered: &'static str,
}

const V2: Names = Names {
    asked: "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
    answered: "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
};
const V3: Names = Names {
    asked: "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
    answered: "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
};

/// The form that the client likes best.
fn form_of(request: &Request, protobuf: Names) -> Option<DocumentForm> {
    let json = DocumentForm {
        content_type: "application/json",
        is_protobuf: false,
    };
    let ranges = accepted(&request.parts.headers);
    if ranges.is_empty() {
        return Some(json);
    }
    ranges.iter().find_map(|range| match range.kind {
        "application/json" | "application/*" | "*/*" => Some(json),
        kind if kind == protobuf.asked || kind == protobuf.answered => Some(DocumentForm {
            content_type: protobuf.answered,
            is_protobuf: true,
        }),
        _ => None,
    })
}

fn not_acceptable() -> Response<Body> {
    let mut response = answer::empty(StatusCode::NOT_ACCEPTABLE);
    insert(&mut response, VARY, "Accept");
    response
}

fn cacheable(
    request: &Request,
    document: &Document,
    form: DocumentForm,
    how_long: &str,
) -> Response<Body> {
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
        let body = if form.is_protobuf {
            document.protobuf()
        } else {
            document.body.clone()
        };
        let mut response = answer::whole(StatusCode::OK, &Output::json(), body);
        insert(&mut response, CONTENT_TYPE, form.content_type);
        response
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
