//! The Status of a denied request, made from the webhook's own.

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::Status;
use serde_json::{Map, Value};

/// Returns the Status of a request that a webhook denied; `result` is the `response.status` of the webhook.
pub(super) fn denied(webhook: &str, result: Option<&Map<String, Value>>) -> Status {
    let text = |field: &str| {
        result
            .and_then(|result| result.get(field)?.as_str())
            .unwrap_or("")
    };
    let (message, reason) = (text("message"), text("reason"));
    let by = format!("admission webhook {} denied the request", quoted(webhook));
    let shown = match (message, reason) {
        ("", "") => format!("{by} without explanation"),
        ("", reason) => format!("{by}: {reason}"),
        (message, _) => format!("{by}: {message}"),
    };
    let mut status = Status::new(code(result), reason, shown);
    if let Some(Value::Object(details)) = result.and_then(|result| result.get("details")) {
        status = status.with_details(details.clone());
    }
    if let Some(Value::Object(metadata)) = result.and_then(|result| result.get("metadata")) {
        status.metadata_mut().clone_from(metadata);
    }
    match text("status") {
        "" | "Success" => status,
        word => status.with_status_word(word),
    }
}

/// A denial never has a code below 400.
fn code(result: Option<&Map<String, Value>>) -> u16 {
    let code = result
        .and_then(|result| result.get("code")?.as_u64())
        .unwrap_or(0);
    u16::try_from(code).unwrap_or(0).max(400)
}

/// 400: the webhook has side effects that a dry run would cause.
pub(super) fn dry_run_unsupported(webhook: &str) -> Status {
    let webhook = quoted(webhook);
    Status::bad_request(format!(
        "admission webhook {webhook} does not support dry run"
    ))
}
