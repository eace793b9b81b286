//! Storage classes.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::default_name::default_name;
use super::provisioner::{parameters, provisioner};
use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::or;
use crate::strategy::{Findings, Strategy};
use crate::warnings::pod::deprecated_label;
use kubewright_validation::check::{
    Errors, declaratively_swapped, declared_immutable, declared_required, one_of_if_set, problems,
};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::cluster_scoped();

/// The strategy of storage classes.
#[derive(Debug)]
pub(crate) struct StorageClass;

impl Strategy for StorageClass {
    fn default(&self, object: &mut Value) {
        object.fill("reclaimPolicy", "Delete");
        object.fill("volumeBindingMode", "Immediate");
    }

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
        deprecated_topologies(new, &mut out);
        out
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, errors: &mut Errors) {
    let root = Path::root();
    provisioner(object, "provisioner", declared_required, errors);
    parameters(object, errors);
    let policies = ["Delete", "Retain"];
    if !object.text("reclaimPolicy").is_empty() {
        one_of_if_set(object, &root, "reclaimPolicy", &policies, errors);
    }
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of_if_set(object, &root, "volumeBindingMode", &modes, errors);
    topologies(object, errors);
}

/// Where volumes of a class may be: terms that differ, of labels that have values.
fn topologies(object: &Value, errors: &mut Errors) {
    let path = Path::new("allowedTopologies");
    let terms = object.list("allowedTopologies");
    // The API server compares each term with as many empty ones as there are terms.
    let mut seen = vec![BTreeMap::new(); terms.len()];
    for (index, term) in terms.iter().enumerate() {
        let at = path.index(index);
        let at = at.child("matchLabelExpressions");
        let mut labels: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for (index, label) in term.list("matchLabelExpressions").iter().enumerate() {
            let at = at.index(index);
            let values = label.list("values");
            let path = at.child("values");
            if values.is_empty() {
                errors.push(FieldError::required(&path, ""));
            }
            for (index, value) in values.iter().enumerate() {
                if values[..index].contains(value) {
                    errors.push(FieldError::duplicate(&path.index(index), value.clone()));
                }
            }
            let key = label.text("key");
            let found = names::qualified_name(key);
            problems(&at.child("key"), key, found, errors);
            if labels.contains_key(key) {
                errors.push(FieldError::duplicate(&at.child("key"), key));
            }
            labels.insert(key, values.iter().filter_map(Value::as_str).collect());
        }
        for other in &seen {
            if *other == labels {
                errors.push(FieldError::duplicate(&at, ""));
            }
        }
        seen.push(labels);
    }
}

fn check_update(new: &Value, old: &Value, errors: &mut Errors) {
    let immutable = |field: &'static str| {
        move |errors: &mut Errors| {
            declared_immutable(new, old, &Path::root(), field, errors);
        }
    };
    declaratively_swapped(errors, immutable("parameters"), immutable("provisioner"));
    immutable("reclaimPolicy")(errors);
    immutable("volumeBindingMode")(errors);
}

fn deprecated_topologies(class: &Value, out: &mut Vec<String>) {
    let terms = Path::new("allowedTopologies");
    for (index, term) in class.list("allowedTopologies").iter().enumerate() {
        let term_path = terms.index(index);
        let expressions = term_path.child("matchLabelExpressions");
        for (index, expression) in term.list("matchLabelExpressions").iter().enumerate() {
            if let Some(message) = deprecated_label(expression.text("key")) {
                let at = expressions.index(index);
                out.push(format!("{}: {message}", at.child("key")));
            }
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let object = row.object;
    vec![
        default_name(
            row,
            &[
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            ],
        ),
        object.text("provisioner").into(),
        or(object.text("reclaimPolicy"), "Delete").into(),
        or(object.text("volumeBindingMode"), "Immediate").into(),
        object.flag("allowVolumeExpansion").into(),
        row.age(),
    ]
}
