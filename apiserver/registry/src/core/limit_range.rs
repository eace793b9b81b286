//! Limit ranges.

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;
use uuid::Uuid;

use crate::behavior::Behavior;
use crate::core::validation::quotas;
use crate::defaults::shared::resource_list;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of limit ranges.
#[derive(Debug)]
pub(crate) struct LimitRange;

impl Strategy for LimitRange {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        if let Some(metadata) = object.part("metadata") {
            metadata.fill_text("name", &Uuid::new_v4().to_string());
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        quotas::limit_range(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, _old: &Value, found: &mut Findings) {
        self.validate(new, found);
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            create_on_update: true,
            ..Behavior::default()
        }
    }
}

fn default(object: &mut Value) {
    let Some(spec) = object.part("spec") else {
        return;
    };
    for limit in spec.each("limits") {
        for list in [
            "max",
            "min",
            "default",
            "defaultRequest",
            "maxLimitRequestRatio",
        ] {
            if let Some(list) = limit.existing(list) {
                resource_list(list);
            }
        }
        if limit.text("type") == "Container" {
            for (from, to) in [
                ("max", "default"),
                ("default", "defaultRequest"),
                ("min", "defaultRequest"),
            ] {
                inherit(limit, from, to);
            }
        }
    }
}

/// Takes the quantities of `from` that `to` does not have.
fn inherit(limit: &mut Value, from: &str, to: &str) {
    let Some(source) = limit.map(from).filter(|map| !map.is_empty()).cloned() else {
        return;
    };
    if let Some(target) = limit.part(to).and_then(Value::as_object_mut) {
        for (name, quantity) in source {
            target.entry(name).or_insert(quantity);
        }
    }
}
