//! Flow schemas and priority levels.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{Errors, label, required, subdomain};
use crate::kinds::internal::shown;

const LOWEST: i64 = 10_000;
const MOST_QUEUES: i64 = 10_000_000;
/// Bits of the hash that deals a flow its queues.
const HASH_BITS: u32 = 60;
const VERBS: [&str; 9] = [
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "proxy",
    "update",
    "watch",
];

pub(super) fn schema(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let precedence = spec.int("matchingPrecedence").unwrap_or(0);
    let exempt = object.at("metadata").text("name") == "exempt";
    let detail = match precedence {
        ..=0 => "must be a positive value",
        1 if !exempt => "only the schema named 'exempt' may have matchingPrecedence 1",
        precedence if precedence > LOWEST => "must not be greater than 10000",
        _ => "",
    };
    if !detail.is_empty() {
        let at = path.child("matchingPrecedence");
        errors.push(FieldError::invalid(&at, precedence, detail));
    }
    let method = spec.at("distinguisherMethod");
    let methods = ["ByNamespace", "ByUser"];
    if method.is_object() && !methods.contains(&method.text("type")) {
        errors.push(FieldError::not_supported_shown(
            &path.child("distinguisherMethod.type"),
            &shown("flowcontrol.FlowDistinguisherMethod", method),
            &methods,
        ));
    }
    let level = spec.at("priorityLevelConfiguration").text("name");
    let at = path.child("priorityLevelConfiguration.name");
    if level.is_empty() {
        errors.push(FieldError::required(&at, "must reference a priority level"));
    } else {
        subdomain(&at, level, errors);
    }
    let rules = path.child("rules");
    for (index, rule) in spec.list("rules").iter().enumerate() {
        self::rule(rule, &rules.index(index), errors);
    }
    conditions(object, errors);
}

fn rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("subjects");
    let subjects = rule.list("subjects");
    if subjects.is_empty() {
        let detail = "subjects must contain at least one value";
        errors.push(FieldError::required(&at, detail));
    }
    for (index, subject) in subjects.iter().enumerate() {
        self::subject(subject, &at.index(index), errors);
    }
    let (resources, urls) = (rule.list("resourceRules"), rule.list("nonResourceRules"));
    if resources.is_empty() && urls.is_empty() {
        let detail = "at least one of resourceRules and nonResourceRules has to be non-empty";
        errors.push(FieldError::required(path, detail));
    }
    let at = path.child("resourceRules");
    for (index, rule) in resources.iter().enumerate() {
        resource_rule(rule, &at.index(index), errors);
    }
    let at = path.child("nonResourceRules");
    for (index, rule) in urls.iter().enumerate() {
        url_rule(rule, &at.index(index), errors);
    }
}

fn subject(subject: &Value, path: &Path<'_>, errors: &mut Errors) {
    let kinds = [
        ("Group", "group"),
        ("ServiceAccount", "serviceAccount"),
        ("User", "user"),
    ];
    let kind = subject.text("kind");
    let Some((_, field)) = kinds.iter().find(|(name, _)| *name == kind) else {
        let names = kinds.map(|(name, _)| name);
        errors.push(FieldError::not_supported(&path.child("kind"), kind, &names));
        return;
    };
    let (who, at) = (subject.at(field), path.child(field));
    if who.is_null() {
        let detail = format!("{field} is required when subject kind is '{kind}'");
        errors.push(FieldError::required(&at, &detail));
    } else {
        let named = required(who, &at, "name", errors);
        if *field == "serviceAccount" {
            account(who, named, &at, errors);
        }
    }
    for other in ["serviceAccount", "user", "group"] {
        if other != *field && subject.has(other) {
            let name = kinds.iter().find(|(_, field)| *field == other);
            let name = name.map_or("", |(name, _)| name);
            let detail = format!("{other} is forbidden when subject kind is not '{name}'");
            errors.push(FieldError::forbidden(&path.child(other), &detail));
        }
    }
}

fn account(who: &Value, named: bool, path: &Path<'_>, errors: &mut Errors) {
    let name = who.text("name");
    if named && name != "*" {
        subdomain(&path.child("name"), name, errors);
    }
    let (namespace, at) = (who.text("namespace"), path.child("namespace"));
    if namespace.is_empty() {
        let detail = "must specify namespace for service account";
        errors.push(FieldError::required(&at, detail));
    } else {
        label(&at, namespace, errors);
    }
}

