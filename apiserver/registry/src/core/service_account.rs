//! Service accounts.

use jiff::Timestamp;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::{Value, json};

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of service accounts.
#[derive(Debug)]
pub(crate) struct ServiceAccount;

impl Strategy for ServiceAccount {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        keep_names(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, _old: &Value) {
        keep_names(new);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        METADATA.create(new, errors);
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        const ENFORCED: &str = "kubernetes.io/enforce-mountable-secrets";
        let has = |object: &Value| object.at("metadata").at("annotations").has(ENFORCED);
        if has(new) && !has(old) {
            vec![format!(
                "metadata.annotations[{ENFORCED}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
            )]
        } else {
            Vec::new()
        }
    }

    fn may_not_fit(&self) -> bool {
        true
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let row = Row { object, now };
        vec![row.name(), row.age()]
    }

    fn behavior(&self) -> Behavior {
        Behavior {
            returns_deleted: true,
            ..Behavior::default()
        }
    }
}

/// Of references to secrets only the names are kept.
fn keep_names(object: &mut Value) {
    for secret in object.each("secrets") {
        *secret = match secret.text("name") {
            "" => empty(),
            name => json!({ "name": name }),
        };
    }
}
