//! From a request to its answer: authentication, the path, the verb, and the answer's headers.

mod addresses;
pub(crate) mod answer;
pub(crate) mod call;
mod claim_status;
mod commit;
mod component_statuses;
pub(crate) mod compress;
mod corrupt;
mod create;
pub(crate) mod decode;
mod delete;
pub(crate) mod delete_options;
mod devices;
pub(crate) mod dispatch;
pub(crate) mod flow_control;
pub(crate) mod forward;
pub(crate) mod metadata;
pub(crate) mod negotiate;
pub(crate) mod not_found;
mod page;
mod patch;
pub(crate) mod path;
mod pod_certificates;
mod policy_parameters;
pub(crate) mod query;
pub(crate) mod read;
pub(crate) mod request;
mod reviews;
pub(crate) mod selection;
pub(crate) mod shared;
pub(crate) mod subresource;
pub(crate) mod table;
pub(crate) mod target;
pub(crate) mod tracking;
mod unsafe_delete;
mod update;
pub(crate) mod upgrade;
mod write;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures::FutureExt as _;
use http::header::{CONTENT_TYPE, HeaderName};
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use http_body_util::BodyExt as _;
use kubewright_admission::Notes;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::user::User;
use kubewright_auth::{Access, Caller, Impersonated};
use serde_json::json;
use tokio::time::{Duration, Instant};
use uuid::Uuid;

use crate::aggregation;
use crate::audit::{Audit, Trail};
use crate::body::Body;
use flow_control::Flow;
use negotiate::{Encoding, Output};
use path::Path;
use query::Query;
use request::Incoming;
use request::Request;
use shared::Shared;
use target::Target;

/// The largest request body: what the real server accepts.
const MOST_BODY: usize = 3 * 1024 * 1024;

/// Answers one request.
pub async fn serve(
    shared: Arc<Shared>,
    caller: Caller,
    mut parts: Parts,
    body: Incoming,
) -> Response<Body> {
    let query = Query::parse(parts.uri.query());
    let path = Path::parse(parts.uri.path());
    let audit_id = audit_id(&parts.headers);
    if shared.aggregator.looks() {
        // An aggregated API server writes it into its own audit log.
        parts.headers.insert(AUDIT_ID, audit_id.clone());
    }
    let head = parts.method == Method::HEAD;
    let output = Output::of(&parts.headers, &query);
    let encoding = output
        .as_ref()
        .map_or(Encoding::Json, |output| output.encoding);
    // The documents of OpenAPI have a writer of their own.
    let compress =
        compress::is_wanted(&parts.headers) && !parts.uri.path().starts_with("/openapi/");
    let notes = Arc::new(Notes::kept_at(shared.audit.as_ref().map(Audit::kept)));
    let trail = shared.audit.as_ref().map(|audit| {
        let target = Target::of(&parts.method, &path, &query, parts.uri.path());
        let id = String::from_utf8_lossy(audit_id.as_bytes());
        Arc::new(Trail::begin(
            audit,
            notes.clone(),
            &id,
            caller.address,
            &parts,
            &target,
        ))
    });
    let request = Request {
        parts,
        query,
        output,
        user: User::default(),
        deadline: Instant::now(),
        notes: notes.clone(),
        trail: trail.clone(),
        stopped: caller.stopped.clone(),
        body: Bytes::new(),
    };
    let mut flow = None;
    let handled = handle(shared, caller, request, path, body, &mut flow);
    let answer = AssertUnwindSafe(handled).catch_unwind().await;
    let mut response = match answer {
        Ok(Ok(response)) => response,
        Ok(Err(status)) => {
            if let Some(trail) = &trail {
                trail.failed(&status);
            }
            answer::failure(&status, encoding)
        }
        Err(why) => {
            if let Some(trail) = &trail {
                trail.panicked(why.downcast_ref().copied().unwrap_or_default());
            }
            answer::text(
                StatusCode::INTERNAL_SERVER_ERROR,
                "This request caused apiserver to panic. Look in the logs for details.",
            )
        }
    };
    if compress {
        response = compress::compressed(response);
    }
    answer::add_warnings(&mut response, &notes);
    response.headers_mut().insert(AUDIT_ID, audit_id);
    if let Some(flow) = flow {
        flow.write(response.headers_mut());
    }
    let mut response = match trail {
        Some(trail) => trail.answered(response),
        None => response,
    };
    if head {
        // In HTTP/2, a body here is a protocol error.
        *response.body_mut() = Body::from("");
    }
    response
}

/// Returns the audit ID that the client sent, or else a unique one.
fn audit_id(headers: &HeaderMap) -> HeaderValue {
    let sent = headers.get(AUDIT_ID).filter(|value| !value.is_empty());
    sent.cloned().unwrap_or_else(|| {
        let fresh = Uuid::new_v4().to_string();
        HeaderValue::try_from(fresh).expect("a uuid is hexadecimal digits and hyphens")
    })
}

