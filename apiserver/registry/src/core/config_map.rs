//! Config maps.

use jiff::Timestamp;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::columns::Row;
use crate::core::validation::config;
use crate::strategy::{Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of config maps.
#[derive(Debug)]
pub(crate) struct ConfigMap;

impl Strategy for ConfigMap {
    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        config::config_map(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        config::sealed(&["data", "binaryData"], new, old, errors);
        METADATA.create(new, errors);
        config::config_map(new, errors);
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let strings = row.object.entries("data").count();
    let bytes = row.object.entries("binaryData").count();
    vec![row.name(), (strings + bytes).into(), row.age()]
}
