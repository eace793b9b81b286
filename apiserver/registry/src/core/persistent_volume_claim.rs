//! Claims for persistent volumes.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use kubewright_storage::ReadBack;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns;
use crate::columns::Row;
use crate::core::validation::{claims, persistent_volumes};
use crate::defaults::volumes;
use crate::strategy::{Creation, Findings, Strategy};
use crate::warnings::BETA_CLASS;
use crate::warnings::fractions::claim;
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of claims.
#[derive(Debug)]
pub(crate) struct PersistentVolumeClaim;

impl Strategy for PersistentVolumeClaim {
    fn default(&self, object: &mut Value) {
        volumes::claim(object);
        fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        fill_status(object);
        data_sources(object, &Value::Null);
        if let Some(status) = object.part("status") {
            status.drop_field("phase");
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            new.take_from(old, "spec");
            // It is behind a feature gate that is off.
            if let Some(status) = new.existing("status") {
                status.drop_field("healthStatus");
            }
            return;
        }
        new.take_from(old, "status");
        data_sources(new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        persistent_volumes::claim(object, &Value::Null, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                METADATA.create(new, errors);
                persistent_volumes::claim(new, old, errors);
                persistent_volumes::claim_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                claims::status(new.at("status"), errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, _old: &Value) -> Vec<String> {
        let mut out = Vec::new();
        if new.at("metadata").at("annotations").has(BETA_CLASS) {
            let path = Path::new("metadata.annotations");
            let at = path.key(BETA_CLASS);
            out.push(format!(
                "{at}: deprecated since v1.8; use \"storageClassName\" attribute instead"
            ));
        }
        claim(&Path::new("spec"), new.at("spec"), &mut out);
        out
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn is_read_back(&self, _object: &Value) -> bool {
        true
    }

    fn read_back(&self, object: &mut Value) -> ReadBack {
        let status = object.part("status");
        let Some(status) = status.filter(|status| status.text("phase").is_empty()) else {
            return ReadBack::AsStored;
        };
        status.fill_text("phase", "Pending");
        ReadBack::WithDefaults
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        columns::storage::claim(Row { object, now })
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

/// `dataSource` and `dataSourceRef` say the same, and only the second one may name what is neither a claim nor a
/// snapshot (KEP-1495). Sources of other namespaces are behind a gate.
fn data_sources(object: &mut Value, old: &Value) {
    let old = old.at("spec");
    let Some(spec) = object.existing("spec") else {
        return;
    };
    if !spec.at("dataSourceRef").text("namespace").is_empty() && !old.has("dataSourceRef") {
        spec.drop_field("dataSourceRef");
    }
    let source = spec.at("dataSource");
    let known = matches!(
        (source.text("apiGroup"), source.text("kind")),
        ("", "PersistentVolumeClaim") | ("snapshot.storage.k8s.io", "VolumeSnapshot")
    );
    let was = old.has("dataSource") || old.has("dataSourceRef");
    if !was && !spec.has("dataSourceRef") && !known {
        spec.drop_field("dataSource");
    }
    if spec.has("dataSource") && !spec.has("dataSourceRef") {
        let source = spec.at("dataSource").clone();
        spec.put("dataSourceRef", source);
    } else if spec.has("dataSourceRef")
        && !spec.has("dataSource")
        && spec.at("dataSourceRef").text("namespace").is_empty()
    {
        let mut source = spec.at("dataSourceRef").clone();
        source.drop_field("namespace");
        spec.put("dataSource", source);
    }
}
