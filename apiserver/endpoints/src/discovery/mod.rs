//! Every path that is not about a resource: discovery, version, health, OpenAPI.

mod aggregated;
mod health;
mod merged;
mod metrics;
mod openapi;
mod plain;

use std::fmt::Write as _;

use http::header::{CACHE_CONTROL, CONTENT_TYPE, ETAG, IF_NONE_MATCH, VARY};
use http::{HeaderValue, Method, Response, StatusCode};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::version::{GIT_VERSION, KubernetesVersion};
use kubewright_storage::Snapshot;
use serde_json::{Map, Value, json};

use crate::body::Body;
use crate::rest::answer;
use crate::rest::negotiate::{Encoding, Output, accepted};
use crate::rest::not_found::{not_found, nowhere};
use crate::rest::request::Request;
use crate::rest::shared::Shared;
use merged::MergedGroup;

/// The path of a snapshot of all objects, which a kube-apiserver does not have.
const SNAPSHOT: &[&str] = &["debug", "kubewright", "snapshot"];

/// Answers a path that names no resource.
pub(crate) fn answer(shared: &Shared, request: &Request, words: &[&str]) -> Result<Response<Body>> {
    // The other paths are served whatever the method is: only these have routes.
    let routed = matches!(
        words,
        ["version" | "api"]
            | ["api", _]
            | ["apis", _, _]
            | [".well-known", "openid-configuration"]
            | ["openid", "v1", "jwks"]
    );
    if routed && request.parts.method != Method::GET {
        return Err(Status::method_not_allowed());
    }
    let registry = &shared.served.now();
    let registrations = shared.aggregator.registrations(&shared.store);
    Ok(match words {
        [] | ["index.html"] => answer::value(
            StatusCode::OK,
            &Output::json(),
            &paths(&merged::groups(registry, &registrations)),
        ),
        ["version"] => {
            wants(request, JSON)?;
            json_answer(request, &version(registry.version()), Negotiated::ByRouter)?
        }
        ["healthz" | "livez" | "readyz", check @ ..] => {
            health::answer(request, words[0], &check.join("/"), registry.version())
        }
        ["api"] => match aggregated::wanted(request) {
            Some(version) => aggregated(request, version, &aggregated::core(registry)),
            None => json_answer(request, &plain::versions(request), Negotiated::ByRouter)?,
        },
        ["apis"] => match aggregated::wanted(request) {
            Some(version) => aggregated(
                request,
                version,
                &aggregated::groups(
                    &merged::groups(registry, &registrations),
                    &shared.aggregator,
                ),
            ),
            None => json_answer(
                request,
                &plain::groups(&merged::groups(registry, &registrations)),
                Negotiated::ByHandler,
            )?,
        },
        ["api", version] => match plain::resources(registry, "", version) {
            Some(list) => json_answer(request, &list, Negotiated::ByRouter)?,
            None => return Err(Status::no_such_resource()),
        },
        ["apis", group] => match plain::group(&merged::groups(registry, &registrations), group) {
            Some(group) => json_answer(request, &group, Negotiated::ByHandler)?,
            None => not_found(),
        },
        ["apis", group, version] => match plain::resources(registry, group, version) {
            Some(list) => json_answer(request, &list, Negotiated::ByRouter)?,
            None => return nowhere(shared, Some(group)),
        },
        [".well-known", "openid-configuration"] => {
            wants(request, JSON)?;
            let host = request.host();
            published(
                shared.access.service_accounts.openid_configuration(host),
                JSON,
            )
        }
        ["openid", "v1", "jwks"] => {
            wants(request, KEY_SET)?;
            published(shared.access.service_accounts.key_set(), KEY_SET)
        }
        ["openapi", "v2"] => openapi::swagger(shared, request),
        ["openapi", "v3"] => openapi::index(shared),
        ["openapi", "v3", place @ ..] => openapi::document(shared, request, place),
        SNAPSHOT => {
            if request.parts.method != Method::GET {
                return Err(Status::method_not_allowed());
            }
            let snapshot = Snapshot::of(&shared.store);
            Response::new(Body::from(snapshot.into_bytes()))
        }
        ["metrics"] => metrics::answer(shared, registry, &version(registry.version())),
        _ => not_found(),
    })
}