fn resource_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    verbs(rule, path, errors);
    for (field, one, many) in [
        ("apiGroups", "api group", "api groups"),
        ("resources", "resource", "resources"),
    ] {
        if rule.list(field).is_empty() {
            let detail = format!("resource rules must supply at least one {one}");
            errors.push(FieldError::required(&path.child(field), &detail));
        } else {
            alone(rule, field, many, path, errors);
        }
    }
    let at = path.child("namespaces");
    let namespaces = rule.list("namespaces");
    if namespaces.is_empty() && !rule.flag("clusterScope") {
        let detail =
            "resource rules that are not cluster scoped must supply at least one namespace";
        errors.push(FieldError::required(&at, detail));
    } else if !alone(rule, "namespaces", "namespaces", path, errors) {
        for (index, name) in namespaces.iter().enumerate() {
            let name = name.as_str().unwrap_or_default();
            for problem in kubewright_apimachinery::names::dns1123_label(name) {
                let detail =
                    format!("each member of this list must be '*' or a DNS-1123 label; {problem}");
                errors.push(FieldError::invalid(&at.index(index), name, &detail));
            }
        }
    }
}

fn url_rule(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    verbs(rule, path, errors);
    let field = "nonResourceURLs";
    let at = path.child(field);
    let urls = rule.list(field);
    if urls.is_empty() {
        let detail = "nonResourceURLs must contain at least one value";
        errors.push(FieldError::required(&at, detail));
    } else if !alone(rule, field, "non-resource URLs", path, errors) {
        for (index, url) in urls.iter().enumerate() {
            self::url(url.as_str().unwrap_or_default(), &at.index(index), errors);
        }
    }
}

fn url(url: &str, path: &Path<'_>, errors: &mut Errors) {
    let detail = if url.is_empty() {
        "must not be empty"
    } else if url == "/" {
        ""
    } else if !url.starts_with('/') {
        "must start with slash"
    } else if url.contains(' ') {
        "must not contain white-space"
    } else if url.contains("//") {
        "must not contain double slash"
    } else if url.matches('*').count() > 1 || (url.contains('*') && !url.ends_with("/*")) {
        "wildcard can only do suffix matching"
    } else {
        ""
    };
    if !detail.is_empty() {
        errors.push(FieldError::invalid(path, url, detail));
    }
}

fn verbs(rule: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("verbs");
    let verbs = rule.list("verbs");
    if verbs.is_empty() {
        let detail = "verbs must contain at least one value";
        errors.push(FieldError::required(&at, detail));
    } else if !alone(rule, "verbs", "verbs", path, errors) {
        let known = |verb: &Value| verb.as_str().is_some_and(|verb| VERBS.contains(&verb));
        if !verbs.iter().all(known) {
            let value = rule.at("verbs").clone();
            errors.push(FieldError::not_supported(&at, value, &VERBS));
        }
    }
}

/// Whether a list has the wildcard, which has to be alone.
fn alone(rule: &Value, field: &str, what: &str, path: &Path<'_>, errors: &mut Errors) -> bool {
    let list = rule.list(field);
    let all = list.iter().any(|item| item == "*");
    if all && list.len() > 1 {
        let detail = format!("if '*' is present, must not specify other {what}");
        let value = rule.at(field).clone();
        errors.push(FieldError::invalid(&path.child(field), value, &detail));
    }
    all
}

pub(super) fn priority_level(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let kind = spec.text("type");
    let at = path.child("type");
    let exempt = object.at("metadata").text("name") == "exempt";
    if exempt != (kind == "Exempt") {
        let detail = "must be 'Exempt' if and only if `name` is 'exempt'";
        errors.push(FieldError::invalid(&at, kind, detail));
    }
    match kind {
        "Exempt" => {
            if spec.has("limited") {
                let detail = "must be nil if the type is not Limited";
                errors.push(FieldError::forbidden(&path.child("limited"), detail));
            }
            let at = path.child("exempt");
            shares(spec.at("exempt"), &at, errors);
            lendable(spec.at("exempt"), &at, errors);
        }
        "Limited" => {
            if spec.has("exempt") {
                let detail = "must be nil if the type is Limited";
                errors.push(FieldError::forbidden(&path.child("exempt"), detail));
            }
            let at = path.child("limited");
            if spec.has("limited") {
                limited(spec.at("limited"), &at, errors);
            } else {
                let detail = "must not be empty when type is Limited";
                errors.push(FieldError::required(&at, detail));
            }
        }
        "" => errors.push(FieldError::required(&at, "")),
        other => errors.push(FieldError::not_supported(
            &at,
            other,
            &["Exempt", "Limited"],
        )),
    }
    conditions(object, errors);
}

