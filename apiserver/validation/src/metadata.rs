//! Object metadata: names per kind, labels, annotations, owners, finalizers (spec C.4, C.9.1, C.9.2).

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::check::{
    Errors, IMMUTABLE, annotations, immutable, labels, not_negative, problems, qualified_name,
};
use crate::internal::shown;

/// How the metadata of a kind are checked.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    namespaced: bool,
    name: fn(&str) -> Vec<String>,
    checks_generated_name: bool,
    has_standard_finalizers: bool,
}

impl Rules {
    /// Returns the rules of most kinds with namespaces: the name is a subdomain.
    pub const fn namespaced() -> Self {
        Self {
            namespaced: true,
            name: names::dns1123_subdomain,
            checks_generated_name: true,
            has_standard_finalizers: true,
        }
    }

    /// Returns the rules of most kinds without namespaces.
    pub const fn cluster_scoped() -> Self {
        Self {
            namespaced: false,
            ..Self::namespaced()
        }
    }

    /// Sets the rule for names.
    pub const fn with_name(self, name: fn(&str) -> Vec<String>) -> Self {
        Self { name, ..self }
    }

    /// Leaves `generateName` alone: newer rules for names do not know of the base of one.
    pub const fn without_generated_name(self) -> Self {
        Self {
            checks_generated_name: false,
            ..self
        }
    }

    /// Accepts all qualified names of finalizers, as the newest groups do. Others have an older rule beside that.
    pub const fn with_qualified_finalizers(self) -> Self {
        Self {
            has_standard_finalizers: false,
            ..self
        }
    }

    /// Checks the metadata of an object as its kind sees them.
    pub fn create(&self, object: &Value, errors: &mut Errors) {
        let (path, metadata) = (Path::new("metadata"), object.at("metadata"));
        if self.checks_generated_name {
            generated(&path, metadata, self.name, errors);
        }
        at(
            &path,
            metadata.text("name"),
            self.namespaced,
            metadata,
            self.name,
            errors,
        );
        if self.has_standard_finalizers {
            finalizer_names(metadata, errors);
        }
    }

    /// Checks changed metadata as the strategy of the kind does.
    pub fn changed(&self, new: &Value, old: &Value, errors: &mut Errors) {
        if self.has_standard_finalizers {
            older_changed(new, old, errors);
        } else {
            changed(new, old, errors);
        }
    }
}

/// The metadata of an object whose kind has no rule for names.
pub fn nameless(object: &Value, errors: &mut Errors) {
    let path = Path::new("metadata");
    labels(object.at("metadata"), &path, "labels", errors);
    annotations(object.at("metadata"), &path, errors);
    owners(object.at("metadata"), &path, errors);
    finalizers(object.at("metadata"), &path, errors);
    finalizer_names(object.at("metadata"), errors);
}

/// Whether the names of a new object fit into a path, which is asked of every kind, once nothing else is wrong.
pub fn fits_into_a_path(object: &Value, errors: &mut Errors) {
    let (path, metadata) = (Path::new("metadata"), object.at("metadata"));
    generated(&path, metadata, names::path_segment, errors);
    let name = metadata.text("name");
    problems(&path.child("name"), name, names::path_segment(name), errors);
}

/// The metadata of an object whose name has rules of its own.
pub fn named(
    namespaced: bool,
    object: &Value,
    name: impl Fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    whole(namespaced, object.at("metadata"), name, errors);
}

/// The metadata of any changed object; its name has to fit into a path.
pub fn common(namespaced: bool, object: &Value, errors: &mut Errors) {
    whole(
        namespaced,
        object.at("metadata"),
        names::path_segment,
        errors,
    );
}

/// What may not change, and what must still be right. The resource version is the store's business.
pub fn changed(new: &Value, old: &Value, errors: &mut Errors) {
    let path = Path::new("metadata");
    let (new, old) = (new.at("metadata"), old.at("metadata"));
    if old.has("deletionTimestamp") {
        let mut added: Vec<String> = new
            .list("finalizers")
            .iter()
            .filter(|name| !old.list("finalizers").contains(name))
            .filter_map(|name| name.as_str().map(quoted))
            .collect();
        added.sort();
        added.dedup();
        if !added.is_empty() {
            errors.push(FieldError::forbidden(
                &path.child("finalizers"),
                &format!(
                    "no new finalizers can be added if the object is being deleted, found new finalizers []string{{{}}}",
                    added.join(", ")
                ),
            ));
        }
    }
    // What a policy has set to null is no text to the API server.
    for field in ["name", "namespace", "uid"] {
        let text = new.text(field);
        if text != old.text(field) {
            errors.push(FieldError::invalid(&path.child(field), text, IMMUTABLE));
        }
    }
    for field in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
        immutable(new, old, &path, field, errors);
    }
    // A decoder leaves null where Go's zero time was given, which is a time all the same.
    let ends_at_zero = |metadata: &Value| {
        metadata
            .get("deletionTimestamp")
            .is_some_and(Value::is_null)
    };
    if ends_at_zero(new) && !old.has("deletionTimestamp") {
        let at = path.child("deletionTimestamp");
        errors.push(FieldError::invalid(&at, Value::Null, IMMUTABLE));
    }
    labels(new, &path, "labels", errors);
    annotations(new, &path, errors);
    owners(new, &path, errors);
    managers(new, &path, errors);
}

