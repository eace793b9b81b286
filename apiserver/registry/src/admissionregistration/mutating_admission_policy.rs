//! Mutating admission policies.

use jiff::Timestamp;
use serde_json::Value;

use super::policy::{cells, default};
use crate::behavior::Behavior;
use crate::column::Column;
use crate::columns::Row;
use crate::columns::titles::text;
use crate::columns::titles::{AGE, NAME, integer};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of mutating admission policies.
#[derive(Debug)]
pub(crate) struct MutatingAdmissionPolicy {
    /// The version of its objects.
    pub(super) version: String,
}

impl Strategy for MutatingAdmissionPolicy {
    fn default(&self, object: &mut Value) {
        default(object);
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
        METADATA.create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        METADATA.create(new, &mut found.errors);
    }

    fn columns(&self) -> Vec<Column<'_>> {
        COLUMNS.to_vec()
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

const COLUMNS: &[Column<'static>] = &[
    NAME,
    integer("Mutations", "how many rules it has"),
    text("ParamKind", "the kind of its parameters"),
    AGE,
];
