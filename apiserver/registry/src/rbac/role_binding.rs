//! Bindings of roles and of cluster roles.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::check::{
    Errors, declaratively_swapped, declared_required, immutable_as, problems, required, subdomain,
};
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const GROUP: &str = "rbac.authorization.k8s.io";

/// The strategy of bindings, with and without a namespace.
#[derive(Debug)]
pub(crate) struct RoleBinding {
    /// Whether it belongs to a namespace.
    pub(super) namespaced: bool,
}

impl Strategy for RoleBinding {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        self.metadata().create(object, &mut found.errors);
        check(self.namespaced, object, &Value::Null, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let rules = self.metadata();
        rules.create(new, &mut found.errors);
        check(self.namespaced, new, old, &mut found.errors);
        rules.changed(new, old, &mut found.errors);
        check_update(new, old, &mut found.errors);
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            ..Behavior::default()
        }
    }
}

impl RoleBinding {
    fn metadata(&self) -> Rules {
        let rules = if self.namespaced {
            Rules::namespaced()
        } else {
            Rules::cluster_scoped()
        };
        rules.with_name(names::path_segment)
    }
}

fn default(object: &mut Value) {
    if let Some(reference) = object.part("roleRef") {
        reference.fill_text("apiGroup", GROUP);
    }
    for subject in object.each("subjects") {
        if matches!(subject.text("kind"), "User" | "Group") {
            subject.fill_text("apiGroup", GROUP);
        }
    }
}

fn check(namespaced: bool, object: &Value, old: &Value, errors: &mut Errors) {
    let reference = object.at("roleRef");
    let path = Path::new("roleRef");
    let group = reference.text("apiGroup");
    if group != GROUP {
        let at = path.child("apiGroup");
        errors.push(FieldError::not_supported(&at, group, &[GROUP]));
    }
    let kinds: &[&str] = if namespaced {
        &["Role", "ClusterRole"]
    } else {
        &["ClusterRole"]
    };
    let kind = reference.text("kind");
    if !kinds.contains(&kind) {
        errors.push(FieldError::not_supported(&path.child("kind"), kind, kinds));
    }
    let name = reference.text("name");
    problems(&path.child("name"), name, names::path_segment(name), errors);
    let check_subjects = |errors: &mut Errors| {
        let subjects = Path::new("subjects");
        for (index, subject) in object.list("subjects").iter().enumerate() {
            self::subject(subject, namespaced, &subjects.index(index), errors);
        }
    };
    // Declarative validation looks no further once it sees that the reference changed.
    if !old.is_null() && !same(reference, old.at("roleRef")) {
        required(reference, &path, "name", errors);
        check_subjects(errors);
        return;
    }
    declaratively_swapped(
        errors,
        |errors| {
            declared_required(reference, &path, "name", errors);
        },
        check_subjects,
    );
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    immutable_as("rbac.RoleRef", new, old, &Path::root(), "roleRef", errors);
}

fn subject(subject: &Value, namespaced: bool, path: &Path<'_>, errors: &mut Errors) {
    declared_required(subject, path, "name", errors);
    let group = subject.text("apiGroup");
    let at = path.child("apiGroup");
    match subject.text("kind") {
        "ServiceAccount" => {
            let name = subject.text("name");
            if !name.is_empty() {
                subdomain(&path.child("name"), name, errors);
            }
            if !group.is_empty() {
                errors.push(FieldError::not_supported(&at, group, &[""]));
            }
            if !namespaced && subject.text("namespace").is_empty() {
                errors.push(FieldError::required(&path.child("namespace"), ""));
            }
        }
        "User" | "Group" => {
            if group != GROUP {
                errors.push(FieldError::not_supported(&at, group, &[GROUP]));
            }
        }
        other => errors.push(FieldError::not_supported(
            &path.child("kind"),
            other,
            &["ServiceAccount", "User", "Group"],
        )),
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let role = row.object.at("roleRef");
    let role = format!("{}/{}", role.text("kind"), role.text("name"));
    let subjects = |kind: &str| -> Value {
        let names: Vec<String> = row
            .object
            .list("subjects")
            .iter()
            .filter(|subject| subject.text("kind") == kind)
            .map(|subject| match subject.text("namespace") {
                namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
                    format!("{namespace}/{}", subject.text("name"))
                }
                _ => subject.text("name").to_owned(),
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        row.name(),
        role.into(),
        row.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
