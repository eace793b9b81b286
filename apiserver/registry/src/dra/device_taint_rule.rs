//! Rules that taint devices.

use jiff::Timestamp;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View, empty};
use kubewright_validation::check::{driver_name, label};
use kubewright_validation::conditions::conditions;
use kubewright_validation::devices::names::pool;
use kubewright_validation::devices::taints;
use kubewright_validation::metadata::Rules;
use serde_json::Value;

use crate::behavior::Behavior;
use crate::columns::Row;
use crate::strategy::{Creation, Findings, Strategy};
use crate::{generation, metadata};

const METADATA: Rules = Rules::cluster_scoped();
const MOST_CONDITIONS: usize = 8;

/// The strategy of rules that taint devices.
#[derive(Debug)]
pub(crate) struct DeviceTaintRule {
    /// The version of its objects.
    pub(super) version: String,
}

impl Strategy for DeviceTaintRule {
    fn default(&self, object: &mut Value) {
        if let Some(taint) = object.part("spec").and_then(|spec| spec.part("taint")) {
            taint.fill("timeAdded", now());
        }
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        generation::start(object);
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        if subresource == "status" {
            metadata::reset(new, old);
            return new.take_from(old, "spec");
        }
        new.take_from(old, "status");
        // The time is that of the effect.
        let before = old.at("spec").at("taint");
        if let Some(taint) = new.part("spec").and_then(|spec| spec.part("taint"))
            && taint.text("effect") != before.text("effect")
            && taint.at("timeAdded") == before.at("timeAdded")
        {
            taint.put("timeAdded", now());
        }
        let kind = ["resource.k8s.io", &self.version, "DeviceTaintRule"];
        generation::count_spec(kind, new, old);
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        check(object, found);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        METADATA.changed(new, old, &mut found.errors);
        if subresource != "status" {
            return check(new, found);
        }
        let (status, path) = (new.at("status"), Path::new("status"));
        conditions(status, &path, &mut found.errors);
        let (all, at) = (status.list("conditions").len(), path.child("conditions"));
        if all > MOST_CONDITIONS {
            let error = FieldError::too_many(&at, all, MOST_CONDITIONS);
            found.errors.push(error);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["metadata"], &["spec"]],
            _ => &[&["status"]],
        }
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(Row { object, now })
    }

    fn behavior(&self) -> Behavior {
        let is_old = self.version != "v1";
        Behavior {
            returns_deleted: is_old,
            unconditional_update: is_old,
            ..Behavior::default()
        }
    }
}

fn check(object: &Value, found: &mut Findings) {
    let (spec, path) = (object.at("spec"), Path::new("spec"));
    let (selector, at) = (spec.at("deviceSelector"), path.child("deviceSelector"));
    let errors = &mut found.errors;
    if selector.has("driver") {
        driver_name(selector.text("driver"), &at.child("driver"), errors);
    }
    if selector.has("pool") {
        pool(selector.text("pool"), &at.child("pool"), errors);
    }
    if selector.has("device") {
        label(&at.child("device"), selector.text("device"), errors);
    }
    taints::taint(spec.at("taint"), &path.child("taint"), errors);
}

fn cells(row: Row<'_>) -> Vec<Value> {
    let taint = row.spec().at("taint");
    let [key, value, effect] = ["key", "value", "effect"].map(|field| taint.text(field).into());
    let added = match taint.at("timeAdded") {
        Value::Null => String::new(),
        time => row.since(time),
    };
    vec![row.name(), key, value, effect, added.into(), row.age()]
}
