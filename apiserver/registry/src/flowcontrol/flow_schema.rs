//! Flow schemas.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::conditions;
use super::defaults::number;
use super::mandatory;
use crate::columns::Row;
use crate::columns::text::{count, or_none};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{Errors, label, required, subdomain};
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["flowcontrol.apiserver.k8s.io", "v1", "FlowSchema"];
const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of flow schemas.
#[derive(Debug)]
pub(crate) struct FlowSchema;

impl Strategy for FlowSchema {
    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        if subresource == "status" {
            conditions::check(new, &mut found.errors);
        } else {
            self.validate(new, found);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn may_not_fit(&self) -> bool {
        true
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn default(object: &mut Value) {
    if let Some(spec) = object.part("spec") {
        number(spec, "matchingPrecedence", 1000);
        spec.part("priorityLevelConfiguration");
    }
}

const LOWEST: i64 = 10_000;

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

fn check(object: &Value, errors: &mut Errors) {
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
    mandatory::flow_schema(KIND, object, errors);
    conditions::check(object, errors);
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let dangling = row
        .status()
        .list("conditions")
        .iter()
        .find(|condition| condition.text("type") == "Dangling")
        .map_or("?", |condition| condition.text("status"));
    vec![
        row.name(),
        spec.at("priorityLevelConfiguration").text("name").into(),
        count(spec, "matchingPrecedence").into(),
        or_none(spec.at("distinguisherMethod").text("type")).into(),
        row.age(),
        dangling.into(),
    ]
}