/// The same as the strategies of the older groups do it, with their rule for finalizers.
pub fn older_changed(new: &Value, old: &Value, errors: &mut Errors) {
    changed(new, old, errors);
    finalizer_names(new.at("metadata"), errors);
}

/// The metadata of an object that is a part of another one: it needs no name, and its kind may have namespaces or not.
pub fn embedded(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let name = match metadata.text("name") {
        "" => "fakename",
        name => name,
    };
    let namespaced = metadata.has("namespace");
    generated(path, metadata, names::path_segment, errors);
    at(
        path,
        name,
        namespaced,
        metadata,
        names::path_segment,
        errors,
    );
}

fn whole(
    namespaced: bool,
    metadata: &Value,
    found: impl Fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    let path = Path::new("metadata");
    let name = metadata.text("name");
    generated(&path, metadata, &found, errors);
    at(&path, name, namespaced, metadata, found, errors);
}

/// The base of a name that was generated.
fn generated(
    path: &Path<'_>,
    metadata: &Value,
    found: impl Fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    let base = metadata.text("generateName");
    if !base.is_empty() {
        let found = found(&without_dash(base));
        problems(&path.child("generateName"), base, found, errors);
    }
}

fn at(
    path: &Path<'_>,
    name: &str,
    namespaced: bool,
    metadata: &Value,
    found: impl Fn(&str) -> Vec<String>,
    errors: &mut Errors,
) {
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required(&path.child("name"), detail));
    } else {
        problems(&path.child("name"), name, found(name), errors);
    }
    let namespace = metadata.text("namespace");
    let namespace_path = path.child("namespace");
    if namespaced {
        if namespace.is_empty() {
            errors.push(FieldError::required(&namespace_path, ""));
        } else {
            let found = names::dns1123_label(namespace);
            problems(&namespace_path, namespace, found, errors);
        }
    } else if !namespace.is_empty() {
        let detail = "not allowed on this type";
        errors.push(FieldError::forbidden(&namespace_path, detail));
    }
    not_negative(metadata, path, "generation", errors);
    labels(metadata, path, "labels", errors);
    annotations(metadata, path, errors);
    owners(metadata, path, errors);
    finalizers(metadata, path, errors);
    managers(metadata, path, errors);
}

/// Who set which field: only a client that writes this itself can get it wrong.
fn managers(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LONGEST_SUBRESOURCE: usize = 256;
    let path = path.child("managedFields");
    for (at, entry) in metadata.list("managedFields").iter().enumerate() {
        let path = path.index(at);
        let operation = entry.text("operation");
        let operations = ["Apply", "Update"];
        if operation.is_empty() {
            let detail = "must not be empty";
            errors.push(FieldError::required(&path.child("operation"), detail));
        } else if !operations.contains(&operation) {
            let path = path.child("operation");
            errors.push(FieldError::not_supported(&path, operation, &operations));
        }
        let fields = entry.text("fieldsType");
        if !matches!(fields, "" | "FieldsV1") {
            let path = path.child("fieldsType");
            errors.push(FieldError::invalid(&path, fields, "must be `FieldsV1`"));
        }
        field_manager(entry.text("manager"), &path.child("manager"), errors);
        if entry.text("subresource").len() > LONGEST_SUBRESOURCE {
            let path = path.child("subresource");
            errors.push(FieldError::too_long(&path, LONGEST_SUBRESOURCE));
        }
    }
}

/// The name of a field manager, as requests and objects give it.
pub fn field_manager(manager: &str, path: &Path<'_>, errors: &mut Errors) {
    const LONGEST: usize = 128;
    if manager.len() > LONGEST {
        errors.push(FieldError::too_long(path, LONGEST));
    }
    for (at, letter) in manager.char_indices() {
        if letter.is_control() {
            let code = u32::from(letter);
            let detail = format!("invalid character U+{code:04X} (at position {at})");
            errors.push(FieldError::invalid(path, manager, &detail));
        }
    }
}

