//! Validating admission policies.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::Rules;
use serde_json::Value;

use super::policy_columns::cells;
use super::policy_spec::{self, Effect};
use super::{policy_status, static_suffix, validations};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::generation;
use crate::metadata;
use crate::strategy::{Creation, Findings, Strategy};

const KIND: [&str; 3] = [
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
];
const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of validating admission policies.
#[derive(Debug)]
pub(crate) struct ValidatingAdmissionPolicy;

impl Strategy for ValidatingAdmissionPolicy {
    fn default(&self, object: &mut Value) {
        policy_spec::default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            metadata::reset(new, old);
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        check(object, &Value::Null, &mut found.errors);
        static_suffix::check(object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        if subresource == "status" {
            policy_status::check(new, &mut found.errors);
        } else {
            check(new, old, &mut found.errors);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        static_suffix::warnings(new)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now }, "validations")
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

/// `old` is null for a new policy.
fn check(object: &Value, old: &Value, errors: &mut Errors) {
    METADATA.create(object, errors);
    let (path, spec) = (Path::new("spec"), object.at("spec"));
    let composition = policy_spec::check(spec, old.at("spec"), Effect::Validates, &path, errors);
    let name = object.at("metadata").text("name");
    validations::check(name, spec, &composition, &path, errors);
}
