//! Addresses that are taken.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::reference::segment;
use crate::columns::Row;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::check::{Errors, declared_immutable_as, declared_required, subdomain};
use kubewright_validation::formats;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped().with_name(name_problems);

/// The strategy of addresses, whose names they are.
#[derive(Debug)]
pub(crate) struct IPAddress;

impl Strategy for IPAddress {
    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        check(new, errors);
        METADATA.changed(new, old, errors);
        let (new, old) = (new.at("spec"), old.at("spec"));
        let path = Path::new("spec");
        declared_immutable_as(
            "?networking.ParentReference",
            new,
            old,
            &path,
            "parentRef",
            errors,
        );
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn name_problems(name: &str) -> Vec<String> {
    formats::ip(name).map(str::to_owned).into_iter().collect()
}

/// Whose an address is.
fn check(object: &Value, errors: &mut Errors) {
    let parent = object.at("spec").at("parentRef");
    let path = Path::new("spec.parentRef");
    if parent.is_null() {
        errors.push(FieldError::required(&path, "").declarative());
        return;
    }
    let group = parent.text("group");
    if !group.is_empty() {
        subdomain(&path.child("group"), group, errors);
    }
    for field in ["resource", "name"] {
        if declared_required(parent, &path, field, errors) {
            segment(parent, field, &path, errors);
        }
    }
    segment(parent, "namespace", &path, errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let parent = row.spec().at("parentRef");
    if parent.is_null() {
        return vec![row.name(), "<none>".into(), row.age()];
    }
    let mut shown = parent.text("resource").to_owned();
    for (mark, part) in [
        ('.', parent.text("group")),
        ('/', parent.text("namespace")),
        ('/', parent.text("name")),
    ] {
        if !part.is_empty() {
            shown.push(mark);
            shown.push_str(part);
        }
    }
    vec![row.name(), shown.into(), row.age()]
}
