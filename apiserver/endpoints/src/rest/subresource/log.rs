//! The log of a container.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_kubelet::{ContainerState, LogOptions, Pod};

use super::connect::check_container;
use crate::body::Body;
use crate::rest::answer;
use crate::rest::call::Call;

/// Answers with the log. For a pod without a node, the response has no body, as on the real server.
///
/// # Errors
/// There is no such container, it has not started yet, or it has no program, so that it does not run.
pub(super) async fn log(call: &Call) -> Result<Response<Body>> {
    let pod = call.value(&*call.stored()?).await?;
    let container = check_container(&pod, call.query.text("container"))?;
    if pod["spec"]["nodeName"].as_str().is_none_or(str::is_empty) {
        return Ok(answer::empty(StatusCode::NO_CONTENT));
    }
    let options = options(call)?;
    let uid = pod["metadata"]["uid"].as_str().unwrap_or_default();
    let running = call.shared.pods.get(uid);
    let status = running
        .as_ref()
        .and_then(|running| running.status(&container));
    let (Some(running), Some(status)) = (running, status) else {
        return Err(Status::not_implemented(
            "the container does not run, because its image has no program, so there are no logs to read",
        ));
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

fn options(call: &Call) -> Result<LogOptions> {
    let query = &call.query;
    let number = |name| {
        Ok(query
            .number(name)?
            .and_then(|count| usize::try_from(count).ok()))
    };
    let ago = query.number("sinceSeconds")?.map(|seconds| {
        let ago = SignedDuration::from_secs(seconds);
        Timestamp::now()
            .saturating_sub(ago)
            .unwrap_or(Timestamp::MIN)
    });
    Ok(LogOptions {
        follow: query.flag("follow"),
        tail: number("tailLines")?,
        since: query.text("sinceTime").parse().ok().or(ago),
        timestamps: query.flag("timestamps"),
        limit: number("limitBytes")?,
    })
}