/// The metadata of a template of claims, which are labels and annotations and nothing else.
pub fn template(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    const FORBIDDEN: [(&str, &str); 13] = [
        ("name", "name"),
        ("generateName", "generateName"),
        ("namespace", "namespace"),
        ("selfLink", "selfLink"),
        ("uid", "uID"),
        ("resourceVersion", "resourceVersion"),
        ("generation", "generation"),
        ("creationTimestamp", "creationTimestamp"),
        ("deletionTimestamp", "deletionTimestamp"),
        ("deletionGracePeriodSeconds", "deletionGracePeriodSeconds"),
        ("ownerReferences", "ownerReferences"),
        ("finalizers", "finalizers"),
        ("managedFields", "managedFields"),
    ];
    annotations(metadata, path, errors);
    labels(metadata, path, "labels", errors);
    for (field, shown) in FORBIDDEN {
        // What was read as the zero time is null, but there.
        let is_zero_time = field == "deletionTimestamp" && metadata.get(field).is_some();
        if metadata.has(field) || is_zero_time {
            errors.push(FieldError::forbidden(&path.child(shown), "cannot be set"));
        }
    }
}

fn owners(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("ownerReferences");
    let references = metadata.list("ownerReferences");
    // Where a policy put something else among those of a custom object, Go's accessor finds none.
    if !references.iter().all(Value::is_object) {
        return;
    }
    let mut controller: Option<String> = None;
    for (at, reference) in references.iter().enumerate() {
        let reference_path = path.index(at);
        let version = reference.text("apiVersion");
        let is_named = match version.split_once('/') {
            Some((_, rest)) => !rest.is_empty() && !rest.contains('/'),
            None => true,
        };
        if !is_named {
            errors.push(FieldError::invalid(
                &reference_path.child("apiVersion"),
                version,
                "must be <group>/<version> or <version>",
            ));
        }
        for field in ["apiVersion", "kind", "name", "uid"] {
            if reference.text(field).is_empty() {
                errors.push(FieldError::required(
                    &reference_path.child(field),
                    "must not be empty",
                ));
            }
        }
        if version == "v1" && reference.text("kind") == "Event" {
            errors.push(FieldError::invalid_shown(
                &reference_path,
                &shown("m.OwnerReference", reference),
                "/v1, Kind=Event is disallowed from being an owner",
            ));
        }
        if !reference.flag("controller") {
            continue;
        }
        let this = format!("{}/{}", reference.text("kind"), reference.text("name"));
        match &controller {
            Some(first) => errors.push(FieldError::invalid_shown(
                &path,
                &shown("[]m.OwnerReference", metadata.at("ownerReferences")),
                &format!(
                    "Only one reference can have Controller set to true. Found \"true\" in references for {first} and {this}"
                ),
            )),
            None => controller = Some(this),
        }
    }
}

fn finalizers(metadata: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("finalizers");
    let all = metadata.list("finalizers");
    // As of owners, none are found where one is no name.
    let names: Option<Vec<&str>> = all.iter().map(Value::as_str).collect();
    for name in names.into_iter().flatten() {
        qualified_name(&path, name, errors);
    }
    let has = |wanted: &str| all.iter().any(|name| name == wanted);
    if has("orphan") && has("foregroundDeletion") {
        errors.push(FieldError::invalid(
            &path,
            metadata.at("finalizers").clone(),
            "finalizer orphan and foregroundDeletion cannot be both set",
        ));
    }
}

/// Checks that the finalizers of an object have names that Kubernetes knows, or domains.
pub fn finalizer_names(metadata: &Value, errors: &mut Errors) {
    let path = Path::new("metadata.finalizers");
    for (index, name) in metadata.list("finalizers").iter().enumerate() {
        let name = name.as_str().unwrap_or_default();
        standard_finalizer(name, &path.index(index), errors);
    }
}

/// Checks that a finalizer is a standard one or has a domain, as in `example.com/cleanup`.
pub fn standard_finalizer(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let standard = matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    if !name.contains('/') && !standard {
        errors.push(FieldError::invalid(
            path,
            name,
            "name is neither a standard finalizer name nor is it fully qualified",
        ));
    }
}

/// A prefix may end with a dash, since something will follow it.
fn without_dash(name: &str) -> String {
    match name.strip_suffix('-') {
        Some(rest) if !rest.is_empty() => {
            let mut rest = rest.to_owned();
            rest.pop();
            rest.push('a');
            rest
        }
        _ => name.to_owned(),
    }
}
