//! Templates of claims for devices.

use jiff::Timestamp;
use kubewright_apimachinery::view::Edit;
use serde_json::Value;

use super::conversion::has_same_shape;
use super::resource_claim::close_gates;
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::defaults::devices::claim;
use crate::dra::validation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of templates of claims.
#[derive(Debug)]
pub(crate) struct ResourceClaimTemplate;

impl Strategy for ResourceClaimTemplate {
    fn default(&self, object: &mut Value) {
        if let Some(spec) = object.part("spec") {
            claim(spec);
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.existing("spec").map(close_gates);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, _old: &Value) {
        new.existing("spec").map(close_gates);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        check(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        check(new, errors);
        METADATA.changed(new, old, errors);
        validation::update("ResourceClaimTemplate", new, old, errors);
    }

    fn convert(&self, _object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        has_same_shape(from, to)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let row = Row { object, now };
        vec![row.name(), row.age()]
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    validation::check("ResourceClaimTemplate", object, &Value::Null, errors);
}