fn shares(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "nominalConcurrencyShares";
    if let Some(number) = level.int(field).filter(|number| *number < 0) {
        let detail = "must be a non-negative integer";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn lendable(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "lendablePercent";
    let number = level
        .int(field)
        .filter(|number| !(0..=100).contains(number));
    if let Some(number) = number {
        let detail = "must be between 0 and 100, inclusive";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn limited(level: &Value, path: &Path<'_>, errors: &mut Errors) {
    shares(level, path, errors);
    let response = level.at("limitResponse");
    let at = path.child("limitResponse");
    let (queuing, queuing_path) = (response.at("queuing"), at.child("queuing"));
    match response.text("type") {
        "Reject" if !queuing.is_null() => errors.push(FieldError::forbidden(
            &queuing_path,
            "must be nil if limited.limitResponse.type is not Limited",
        )),
        "Reject" => {}
        "Queue" if queuing.is_null() => errors.push(FieldError::required(
            &queuing_path,
            "must not be empty if limited.limitResponse.type is Limited",
        )),
        "Queue" => queues(queuing, &queuing_path, errors),
        "" => errors.push(FieldError::required(&at.child("type"), "")),
        other => {
            let at = at.child("type");
            errors.push(FieldError::not_supported(&at, other, &["Queue", "Reject"]));
        }
    }
    lendable(level, path, errors);
    let field = "borrowingLimitPercent";
    if let Some(number) = level.int(field).filter(|number| *number < 0) {
        let detail = "if specified, must be a non-negative integer";
        errors.push(FieldError::invalid(&path.child(field), number, detail));
    }
}

fn queues(queuing: &Value, path: &Path<'_>, errors: &mut Errors) {
    let number = |field: &str| queuing.int(field).unwrap_or(0);
    let (queues, hand) = (number("queues"), number("handSize"));
    let most = format!("must not be greater than {MOST_QUEUES}");
    let deck = format!("should not be greater than queues ({queues})");
    let bits = entropy(queues, hand);
    let entropy = format!(
        "required entropy bits of deckSize {queues} and handSize {hand} should not be greater than {HASH_BITS}"
    );
    for (field, checks) in [
        (
            "queueLengthLimit",
            &[(number("queueLengthLimit") <= 0, "must be positive")][..],
        ),
        (
            "queues",
            &[
                (queues <= 0, "must be positive"),
                (queues > MOST_QUEUES, most.as_str()),
            ],
        ),
        (
            "handSize",
            &[
                (hand <= 0, "must be positive"),
                (hand > queues, deck.as_str()),
                (bits > HASH_BITS, entropy.as_str()),
            ],
        ),
    ] {
        if let Some((_, detail)) = checks.iter().find(|(wrong, _)| *wrong) {
            errors.push(FieldError::invalid(
                &path.child(field),
                number(field),
                detail,
            ));
        }
    }
}

/// How many bits of a hash it takes to deal a hand from a deck.
fn entropy(deck: i64, hand: i64) -> u32 {
    if hand <= 0 || hand > deck || deck > MOST_QUEUES {
        return 0;
    }
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most ten million queues, which floats and 32 bits hold"
    )]
    let bits = ((deck as f64).log2() * hand as f64).ceil() as u32;
    bits
}

/// Conditions of a status, which has them from nobody but itself.
pub(super) fn conditions(object: &Value, errors: &mut Errors) {
    let path = Path::new("status.conditions");
    let all = object.at("status").list("conditions");
    for (index, condition) in all.iter().enumerate() {
        let at = path.index(index);
        let kind = condition.text("type");
        if all[..index].iter().any(|other| other.text("type") == kind) {
            errors.push(FieldError::duplicate(&at.child("type"), kind));
        }
        required(condition, &at, "type", errors);
    }
}
