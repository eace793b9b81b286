//! Mutating admission policies.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::View;
use kubewright_validation::check::{Errors, one_of};
use kubewright_validation::metadata::Rules;
use serde_json::Value;

use super::policy_columns::cells;
use super::policy_spec::{self, Effect};
use super::{mutations, static_suffix};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of mutating admission policies.
#[derive(Debug)]
pub(crate) struct MutatingAdmissionPolicy {
    /// The version of its objects.
    pub(super) version: String,
}

impl Strategy for MutatingAdmissionPolicy {
    fn default(&self, object: &mut Value) {
        policy_spec::default(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let kind = [
            "admissionregistration.k8s.io",
            &self.version,
            "MutatingAdmissionPolicy",
        ];
        generation::count_spec(kind, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        check(object, &Value::Null, &mut found.errors);
        static_suffix::check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        check(new, old, &mut found.errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        static_suffix::warnings(new)
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now }, "mutations")
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
    let composition = policy_spec::check(spec, old.at("spec"), Effect::Mutates, &path, errors);
    mutations::check(spec, &composition, &path, errors);
    let policies = ["IfNeeded", "Never"];
    one_of(spec, &path, "reinvocationPolicy", &policies, errors);
}
