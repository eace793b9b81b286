//! CustomResourceDefinitions: which are refused, and with which words (spec section D.3).
//!
//! The real server checks its internal form of a definition. There, what all versions have in common (a schema,
//! sub-resources, columns, selectable fields) stands once, beside the versions, and errors are told at that place.

mod approval;
mod conversion;
mod names;
mod parts;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names::dns1123_subdomain;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{Errors, immutable, one_of};
use kubewright_validation::metadata;
use serde_json::Value;

pub(super) use approval::{Approval, approval, is_protected};
pub(super) use conversion::is_bundle;

use crate::structural;

/// Checks a new definition.
pub(super) fn create(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let wanted = format!("{}.{}", spec.at("names").text("plural"), spec.text("group"));
    let name = |name: &str| {
        let mut found = dns1123_subdomain(name);
        if name != wanted {
            found.push("must be spec.names.plural+\".\"+spec.group".to_owned());
        }
        found
    };
    metadata::named(false, object, name, errors);
    self::spec(object, &Value::Null, errors);
    status(object, errors);
    stored_versions(object, errors);
    approval::check(object, &Value::Null, errors);
    preserve_unknown_fields(object, &Value::Null, errors);
}

/// Checks a changed definition.
pub(super) fn update(new: &Value, old: &Value, errors: &mut Errors) {
    metadata::changed(new, old, errors);
    spec(new, old, errors);
    let (path, new_spec, old_spec) = (Path::new("spec"), new.at("spec"), old.at("spec"));
    let names = path.child("names");
    let (new_names, old_names) = (new_spec.at("names"), old_spec.at("names"));
    if is_established(old) {
        immutable(new_spec, old_spec, &path, "scope", errors);
        immutable(new_names, old_names, &names, "kind", errors);
    }
    immutable(new_spec, old_spec, &path, "group", errors);
    immutable(new_names, old_names, &names, "plural", errors);
    status(new, errors);
    stored_versions(new, errors);
    approval::check(new, old, errors);
    preserve_unknown_fields(new, old, errors);
}

/// Checks a changed status.
pub(super) fn update_status(new: &Value, old: &Value, errors: &mut Errors) {
    metadata::changed(new, old, errors);
    status(new, errors);
}

fn is_established(definition: &Value) -> bool {
    let conditions = definition.at("status").list("conditions").iter();
    let mut established = conditions.filter(|condition| condition.text("type") == "Established");
    established.any(|condition| condition.text("status") == "True")
}

fn spec(object: &Value, old: &Value, errors: &mut Errors) {
    let (spec, path) = (object.at("spec"), Path::new("spec"));
    group(spec.text("group"), &path.child("group"), errors);
    one_of(spec, &path, "scope", &["Cluster", "Namespaced"], errors);
    let versions = spec.list("versions");
    let at = path.child("versions");
    for (index, version) in versions.iter().enumerate() {
        if !has_schema(version) {
            let at = at.index(index);
            errors.push(FieldError::required(
                &at.child("schema.openAPIV3Schema"),
                "",
            ));
        }
    }
    for (index, version) in versions.iter().enumerate() {
        let at = at.index(index);
        names::problems_joined(&at.child("name"), version.text("name"), errors);
        self::version(version, versions, &at, errors);
    }
    together(spec, &path, errors);
    names::required(spec.at("names"), &path.child("names"), errors);
    names::check(spec.at("names"), &path.child("names"), errors);
    in_all_versions(versions, &path, errors);
    let recognized = old.is_null() || conversion::has_recognized(old.at("spec"));
    let loose = old.is_null() || !is_established(old) || conversion::has_bad_bundle(old);
    conversion::check(
        spec.at("conversion"),
        &path.child("conversion"),
        recognized,
        loose,
        errors,
    );
}

fn group(group: &str, path: &Path<'_>, errors: &mut Errors) {
    if group.is_empty() {
        errors.push(FieldError::required(path, ""));
        return;
    }
    let found = dns1123_subdomain(group);
    if !found.is_empty() {
        errors.push(FieldError::invalid(path, group, &found.join(",")));
    } else if !group.contains('.') {
        let detail = "should be a domain with at least one dot";
        errors.push(FieldError::invalid(path, group, detail));
    }
}

fn has_schema(version: &Value) -> bool {
    version.at("schema").has("openAPIV3Schema")
}

