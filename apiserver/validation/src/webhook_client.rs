//! Where the API server calls a webhook: the client configuration of admission webhooks and of conversion.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_cel::Url;
use serde_json::Value;

use super::check::Errors;
use crate::formats;

const FORM: &str = "; desired format: https://host[/path]";

/// Checks the `clientConfig` of a webhook.
pub fn webhook_client(client: &Value, path: &Path<'_>, errors: &mut Errors) {
    match (client.has("url"), client.has("service")) {
        (true, false) => url(client.text("url"), &path.child("url"), errors),
        (false, true) => service(client.at("service"), &path.child("service"), errors),
        _ => {
            let detail = "exactly one of url or service is required";
            errors.push(FieldError::required(path, detail));
        }
    }
}

fn url(text: &str, path: &Path<'_>, errors: &mut Errors) {
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(problem) => {
            let detail = format!("url must be a valid URL: {problem}{FORM}");
            errors.push(FieldError::required(path, &detail));
            return;
        }
    };
    let mut refuse = |value: &str, detail: &str| {
        errors.push(FieldError::invalid(path, value, detail));
    };
    if url.scheme() != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        refuse(url.scheme(), &detail);
    }
    if url.host().is_empty() {
        refuse("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = url.user() {
        refuse(user, "user information is not permitted in the URL");
    }
    if !url.fragment().is_empty() {
        refuse(url.fragment(), "fragments are not permitted in the URL");
    }
    if !url.query().is_empty() {
        refuse(url.query(), "query parameters are not permitted in the URL");
    }
}

fn service(service: &Value, path: &Path<'_>, errors: &mut Errors) {
    // Upstream swaps the two, so a missing namespace is reported as the name and the other way round.
    for (field, reported) in [("namespace", "name"), ("name", "namespace")] {
        if service.text(field).is_empty() {
            errors.push(FieldError::required(&path.child(reported), ""));
        }
    }
    let number = service.int("port").unwrap_or(0);
    if let Some(problem) = formats::port_number(number) {
        let detail = format!("port is not valid: {problem}");
        errors.push(FieldError::invalid(&path.child("port"), number, &detail));
    }
    if service.has("path") {
        url_path(service.text("path"), &path.child("path"), errors);
    }
}

fn url_path(text: &str, path: &Path<'_>, errors: &mut Errors) {
    if matches!(text, "" | "/") {
        return;
    }
    let mut refuse = |detail: &str| errors.push(FieldError::invalid(path, text, detail));
    if text == "//" {
        refuse("segment[0] may not be empty");
        return;
    }
    if !text.starts_with('/') {
        refuse("must start with a '/'");
    }
    // Upstream cuts one byte, slash or not, even out of a character.
    let rest = String::from_utf8_lossy(&text.as_bytes()[1..]);
    let rest = rest.strip_suffix('/').unwrap_or(&rest);
    for (index, segment) in rest.split('/').enumerate() {
        if segment.is_empty() {
            refuse(&format!("segment[{index}] may not be empty"));
            continue;
        }
        for problem in names::dns1123_subdomain(segment) {
            refuse(&format!("segment[{index}]: {problem}"));
        }
    }
}
