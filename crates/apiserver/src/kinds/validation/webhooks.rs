//! Webhook configurations (spec A.16, corrections 11 to 13).

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_cel::{Environment, Type};
use serde_json::Value;

use super::check::{Errors, one_of_if_set, qualified_name, selector};
use crate::kinds::formats;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const FORM: &str = "; desired format: https://host[/path]";
const MOST_CONDITIONS: usize = 64;

/// `old` is null for a new configuration.
pub(super) fn configuration(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("webhooks");
    let webhooks = object.list("webhooks");
    let conditions = Conditions::known(object, old);
    for (index, webhook) in webhooks.iter().enumerate() {
        let at = path.index(index);
        self::webhook(webhook, conditions.as_ref(), &at, errors);
        review_versions(webhook, &at.child("admissionReviewVersions"), errors);
        let name = webhook.text("name");
        if !name.is_empty() && webhooks[..index].iter().any(|w| w.text("name") == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
    }
}

/// The expressions that the stored configuration has already. They are left alone: what an older server accepted stays valid.
struct Conditions<'a>(BTreeSet<&'a str>);

impl<'a> Conditions<'a> {
    /// Nothing where all conditions are as they were: then none is looked at.
    fn known(object: &Value, old: &'a Value) -> Option<Self> {
        let (new, old) = (object.list("webhooks"), old.list("webhooks"));
        let of = |webhook: &'a Value| webhook.list("matchConditions");
        let is_same = |(new, old): (&Value, &Value)| {
            new.list("matchConditions") == old.list("matchConditions")
        };
        let none_changed = !old.is_empty() && new.len() == old.len();
        if none_changed && new.iter().zip(old).all(is_same) {
            return None;
        }
        let all = old.iter().flat_map(of);
        Some(Self(
            all.map(|condition| condition.text("expression")).collect(),
        ))
    }

    fn expression(&self, condition: &Value, path: &Path<'_>, errors: &mut Errors) {
        let expression = condition.text("expression").trim();
        if expression.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !self.0.contains(condition.text("expression"))
            && let Err(problem) = compile(expression)
        {
            errors.push(FieldError::invalid(path, expression, &problem));
        }
    }
}

fn compile(expression: &str) -> Result<(), String> {
    let program = Environment::admission()
        .compile(expression)
        .map_err(|error| error.to_string())?;
    match program.output_type() {
        Type::Bool => Ok(()),
        other => Err(format!("must evaluate to bool but got {other}")),
    }
}

fn webhook(
    webhook: &Value,
    conditions: Option<&Conditions<'_>>,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    full_name(webhook.text("name"), &path.child("name"), errors);
    let rules = path.child("rules");
    for (index, rule) in webhook.list("rules").iter().enumerate() {
        self::rule(rule, &rules.index(index), errors);
    }
    one_of_if_set(webhook, path, "failurePolicy", &["Fail", "Ignore"], errors);
    one_of_if_set(
        webhook,
        path,
        "matchPolicy",
        &["Equivalent", "Exact"],
        errors,
    );
    let effects = ["None", "NoneOnDryRun"];
    if webhook.has("sideEffects") {
        one_of_if_set(webhook, path, "sideEffects", &effects, errors);
    } else {
        let detail = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(&path.child("sideEffects"), detail));
    }
    if let Some(seconds) = webhook
        .int("timeoutSeconds")
        .filter(|seconds| !(1..=30).contains(seconds))
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        let at = path.child("timeoutSeconds");
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    let policies = ["IfNeeded", "Never"];
    one_of_if_set(webhook, path, "reinvocationPolicy", &policies, errors);
    for field in ["namespaceSelector", "objectSelector"] {
        if webhook.has(field) {
            selector(webhook.at(field), &path.child(field), errors);
        }
    }
    client(
        webhook.at("clientConfig"),
        &path.child("clientConfig"),
        errors,
    );
    if let Some(known) = conditions {
        self::conditions(webhook, known, &path.child("matchConditions"), errors);
    }
}

