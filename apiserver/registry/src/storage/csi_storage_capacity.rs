//! Storage capacities that drivers report.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::strategy::{Findings, Strategy};
use crate::warnings::pod::{deprecated_label, node_term};
use kubewright_validation::check::{
    Errors, IMMUTABLE, immutable_as, quantity, selector, subdomain,
};
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::Rules;
use kubewright_validation::semantic::same;

const METADATA: Rules = Rules::namespaced();

/// The strategy of storage capacities.
#[derive(Debug)]
pub(crate) struct CSIStorageCapacity;

impl Strategy for CSIStorageCapacity {
    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        check(new, errors);
        METADATA.changed(new, old, errors);
        check_update(new, old, errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        let topology = new.at("nodeTopology");
        node_term(&Path::new("nodeTopology"), topology, &mut out);
        for (key, _) in topology.entries("matchLabels") {
            if let Some(message) = deprecated_label(key) {
                out.push(format!("nodeTopology.matchLabels.{key}: {message}"));
            }
        }
        out
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            unconditional_update: false,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    if object.has("nodeTopology") {
        let at = root.child("nodeTopology");
        selector(object.at("nodeTopology"), &at, errors);
    }
    let class = object.text("storageClassName");
    subdomain(&root.child("storageClassName"), class, errors);
    quantity(
        "storage",
        object.at("capacity"),
        &root.child("capacity"),
        errors,
    );
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    if !same(new.at("nodeTopology"), old.at("nodeTopology")) {
        let value = shown("?m.LabelSelector", new.at("nodeTopology"));
        let at = root.child("nodeTopology");
        errors.push(FieldError::invalid_shown(&at, &value, IMMUTABLE));
    }
    immutable_as("s", new, old, &root, "storageClassName", errors);
}
