//! The log of a container.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::conform::check_time;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_kubelet::{ContainerState, LogOptions, Pod, Unanswered};
use kubewright_validation::pod::NAMELESS;

use super::connect::check_container;
use crate::body::Body;
use crate::rest::answer;
use crate::rest::call::Call;

/// Answers with the log. For a pod without a node, the response has no body, as on the real server.
///
/// # Errors
/// There is no such container, it has not started yet, or it has no program, so that it does not run.
pub(super) async fn log(call: &Call) -> Result<Response<Body>> {
    let options = options(call)?;
    let pod = call.value(&*call.stored()?).await?;
    let container = check_container(&pod, call.query.text("container"))?;
    if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
        return Ok(answer::empty(StatusCode::NO_CONTENT));
    }
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let running = call.shared.pods.get(uid);
    let status = running
        .as_ref()
        .and_then(|running| running.status(&container));
    let (Some(running), Some(status)) = (running, status) else {
        return Err(Unanswered::Log.into());
    };
    let name = &call.path.name;
    let previous = call.query.flag("previous");
    if let (ContainerState::Waiting { reason, .. }, None, false) =
        (&status.state, &status.last, previous)
    {
        return Err(Status::bad_request(format!(
            "container {} in pod {} is waiting to start: {reason}",
            quoted(&container),
            quoted(name)
        )));
    }
    read(&running, &container, previous, options).ok_or_else(|| {
        Status::bad_request(format!(
            "previous terminated container {} in pod {} not found",
            quoted(&container),
            quoted(name)
        ))
    })
}

fn read(pod: &Pod, container: &str, previous: bool, options: LogOptions) -> Option<Response<Body>> {
    let log = pod.log(container, previous)?;
    let mut response = Response::new(Body::stream(Box::pin(log.read(options))));
    let text = HeaderValue::from_static("text/plain");
    response.headers_mut().insert(CONTENT_TYPE, text);
    Some(response)
}

/// Reads and checks the options.
fn options(call: &Call) -> Result<LogOptions> {
    let query = &call.query;
    let [tail, limit, seconds] = ["tailLines", "limitBytes", "sinceSeconds"];
    let [tail_lines, limit_bytes, since_seconds] = [
        query.number(tail)?,
        query.number(limit)?,
        query.number(seconds)?,
    ];
    let mut errors = Vec::new();
    for (name, value, least, why) in [
        (tail, tail_lines, 0, "must be greater than or equal to 0"),
        (limit, limit_bytes, 1, "must be greater than 0"),
    ] {
        if let Some(value) = value.filter(|value| *value < least) {
            errors.push(FieldError::invalid(&Path::new(name), value, why));
        }
    }
    let since_time = query.get("sinceTime").filter(|text| !text.is_empty());
    if let Some(time) = since_time {
        check_time(time).map_err(Status::bad_request)?;
    }
    match (since_time, since_seconds) {
        (Some(_), Some(_)) => errors.push(FieldError::forbidden(
            &NAMELESS,
            "at most one of `sinceTime` or `sinceSeconds` may be specified",
        )),
        (None, Some(value)) if value < 1 => {
            let why = "must be greater than 0";
            errors.push(FieldError::invalid(&Path::new(seconds), value, why));
        }
        _ => {}
    }
    if !query.text("stream").is_empty() {
        let why = "may not be specified";
        errors.push(FieldError::forbidden(&Path::new("stream"), why));
    }
    if !errors.is_empty() {
        return Err(Status::invalid(
            "",
            "PodLogOptions",
            &call.path.name,
            &errors,
        ));
    }
    let since = match (since_time, since_seconds) {
        (Some(time), _) => time.parse().ok(),
        (None, Some(seconds)) => {
            let ago = SignedDuration::from_secs(seconds);
            Timestamp::now().saturating_sub(ago).ok()
        }
        (None, None) => None,
    };
    let count = |value: Option<i64>| value.and_then(|value| usize::try_from(value).ok());
    Ok(LogOptions {
        follow: query.flag("follow"),
        tail: count(tail_lines),
        since,
        timestamps: query.flag("timestamps"),
        limit: count(limit_bytes),
    })
}
