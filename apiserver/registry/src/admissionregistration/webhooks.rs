//! Webhook configurations (spec A.16, corrections 11 to 13).

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use kubewright_cel::Environment;
use serde_json::Value;

use kubewright_validation::check::{Errors, one_of_if_set, selector};
use kubewright_validation::webhook_client;
use kubewright_validation::{admission_rule, is_review};

use super::match_conditions::match_conditions;

/// `old` is null for a new configuration.
pub(crate) fn configuration(object: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("webhooks");
    let webhooks = object.list("webhooks");
    let keeps_conditions = keeps_conditions(webhooks, old.list("webhooks"));
    for (index, webhook) in webhooks.iter().enumerate() {
        let at = path.index(index);
        self::webhook(webhook, &at, errors);
        if !keeps_conditions {
            match_conditions(webhook, Environment::admission(), &at, errors);
        }
        review_versions(webhook, &at.child("admissionReviewVersions"), errors);
        let name = webhook.text("name");
        if !name.is_empty() && webhooks[..index].iter().any(|w| w.text("name") == name) {
            errors.push(FieldError::duplicate(&at.child("name"), name));
        }
    }
}

/// Whether the match conditions of all webhooks are those of the stored configuration. They are not looked at again then: the
/// conditions that an older server accepted stay valid.
fn keeps_conditions(new: &[Value], old: &[Value]) -> bool {
    let is_same =
        |(new, old): (&Value, &Value)| new.list("matchConditions") == old.list("matchConditions");
    !old.is_empty() && new.len() == old.len() && new.iter().zip(old).all(is_same)
}

fn webhook(webhook: &Value, path: &Path<'_>, errors: &mut Errors) {
    full_name(webhook.text("name"), &path.child("name"), errors);
    let rules = path.child("rules");
    for (index, each) in webhook.list("rules").iter().enumerate() {
        admission_rule(each, &rules.index(index), errors);
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
    for field in ["namespaceSelector", "objectSelector"] {
        if webhook.has(field) {
            selector(webhook.at(field), &path.child(field), errors);
        }
    }
    let policies = ["IfNeeded", "Never"];
    one_of_if_set(webhook, path, "reinvocationPolicy", &policies, errors);
    webhook_client(
        webhook.at("clientConfig"),
        &path.child("clientConfig"),
        errors,
    );
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

/// What is said of a review in a rule.
pub(crate) const EXCLUDED: &str =
    "is excluded from admission webhooks; this rule will have no effect";

/// Warns of rules that name reviews, which no webhook sees.
pub(crate) fn warn_of_reviews(object: &Value, warnings: &mut Vec<String>) {
    let path = Path::new("webhooks");
    for (index, webhook) in object.list("webhooks").iter().enumerate() {
        let path = path.index(index);
        let path = path.child("rules");
        for (index, rule) in webhook.list("rules").iter().enumerate() {
            let (groups, resources) = (rule.list("apiGroups"), rule.list("resources"));
            let is_any = |value: &Value| value == "*";
            if groups.iter().any(is_any) || resources.iter().any(is_any) {
                continue;
            }
            let at = path.index(index);
            for group in groups.iter().filter_map(Value::as_str) {
                for resource in resources.iter().filter_map(Value::as_str) {
                    let warning = format!("{at}: {resource}.{group} {EXCLUDED}");
                    if is_review(group, resource) && !warnings.contains(&warning) {
                        warnings.push(warning);
                    }
                }
            }
        }
    }
}