/// At least three segments: names of webhooks look like names of hosts.
fn full_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let found = names::dns1123_subdomain(name);
    if !found.is_empty() {
        errors.push(FieldError::invalid(path, name, &found.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("operations");
    let operations = rule.list("operations");
    if operations.is_empty() {
        errors.push(FieldError::required(&at, ""));
    }
    wildcard(rule, "operations", "operations", path, errors);
    for (index, operation) in operations.iter().enumerate() {
        let operation = operation.as_str().unwrap_or_default();
        if !OPERATIONS.contains(&operation) {
            errors.push(FieldError::not_supported(
                &at.index(index),
                operation,
                &OPERATIONS,
            ));
        }
    }
    for (field, words) in [("apiGroups", "API groups"), ("apiVersions", "API versions")] {
        if rule.list(field).is_empty() {
            errors.push(FieldError::required(&path.child(field), ""));
        }
        wildcard(rule, field, words, path, errors);
    }
    let at = path.child("apiVersions");
    for (index, version) in rule.list("apiVersions").iter().enumerate() {
        if version == "" {
            errors.push(FieldError::required(&at.index(index), ""));
        }
    }
    resources(rule, &path.child("resources"), errors);
    let scopes = ["*", "Cluster", "Namespaced"];
    one_of_if_set(rule, path, "scope", &scopes, errors);
}

fn wildcard(rule: &Value, field: &str, words: &str, path: &Path<'_>, errors: &mut Errors) {
    let list = rule.list(field);
    if list.len() > 1 && list.iter().any(|item| item == "*") {
        let detail = format!("if '*' is present, must not specify other {words}");
        let value = rule.at(field).clone();
        errors.push(FieldError::invalid(&path.child(field), value, &detail));
    }
}

fn resources(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let all = rule.list("resources");
    if all.is_empty() {
        errors.push(FieldError::required(path, ""));
    }
    let mut every_part_of = BTreeSet::new();
    let mut of_everything = BTreeSet::new();
    let (mut single, mut double, mut whole) = (false, false, false);
    for (index, resource) in all.iter().enumerate() {
        let resource = resource.as_str().unwrap_or_default();
        let at = path.index(index);
        if resource.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        double |= resource == "*/*";
        single |= resource == "*";
        let Some((main, part)) = resource.split_once('/') else {
            // As upstream: the last one without a part decides.
            whole = resource != "*";
            continue;
        };
        if every_part_of.contains(main) {
            let detail = format!("if '{main}/*' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if of_everything.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {resource}");
            errors.push(FieldError::invalid(&at, resource, &detail));
        }
        if part == "*" {
            every_part_of.insert(main);
        }
        if main == "*" {
            of_everything.insert(part);
        }
    }
    let value = || rule.at("resources").clone();
    if all.len() > 1 && double {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(path, value(), detail));
    }
    if single && whole {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(path, value(), detail));
    }
}

fn review_versions(webhook: &Value, path: &Path<'_>, errors: &mut Errors) {
    let versions = webhook.list("admissionReviewVersions");
    if versions.is_empty() {
        let detail = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(path, detail));
        return;
    }
    for (index, version) in versions.iter().enumerate() {
        let text = version.as_str().unwrap_or_default();
        let at = path.index(index);
        if versions[..index].contains(version) {
            errors.push(FieldError::invalid(&at, text, "duplicate version"));
            continue;
        }
        for problem in names::dns1035_label(text) {
            errors.push(FieldError::invalid(&at, text, &problem));
        }
    }
    if !versions.iter().any(|v| v == "v1" || v == "v1beta1") {
        let value = webhook.at("admissionReviewVersions").clone();
        let detail = "must include at least one of v1, v1beta1";
        errors.push(FieldError::invalid(path, value, detail));
    }
}

pub(super) fn client(client: &Value, path: &Path<'_>, errors: &mut Errors) {
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
    let (rest, fragment) = text.split_once('#').unwrap_or((text, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = match rest.split_once("://") {
        Some((scheme, rest)) => (scheme, Some(rest)),
        None => ("", None),
    };
    let authority = rest.map_or("", |rest| rest.split('/').next().unwrap_or_default());
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    if let Some(problem) = unparsable(text, host) {
        let shown = quoted(text);
        let detail = format!("url must be a valid URL: parse {shown}: {problem}{FORM}");
        errors.push(FieldError::required(path, &detail));
        return;
    }
    let mut refuse = |value: &str, detail: &str| {
        errors.push(FieldError::invalid(path, value, detail));
    };
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        refuse(scheme, &detail);
    }
    if host.is_empty() {
        refuse("", &format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        refuse(user, "user information is not permitted in the URL");
    }
    if !fragment.is_empty() {
        refuse(fragment, "fragments are not permitted in the URL");
    }
    if !query.is_empty() {
        refuse(query, "query parameters are not permitted in the URL");
    }
}

/// What Go's parser refuses altogether.
fn unparsable(text: &str, host: &str) -> Option<String> {
    if text.bytes().any(|b| b < b' ' || b == 0x7f) {
        return Some("net/url: invalid control character in URL".to_owned());
    }
    if text.starts_with(':') {
        return Some("missing protocol scheme".to_owned());
    }
    if host.starts_with('[') && !host.contains(']') {
        return Some("missing ']' in host".to_owned());
    }
    let port = match host.rfind(']') {
        Some(end) => host[end + 1..].strip_prefix(':'),
        None => host.split_once(':').map(|(_, port)| port),
    };
    if let Some(port) = port
        && !port.bytes().all(|b| b.is_ascii_digit())
    {
        let shown = quoted(&format!(":{port}"));
        return Some(format!("invalid port {shown} after host"));
    }
    if host.contains(' ') {
        return Some("invalid character \" \" in host name".to_owned());
    }
    None
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
    // Upstream cuts one byte, slash or not.
    let mut rest = text.chars();
    rest.next();
    let rest = rest.as_str();
    let rest = rest.strip_suffix('/').unwrap_or(rest);
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

fn conditions(holder: &Value, known: &Conditions<'_>, path: &Path<'_>, errors: &mut Errors) {
    let all = holder.list("matchConditions");
    if all.len() > MOST_CONDITIONS {
        errors.push(FieldError::too_many(path, all.len(), MOST_CONDITIONS));
    }
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        known.expression(condition, &at.child("expression"), errors);
        let name = condition.text("name");
        if name.is_empty() {
            errors.push(FieldError::required(&at.child("name"), ""));
            continue;
        }
        qualified_name(&at.child("name"), name, errors);
        if all[..index].iter().any(|other| other.text("name") == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
    }
}
