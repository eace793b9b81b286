//! Secrets.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use crate::columns::Row;
use crate::core::validation::config;
use crate::fields;
use crate::strategy::{Findings, Strategy};
use crate::warnings::key_pair;
use kubewright_validation::check::immutable_as;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

const FIELDS: [&str; 1] = ["type"];

/// The strategy of secrets.
#[derive(Debug)]
pub(crate) struct Secret;

impl Strategy for Secret {
    fn default(&self, object: &mut Value) {
        default(object);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        config::secret(object, errors);
    }

    fn validate_update(&self, _subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        immutable_as("s", new, old, &Path::root(), "type", errors);
        config::sealed(&["data"], new, old, errors);
        METADATA.create(new, errors);
        config::secret(new, errors);
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let is_pair = new.text("type") == "kubernetes.io/tls";
        let warning = is_pair.then(|| key_pair(new.at("data"))).flatten();
        warning.into_iter().collect()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn check_field(&self, field: &str) -> Result<(), String> {
        fields::check(&FIELDS, true, field)
    }

    fn field_value<'a>(&self, object: &'a Value, field: &str) -> Option<Cow<'a, str>> {
        if let Some(generic) = fields::generic(object, true, field) {
            return Some(generic);
        }
        if !FIELDS.contains(&field) {
            return None;
        }
        Some(fields::shown(fields::at(object, field)))
    }
}

fn default(object: &mut Value) {
    object.fill_text("type", "Opaque");
    let Some(map) = object.as_object_mut() else {
        return;
    };
    // `stringData` is write-only: its strings overwrite the data of the same keys.
    let Some(Value::Object(strings)) = map.remove("stringData") else {
        return;
    };
    if strings.is_empty() {
        return;
    }
    if let Some(data) = object.part("data").and_then(Value::as_object_mut) {
        for (key, text) in strings {
            let text = text.as_str().unwrap_or_default();
            data.insert(key, STANDARD.encode(text).into());
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let keys = row.object.entries("data").count().into();
    let kind = row.object.text("type").into();
    vec![row.name(), kind, keys, row.age()]
}
