//! Classes of devices.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::dra::validation;
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::{declaratively, subdomain};
use kubewright_validation::metadata::Rules;

/// Declarative rules check the names.
const METADATA: Rules = Rules::cluster_scoped()
    .without_generated_name()
    .with_name(|_| Vec::new());
/// The strategy of classes of devices.
#[derive(Debug)]
pub(crate) struct DeviceClass {
    /// The version of its objects.
    pub(super) version: String,
}

impl Strategy for DeviceClass {
    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        generation::start(object);
    }

    fn prepare_for_update(&self, _subresource: &str, new: &mut Value, old: &Value) {
        let kind = ["resource.k8s.io", &self.version, "DeviceClass"];
        generation::count_spec(kind, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        let (at, name) = (
            Path::new("metadata.name"),
            object.at("metadata").text("name"),
        );
        if !name.is_empty() {
            declaratively(errors, |errors| subdomain(&at, name, errors));
        }
        METADATA.create(object, errors);
        validation::check("DeviceClass", object, &Value::Null, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(new, errors);
        METADATA.changed(new, old, errors);
        validation::check("DeviceClass", new, old, errors);
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
