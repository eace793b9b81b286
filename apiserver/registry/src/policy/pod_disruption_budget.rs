//! Disruption budgets.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::{count, int_or_text};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{
    Errors, at_most_hundred_percent, count_or_percent, not_negative, one_of_if_set, selector,
};
use kubewright_validation::conditions::conditions;
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["policy", "v1", "PodDisruptionBudget"];
const METADATA: Rules = Rules::namespaced()
    .with_name(names::path_segment)
    .with_qualified_finalizers();
/// The numbers of a status that Go always writes.
const COUNTERS: [&str; 4] = [
    "disruptionsAllowed",
    "currentHealthy",
    "desiredHealthy",
    "expectedPods",
];

/// The strategy of disruption budgets.
#[derive(Debug)]
pub(crate) struct PodDisruptionBudget;

impl Strategy for PodDisruptionBudget {
    fn default(&self, object: &mut Value) {
        object.part("spec");
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
        object.put("status", empty());
        fill_status(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        generation::count_spec(KIND, new, old);
    }

    /// The strategy looks at the spec alone; the metadata come after it, if it is fine.
    fn validate(&self, object: &Value, found: &mut Findings) {
        check(object, &mut found.errors);
        if found.errors.is_empty() {
            METADATA.create(object, &mut found.errors);
        }
    }

    fn validate_update(&self, subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        if subresource == "status" {
            check_status(new, &mut found.errors);
        } else {
            check(new, &mut found.errors);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        for counter in COUNTERS {
            status.fill(counter, 0);
        }
    }
}

fn check_status(object: &Value, errors: &mut Errors) {
    let (status, path) = (object.at("status"), Path::new("status"));
    conditions(status, &path, errors);
    for counter in COUNTERS {
        not_negative(status, &path, counter, errors);
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let spec = object.at("spec");
    let path = Path::new("spec");
    let (least, most) = (spec.at("minAvailable"), spec.at("maxUnavailable"));
    if !least.is_null() && !most.is_null() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        let value = shown("policy.PodDisruptionBudgetSpec", spec);
        errors.push(FieldError::invalid_shown(&path, &value, detail));
    }
    for field in ["minAvailable", "maxUnavailable"] {
        let value = spec.at(field);
        if !value.is_null() {
            count_or_percent(value, &path.child(field), errors);
            at_most_hundred_percent(value, &path.child(field), errors);
        }
    }
    selector(spec.at("selector"), &path.child("selector"), errors);
    let policies = ["AlwaysAllow", "IfHealthyBudget"];
    one_of_if_set(spec, &path, "unhealthyPodEvictionPolicy", &policies, errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        int_or_text(spec.at("minAvailable"), "N/A").into(),
        int_or_text(spec.at("maxUnavailable"), "N/A").into(),
        count(row.status(), "disruptionsAllowed").into(),
        row.age(),
    ]
}
