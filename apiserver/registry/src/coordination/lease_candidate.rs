//! Candidates for leases that the server itself elects.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced().with_qualified_finalizers();

/// The strategy of candidates for leases.
#[derive(Debug)]
pub(crate) struct LeaseCandidate;

impl Strategy for LeaseCandidate {
    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
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

fn cells(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("leaseName").into(),
        spec.text("binaryVersion").into(),
        spec.text("emulationVersion").into(),
        row.age(),
    ]
}
