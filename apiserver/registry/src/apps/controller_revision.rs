//! Controller revisions.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::columns::Row;
use crate::columns::text::count;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::check::{Errors, IMMUTABLE, not_negative};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of controller revisions.
#[derive(Debug)]
pub(crate) struct ControllerRevision;

impl Strategy for ControllerRevision {
    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        check(object, &Value::Null, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        METADATA.create(new, errors);
        check(new, old, errors);
        // The data are bytes to the server: an empty object is not nothing.
        if new.at("data") != old.at("data") {
            let value = new.at("data").clone();
            errors.push(FieldError::invalid(&Path::new("data"), value, IMMUTABLE));
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

/// Revisions that were stored keep whatever data they have; it cannot change.
fn check(object: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    not_negative(object, &root, "revision", errors);
    if !old.is_null() {
        return;
    }
    let detail = match object.at("data") {
        Value::Object(_) => return,
        Value::Null => "data is mandatory",
        _ => "data must be a valid JSON object",
    };
    errors.push(FieldError::required(&root.child("data"), detail));
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let owner = row
        .metadata()
        .list("ownerReferences")
        .iter()
        .find(|owner| owner.flag("controller"));
    let owner = owner.map_or("<none>".to_owned(), |owner| {
        let kind = owner.text("kind").to_lowercase();
        match owner.text("apiVersion").split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", owner.text("name")),
            None => format!("{kind}/{}", owner.text("name")),
        }
    });
    let revision = count(row.object, "revision").into();
    vec![row.name(), owner.into(), revision, row.age()]
}
