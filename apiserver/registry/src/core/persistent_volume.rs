//! Persistent volumes.

use jiff::Timestamp;
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::storage::volume;
use crate::core::validation::persistent_volumes;
use crate::defaults::volumes;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of persistent volumes.
#[derive(Debug)]
pub(crate) struct PersistentVolume;

impl Strategy for PersistentVolume {
    fn default(&self, object: &mut Value) {
        volumes::persistent_volume(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        fill_status(object);
        if let Some(status) = object.part("status") {
            status.put("lastPhaseTransitionTime", now());
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            phase_time(new, old);
            return;
        }
        new.take_from(old, "status");
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        persistent_volumes::volume(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.create(new, errors);
                persistent_volumes::volume(new, errors);
                persistent_volumes::volume_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        warnings::volume(new, &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        volume(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn fill_status(object: &mut Value) {
    if let Some(status) = object.part("status") {
        status.fill_text("phase", "Pending");
    }
}

/// When the phase of a volume changed, unless the client says it.
fn phase_time(new: &mut Value, old: &Value) {
    let field = "lastPhaseTransitionTime";
    let before = old.at("status");
    let Some(status) = new.part("status") else {
        return;
    };
    if status.text("phase") == before.text("phase") {
        if !status.has(field) {
            status.take_from(before, field);
        }
    } else if !status.has(field) || status.at(field) == before.at(field) {
        status.put(field, now());
    }
}
