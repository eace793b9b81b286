//! Runtime classes.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::View;
use serde_json::{Value, json};

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Findings, Strategy};
use crate::warnings::pod::deprecated_label;
use kubewright_validation::check::{
    Errors, IMMUTABLE, declaratively, declared_required, label, labels,
};
use kubewright_validation::internal::shown;
use kubewright_validation::metadata::Rules;
use kubewright_validation::pod::{requirements, tolerations};

const METADATA: Rules = Rules::cluster_scoped().with_qualified_finalizers();

/// The strategy of runtime classes.
#[derive(Debug)]
pub(crate) struct RuntimeClass;

impl Strategy for RuntimeClass {
    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, &Value::Null, &mut found.errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        let (at, handler) = (Path::new("handler"), new.text("handler"));
        let is_changed = handler != old.text("handler");
        if is_changed {
            let error = FieldError::invalid(&at, Value::Null, IMMUTABLE);
            errors.push(error.declarative_for(None));
        }
        check(new, old, errors);
        METADATA.changed(new, old, errors);
        if is_changed {
            // Handwritten validation says it last.
            errors.push(FieldError::invalid(&at, handler, IMMUTABLE).covered());
        }
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let selector = new.at("scheduling").entries("nodeSelector");
        let deprecated = selector.filter_map(|(key, _)| deprecated_label(key));
        deprecated
            .map(|message| format!("scheduling.nodeSelector: {message}"))
            .collect()
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

fn check(object: &Value, old: &Value, errors: &mut Errors) {
    let root = Path::root();
    let handler = object.text("handler");
    if !old.is_null() && !handler.is_empty() && handler != old.text("handler") {
        // Declarative validation looks no further once it sees that the handler changed.
        label(&root.child("handler"), handler, errors);
    } else if declared_required(object, &root, "handler", errors) {
        declaratively(errors, |errors| {
            label(&root.child("handler"), handler, errors);
        });
    }
    let overhead = object.at("overhead").at("podFixed");
    if !overhead.is_null() {
        let limits = json!({ "limits": overhead });
        requirements(&limits, &[], &root.child("overhead"), errors);
    }
    let (scheduling, path) = (object.at("scheduling"), root.child("scheduling"));
    labels(scheduling, &path, "nodeSelector", errors);
    let all = scheduling.list("tolerations");
    let at = path.child("tolerations");
    tolerations(scheduling, &at, errors);
    for (index, toleration) in all.iter().enumerate() {
        let twice = |other: &Value| {
            let fields = ["key", "operator", "value", "effect"];
            fields
                .iter()
                .all(|field| other.text(field) == toleration.text(field))
        };
        if all[..index].iter().any(twice) {
            let value = shown("Toleration", toleration);
            errors.push(FieldError::duplicate_shown(&at.index(index), &value));
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    vec![row.name(), row.object.text("handler").into(), row.age()]
}
