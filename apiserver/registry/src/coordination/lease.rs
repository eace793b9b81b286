//! Leases.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{Errors, not_negative};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced().with_qualified_finalizers();

/// The strategy of leases.
#[derive(Debug)]
pub(crate) struct Lease;

impl Strategy for Lease {
    fn default(&self, object: &mut Value) {
        object.part("spec");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        coordinated(object, &Value::Null);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        coordinated(new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
        check(new, &mut found.errors);
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

/// Elections by the server itself are behind a gate.
fn coordinated(new: &mut Value, old: &Value) {
    if let Some(spec) = new.existing("spec") {
        for field in ["strategy", "preferredHolder"] {
            if !old.at("spec").has(field) {
                spec.drop_field(field);
            }
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    if let Some(seconds) = spec.int("leaseDurationSeconds").filter(|s| *s <= 0) {
        let detail = "must be greater than 0";
        let at = path.child("leaseDurationSeconds");
        errors.push(FieldError::invalid(&at, seconds, detail));
    }
    not_negative(spec, &path, "leaseTransitions", errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let holder = row.spec().text("holderIdentity").into();
    vec![row.name(), holder, row.age()]
}
