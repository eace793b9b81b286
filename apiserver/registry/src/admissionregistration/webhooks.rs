//! Webhook configurations (spec A.16, corrections 11 to 13).

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_cel::{Environment, Type};
use serde_json::Value;

use kubewright_validation::check::{Errors, one_of_if_set, qualified_name, selector};
use kubewright_validation::webhook_client;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const MOST_CONDITIONS: usize = 64;

/// `old` is null for a new configuration.
pub(crate) fn configuration(object: &Value, old: &Value, errors: &mut Errors) {
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
    webhook_client(
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