async fn handle(
    shared: Arc<Shared>,
    caller: Caller,
    mut request: Request,
    path: Path,
    body: Incoming,
    flow: &mut Option<Flow>,
) -> Result<Response<Body>> {
    let (deadline, writes) = deadline(&request.parts.method, &request.query, &path)?;
    let sender = shared.access.authenticate(&caller, &request.parts);
    let sender = sender.inspect_err(|_| shared.metrics.unauthenticated())?;
    shared.metrics.authenticated(&sender);
    if let Some(trail) = &request.trail {
        trail.sent_by(&sender);
    }
    let impersonated = impersonated(&shared, &sender, &request, &path)?;
    if let (Some(trail), Some(impersonated)) = (&request.trail, &impersonated) {
        trail.impersonates(impersonated);
    }
    request.user = impersonated.map_or(sender, |impersonated| impersonated.user);
    request.deadline = deadline;
    *flow = flow_of(&shared, &request, &path);
    let trail = request.trail.clone();
    let answered = async {
        dispatch::authorize(&shared, &request, &path)?;
        let Request { parts, query, .. } = &request;
        let measure = shared.metrics.begin(&shared.served, parts, query, &path);
        let answered = async {
            let route = aggregation::route(&shared, request.parts.uri.path());
            if let Some(route) = route {
                let sender = caller.address;
                return Ok(aggregation::forward(&shared, &route, request, sender, body).await);
            }
            if writes {
                request.body = read_body(body).await?;
            }
            dispatch::dispatch(shared, request, path).await
        };
        match answered.await {
            Ok(answer) => Ok(measure.answered(answer)),
            Err(status) => {
                measure.failed(status.code());
                Err(status)
            }
        }
    };
    if Instant::now() >= deadline {
        return Ok(timed_out());
    }
    match tokio::time::timeout_at(deadline, answered).await {
        // A webhook that used up the request's own time fails at the same moment: the filter's answer wins (measured).
        Ok(answered) if answered.is_ok() || Instant::now() < deadline => answered,
        _ => {
            if let Some(trail) = trail {
                // The filter answers the client; the audit log has what the handler says.
                trail.failed(&Status::timeout(
                    "request did not complete within requested timeout - context deadline exceeded",
                ));
            }
            Ok(timed_out())
        }
    }
}

/// The flow of a request; what runs for long, but for watches, belongs to none.
fn flow_of(shared: &Shared, request: &Request, path: &Path) -> Option<Flow> {
    let Request { parts, query, .. } = request;
    let target = Target::of(&parts.method, path, query, parts.uri.path());
    if target.is_long_running() && target.verb != "watch" {
        return None;
    }
    let question = target.question(&request.user);
    shared.flow_control.flow_of(&shared.store, &question)
}

/// Whom the request acts as, if that is another than its sender.
fn impersonated(
    shared: &Shared,
    sender: &User,
    request: &Request,
    path: &Path,
) -> Result<Option<Impersonated>> {
    let Request { parts, query, .. } = request;
    let target = Target::of(&parts.method, path, query, parts.uri.path());
    let Access {
        authorizer, modes, ..
    } = &shared.access;
    let wanted = target.question(sender);
    let version = shared.served.now().version();
    let headers = &parts.headers;
    let impersonated =
        kubewright_auth::impersonated(&**authorizer, version, modes, headers, &wanted);
    impersonated.map_err(Status::refusing_access)
}

/// When the request must be answered, and whether it has a body that counts.
fn deadline(method: &Method, query: &Query, path: &Path) -> Result<(Instant, bool)> {
    const WRITE: Duration = Duration::from_secs(34);
    const READ: Duration = Duration::from_mins(1);
    let writes = !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS);
    // A watch has a time of its own, and its `timeout` is not even read.
    if *method == Method::GET && path.is_watched(query) {
        return Ok((Instant::now() + READ, writes));
    }
    let default = if writes { WRITE } else { READ };
    Ok((Instant::now() + query.timeout(default)?, writes))
}

async fn read_body(mut body: Incoming) -> Result<Bytes> {
    let mut whole = Bytes::new();
    let mut more = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| {
            Status::bad_request(format!("unable to read the request body: {error}"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if whole.len() + more.len() + data.len() > MOST_BODY {
            return Err(Status::too_large(&format!("limit is {MOST_BODY}")));
        }
        // Most bodies come in one piece, which is then not copied.
        if whole.is_empty() && more.is_empty() {
            whole = data;
        } else {
            more.extend_from_slice(&std::mem::take(&mut whole));
            more.extend_from_slice(&data);
        }
    }
    Ok(if more.is_empty() {
        whole
    } else {
        Bytes::from(more)
    })
}

/// The response of the timeout filter: it has neither kind nor apiVersion, and the content type of plain text (measured on
/// v1.36).
fn timed_out() -> Response<Body> {
    let status = json!({
        "metadata": {},
        "status": "Failure",
        "message": "Timeout: request did not complete within the allotted timeout",
        "reason": "Timeout",
        "details": {},
        "code": 504,
    });
    let mut response = answer::value(StatusCode::GATEWAY_TIMEOUT, &Output::json(), &status);
    let guessed = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, guessed);
    response
}

const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");