fn version(emulated: KubernetesVersion) -> Value {
    json!({
        "major": "1",
        "minor": KubernetesVersion::default().minor().to_string(),
        "emulationMajor": "1",
        "emulationMinor": emulated.minor().to_string(),
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": (emulated.minor() - 1).to_string(),
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": platform(),
    })
}

/// The system and the processor, as Go calls them.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        system => system,
    };
    let processor = match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        processor => processor,
    };
    format!("{system}/{processor}")
}

fn paths(groups: &[MergedGroup<'_>]) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in groups {
        paths.push(format!("/apis/{}", group.name));
        let versions = group.versions.iter();
        paths.extend(versions.map(|version| format!("/apis/{}/{}", group.name, version.name())));
    }
    let others = [
        "/.well-known/openid-configuration",
        "/healthz",
        "/livez",
        "/metrics",
        "/openapi/v2",
        "/openapi/v3",
        "/openid/v1/jwks",
        "/readyz",
        "/version",
    ];
    paths.extend(others.map(str::to_owned));
    paths.sort();
    json!({ "paths": paths })
}

/// The component that checks the Accept header first: for a path with a route, the router rejects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Negotiated {
    ByRouter,
    ByHandler,
}

fn json_answer(request: &Request, value: &Value, by: Negotiated) -> Result<Response<Body>> {
    let output = match (&request.output, by) {
        (Ok(output), _) if output.encoding == Encoding::Protobuf && value.get("kind").is_none() => {
            Output::json()
        }
        (Ok(output), _) => output.of_the_object(),
        (Err(status), Negotiated::ByRouter) => return Err(status.clone()),
        (Err(_), Negotiated::ByHandler) => return Err(Output::not_acceptable()),
    };
    Ok(answer::value(StatusCode::OK, &output, value))
}

/// What tokens are verified by, which is the same for an hour.
fn published(text: Option<String>, form: &'static str) -> Response<Body> {
    let Some(text) = text else {
        return not_found();
    };
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(form));
    let hour = HeaderValue::from_static("public, max-age=3600");
    headers.insert(CACHE_CONTROL, hour);
    response
}

const JSON: &str = "application/json";
const KEY_SET: &str = "application/jwk-set+json";

/// Checks that the client accepts the only format of a path.
///
/// # Errors
/// 406 if it does not.
fn wants(request: &Request, form: &str) -> Result<()> {
    let ranges = accepted(&request.parts.headers);
    if ranges.is_empty()
        || ranges
            .iter()
            .any(|range| range.kind == form || range.kind == "*/*")
    {
        return Ok(());
    }
    let message = format!("406: Not Acceptable\n\nAvailable representations: {form}");
    Err(Status::new(406, "NotAcceptable", message).with_details(Map::new()))
}

/// Answers an aggregated document, or 304 if the client has it already.
fn aggregated(request: &Request, version: &'static str, items: &[Value]) -> Response<Body> {
    let list = json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": format!("apidiscovery.k8s.io/{version}"),
        "metadata": {},
        "items": items,
    });
    let mut response = answer::value(StatusCode::OK, &Output::json(), &list);
    let digest = ring::digest::digest(&ring::digest::SHA512, list.to_string().as_bytes());
    let mut tag = "\"".to_owned();
    for byte in digest.as_ref() {
        let _ = write!(tag, "{byte:02X}");
    }
    tag.push('"');
    let known = request.parts.headers.get_all(IF_NONE_MATCH).iter();
    if known
        .filter_map(|value| value.to_str().ok())
        .any(|known| known == tag)
    {
        response = Response::new(Body::from(""));
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    let kind = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