/// What a version does not share with all others.
fn version(version: &Value, all: &[Value], path: &Path<'_>, errors: &mut Errors) {
    parts::deprecation(version, path, errors);
    if !parts::in_common(all, "schema") {
        let status = has_status(version);
        schema(version, status, &path.child("schema"), errors);
    }
    if !parts::in_common(all, "subresources") {
        parts::subresources(
            version.at("subresources"),
            &path.child("subresources"),
            errors,
        );
    }
    if !parts::in_common(all, "additionalPrinterColumns") {
        let at = path.child("additionalPrinterColumns");
        parts::columns(version.list("additionalPrinterColumns"), &at, errors);
    }
    let fields = version.list("selectableFields");
    if !parts::in_common(all, "selectableFields") && !fields.is_empty() {
        let at = path.child("selectableFields");
        if parts::in_common(all, "schema") || !has_schema(version) {
            let detail = "may only be set when `version.schema.openAPIV3Schema` is not included";
            errors.push(FieldError::invalid(&at, "", detail));
        } else {
            let schema = version.at("schema").at("openAPIV3Schema");
            parts::selectable(fields, schema, &at, errors);
        }
    }
}

/// What all versions share.
fn in_all_versions(versions: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let Some(first) = versions.first() else {
        return;
    };
    if parts::in_common(versions, "schema") {
        let status = versions.iter().any(has_status);
        schema(first, status, &path.child("validation"), errors);
    }
    if parts::in_common(versions, "subresources") {
        parts::subresources(
            first.at("subresources"),
            &path.child("subresources"),
            errors,
        );
    }
    if parts::in_common(versions, "additionalPrinterColumns") {
        let at = path.child("additionalPrinterColumns");
        parts::columns(first.list("additionalPrinterColumns"), &at, errors);
    }
    let fields = first.list("selectableFields");
    if parts::in_common(versions, "selectableFields") && !fields.is_empty() {
        let at = path.child("selectableFields");
        if parts::in_common(versions, "schema") && has_schema(first) {
            let schema = first.at("schema").at("openAPIV3Schema");
            parts::selectable(fields, schema, &at, errors);
        } else {
            let detail = "may only be set when validations.schema is included";
            errors.push(FieldError::invalid(&at, "", detail));
        }
    }
}

fn has_status(version: &Value) -> bool {
    version.at("subresources").has("status")
}

fn schema(version: &Value, status: bool, path: &Path<'_>, errors: &mut Errors) {
    if has_schema(version) {
        let schema = version.at("schema").at("openAPIV3Schema");
        errors.extend(structural::check(
            schema,
            &path.child("openAPIV3Schema"),
            status,
        ));
    }
}

/// The versions among themselves.
fn together(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("versions");
    let versions = spec.list("versions");
    let shown = || match spec.at("versions") {
        Value::Null => "null".to_owned(),
        _ => parts::shown_versions(versions),
    };
    let name = |version: &Value| version.text("name").to_owned();
    let repeated = |at: usize| {
        versions[..at]
            .iter()
            .any(|other| name(other) == name(&versions[at]))
    };
    if (0..versions.len()).any(repeated) {
        let detail = "must contain unique version names";
        errors.push(FieldError::invalid_shown(&at, &shown(), detail));
    }
    if versions
        .iter()
        .filter(|version| version.flag("storage"))
        .count()
        != 1
    {
        let detail = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid_shown(&at, &shown(), detail));
    }
    if let Some(first) = versions
        .first()
        .filter(|first| !first.text("name").is_empty())
    {
        names::problems_joined(&path.child("version"), first.text("name"), errors);
    }
}

fn status(object: &Value, errors: &mut Errors) {
    let path = Path::new("status.acceptedNames");
    names::check(object.at("status").at("acceptedNames"), &path, errors);
}

fn stored_versions(object: &Value, errors: &mut Errors) {
    let path = Path::new("status.storedVersions");
    let stored = object.at("status").at("storedVersions");
    let list = object.at("status").list("storedVersions");
    if list.is_empty() {
        let detail = "must have at least one stored version";
        errors.push(FieldError::invalid(&path, stored.clone(), detail));
        return;
    }
    let versions = object.at("spec").list("versions");
    for version in versions.iter().filter(|version| version.flag("storage")) {
        if !list.contains(version.at("name")) {
            let detail = format!("must have the storage version {}", version.text("name"));
            errors.push(FieldError::invalid(&path, stored.clone(), &detail));
        }
    }
    for (index, name) in list.iter().enumerate() {
        if versions.iter().any(|version| version.at("name") == name) {
            continue;
        }
        let text = name.as_str().unwrap_or_default();
        let detail = format!(
            "missing from spec.versions; {text} was previously a storage version, and must remain in spec.versions until a \
             storage migration ensures no data remains persisted in {text} and removes {text} from status.storedVersions"
        );
        errors.push(FieldError::invalid(&path.index(index), text, &detail));
    }
}

fn preserve_unknown_fields(new: &Value, old: &Value, errors: &mut Errors) {
    let preserves = |definition: &Value| definition.at("spec").flag("preserveUnknownFields");
    if preserves(new) && !preserves(old) {
        let detail = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
                      spec.versions[*].schema instead";
        let path = Path::new("spec.preserveUnknownFields");
        errors.push(FieldError::invalid(&path, true, detail));
    }
}
