//! Resource quotas.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::columns::text::{int_or_text, or};
use crate::core::validation::quotas;
use crate::defaults::shared::resource_list;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::metadata::Rules;

const METADATA: Rules = Rules::namespaced();

/// The strategy of resource quotas.
#[derive(Debug)]
pub(crate) struct ResourceQuota;

impl Strategy for ResourceQuota {
    fn default(&self, object: &mut Value) {
        default(object);
        object.part("status");
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.create(object, errors);
        quotas::quota(object, errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        match subresource {
            "" => {
                METADATA.changed(new, old, errors);
                quotas::quota(new, errors);
                quotas::quota_update(new, old, errors);
            }
            "status" => {
                METADATA.changed(new, old, errors);
                quotas::quota_status(new.at("status"), &Path::new("status"), errors);
            }
            _ => {}
        }
    }

    fn warnings(&self, new: &Value, old: &Value) -> Vec<String> {
        if old.is_null() {
            quotas::warnings(new.at("spec").at("hard"))
        } else {
            Vec::new()
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
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

fn default(object: &mut Value) {
    for (part, lists) in [("spec", &["hard"][..]), ("status", &["hard", "used"][..])] {
        let Some(part) = object.part(part) else {
            continue;
        };
        for list in lists {
            if let Some(list) = part.existing(list) {
                resource_list(list);
            }
        }
    }
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let status = row.status();
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    for (name, hard) in status.entries("hard") {
        let used = or(int_or_text(status.at("used").at(name), ""), "0");
        let text = format!("{name}: {used}/{}", int_or_text(hard, "0"));
        if name.starts_with("limits.") {
            limits.push(text);
        } else {
            requests.push(text);
        }
    }
    let (requests, limits) = (requests.join(", "), limits.join(", "));
    vec![row.name(), requests.into(), limits.into(), row.age()]
}
