//! Probes and life cycle hooks.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, not_negative, port, port_or_name, problems, required};
use crate::formats;

pub(super) fn probe(
    probe: &Value,
    kind: &str,
    grace_period: Option<i64>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    handler(probe, grace_period, path, errors);
    for field in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        not_negative(probe, path, field, errors);
    }
    let grace = path.child("terminationGracePeriodSeconds");
    let own = probe.int("terminationGracePeriodSeconds");
    if let Some(seconds) = own.filter(|seconds| *seconds <= 0) {
        errors.push(FieldError::invalid(
            &grace,
            seconds,
            "must be greater than 0",
        ));
    }
    if kind == "readinessProbe" {
        if let Some(seconds) = own {
            let detail = "must not be set for readinessProbes";
            errors.push(FieldError::invalid(&grace, seconds, detail));
        }
    } else {
        let threshold = probe.int("successThreshold").unwrap_or(0);
        if threshold != 1 {
            let at = path.child("successThreshold");
            errors.push(FieldError::invalid(&at, threshold, "must be 1"));
        }
    }
}

pub(super) fn lifecycle(
    lifecycle: &Value,
    grace_period: Option<i64>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    for hook in ["postStart", "preStop"] {
        if lifecycle.has(hook) {
            handler(lifecycle.at(hook), grace_period, &path.child(hook), errors);
        }
    }
}

fn handler(handler: &Value, grace_period: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    let mut found: Vec<(&str, &Value)> = handler
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(kind, action)| KINDS.contains(&kind.as_str()) && !action.is_null())
        .map(|(kind, action)| (kind.as_str(), action))
        .collect();
    // In the API server's order, so that the same one counts as the first.
    if found.len() > 1 {
        found.sort_by_key(|(kind, _)| KINDS.iter().position(|known| known == kind));
    }
    if found.is_empty() {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
    for (index, (kind, action)) in found.into_iter().enumerate() {
        let at = path.child(kind);
        if index > 0 {
            let detail = "may not specify more than 1 handler type";
            errors.push(FieldError::forbidden(&at, detail));
            continue;
        }
        match kind {
            "exec" => {
                required(action, &at, "command", errors);
            }
            "httpGet" => http_get(action, &at, errors),
            "tcpSocket" => port_or_name(action.at("port"), &at.child("port"), errors),
            "grpc" => {
                let number = action.int("port").unwrap_or(0);
                port(number, &at.child("port"), errors);
            }
            _ => sleep(action, grace_period, &at, errors),
        }
    }
}

const KINDS: [&str; 5] = ["exec", "httpGet", "tcpSocket", "grpc", "sleep"];

fn http_get(action: &Value, path: &Path<'_>, errors: &mut Errors) {
    required(action, path, "path", errors);
    port_or_name(action.at("port"), &path.child("port"), errors);
    let scheme = action.text("scheme");
    if !matches!(scheme, "HTTP" | "HTTPS") {
        errors.push(FieldError::not_supported(
            &path.child("scheme"),
            scheme,
            &["HTTP", "HTTPS"],
        ));
    }
    for header in action.list("httpHeaders") {
        let name = header.text("name");
        let at = path.child("httpHeaders");
        problems(&at, name, formats::http_header(name), errors);
    }
}

fn sleep(action: &Value, grace_period: Option<i64>, path: &Path<'_>, errors: &mut Errors) {
    let seconds = action.int("seconds").unwrap_or(0);
    if let Some(grace) = grace_period
        && !(0..=grace).contains(&seconds)
    {
        let detail =
            format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
        errors.push(FieldError::invalid(path, seconds, &detail));
    }
}
