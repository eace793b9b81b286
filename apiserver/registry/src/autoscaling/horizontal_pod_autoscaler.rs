//! Horizontal pod autoscalers, in both versions.

use jiff::Timestamp;
use kubewright_apimachinery::field::Path;
use kubewright_apimachinery::view::{Edit, View, empty};
use serde_json::Value;

use super::{conversion, defaults, validation};
use crate::columns::Row;
use crate::columns::text::{count, int_or_text, or};
use crate::generation;
use crate::strategy::{Creation, Findings, Strategy};
use kubewright_validation::check::not_negative;
use kubewright_validation::metadata::Rules;

const KIND: [&str; 3] = ["autoscaling", "v2", "HorizontalPodAutoscaler"];
const METADATA: Rules = Rules::namespaced();

/// The strategy of autoscalers.
#[derive(Debug)]
pub(crate) struct HorizontalPodAutoscaler {
    /// The version of its objects.
    pub(super) version: &'static str,
}

impl Strategy for HorizontalPodAutoscaler {
    fn default(&self, object: &mut Value) {
        defaults::autoscaler(self.version, object);
        self.fill_status(object);
    }

    fn prepare_for_create(&self, object: &mut Value, _creation: &mut Creation<'_>) {
        object.put("status", empty());
        self.fill_status(object);
        generation::start(object);
        if self.version == "v1" {
            conversion::keep_annotations(true, object, &Value::Null);
        }
    }

    fn prepare_for_update(&self, subresource: &str, new: &mut Value, old: &Value) {
        let is_status = subresource == "status";
        new.take_from(old, if is_status { "spec" } else { "status" });
        if self.version == "v1" {
            conversion::keep_annotations(!is_status, new, old);
        }
        let held = |object: &Value| {
            let mut object = object.clone();
            if self.version == "v1" {
                conversion::to_v2(&mut object);
            }
            object
        };
        if !is_status && generation::is_changed(KIND, "spec", &held(new), &held(old)) {
            generation::count(new, old);
        }
    }

    fn validate(&self, object: &Value, found: &mut Findings) {
        METADATA.create(object, &mut found.errors);
        validation::autoscaler(self.version, object, &mut found.errors);
    }

    fn validate_update(&self, subresource: &str, new: &Value, old: &Value, found: &mut Findings) {
        let errors = &mut found.errors;
        METADATA.changed(new, old, errors);
        if subresource == "status" {
            let (status, path) = (new.at("status"), Path::new("status"));
            let conditions = path.child("conditions");
            for (index, condition) in status.list("conditions").iter().enumerate() {
                let at = conditions.index(index);
                not_negative(condition, &at, "observedGeneration", errors);
            }
            for counter in ["currentReplicas", "desiredReplicas"] {
                not_negative(status, &path, counter, errors);
            }
        } else {
            validation::autoscaler(self.version, new, errors);
        }
    }

    fn reset_fields(&self, subresource: &str) -> &'static [&'static [&'static str]] {
        match subresource {
            "status" => &[&["spec"]],
            _ => &[&["status"]],
        }
    }

    fn held(&self, stored: &dyn Fn() -> Value) -> Option<Value> {
        (self.version == "v1").then(|| {
            let mut object = stored();
            conversion::to_held(&mut object);
            object
        })
    }

    fn convert(&self, object: &mut Value, from: (&str, &str), to: (&str, &str)) -> bool {
        match (from.1, to.1) {
            ("v1", "v2") => conversion::to_v2(object),
            ("v2", "v1") => conversion::to_v1(object),
            _ => return false,
        }
        true
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        cells(self.version, Row { object, now })
    }
}

impl HorizontalPodAutoscaler {
    /// Fills in the parts of a status that Go always writes.
    fn fill_status(&self, object: &mut Value) {
        let Some(status) = object.part("status") else {
            return;
        };
        status.fill("desiredReplicas", 0);
        if self.version == "v1" {
            status.fill("currentReplicas", 0);
        } else {
            status.fill("currentMetrics", Value::Null);
        }
    }
}

fn cells(version: &str, row: Row<'_>) -> Vec<Value> {
    if version == "v1" {
        let mut object = row.object.clone();
        conversion::to_v2(&mut object);
        let row = Row {
            object: &object,
            ..row
        };
        return cells("v2", row);
    }
    let (spec, status) = (row.spec(), row.status());
    let target = spec.at("scaleTargetRef");
    let least = spec
        .int("minReplicas")
        .map_or("<unset>".to_owned(), |least| least.to_string());
    vec![
        row.name(),
        format!("{}/{}", target.text("kind"), target.text("name")).into(),
        metrics(spec.list("metrics"), status.list("currentMetrics")).into(),
        least.into(),
        count(spec, "maxReplicas").into(),
        count(status, "currentReplicas").into(),
        row.age(),
    ]
}

fn metrics(specs: &[Value], statuses: &[Value]) -> String {
    if specs.is_empty() {
        return "<none>".to_owned();
    }
    let all: Vec<String> = specs
        .iter()
        .enumerate()
        .map(|(index, spec)| metric(spec, statuses.get(index).unwrap_or(&Value::Null)))
        .collect();
    let shown = all[..all.len().min(2)].join(", ");
    if all.len() > 2 {
        format!("{shown} + {} more...", all.len() - 2)
    } else {
        shown
    }
}

fn metric(spec: &Value, status: &Value) -> String {
    let field = match spec.text("type") {
        "External" => "external",
        "Pods" => "pods",
        "Object" => "object",
        "Resource" => "resource",
        "ContainerResource" => "containerResource",
        _ => return "<unknown type>".to_owned(),
    };
    let (source, current) = (spec.at(field), status.at(field).at("current"));
    let target = source.at("target");
    let quantity = |holder: &Value, field: &str| or(int_or_text(holder.at(field), ""), "<unknown>");
    let average = target.has("averageValue");
    let wanted = |field: &str| or(int_or_text(target.at(field), ""), "0");
    match field {
        "resource" | "containerResource" => {
            let name = source.text("name");
            if average {
                let now = quantity(current, "averageValue");
                return format!("{name}: {now}/{}", wanted("averageValue"));
            }
            let now = current
                .int("averageUtilization")
                .map_or("<unknown>".to_owned(), |now| format!("{now}%"));
            let wanted = target
                .int("averageUtilization")
                .map_or("<auto>".to_owned(), |wanted| format!("{wanted}%"));
            format!("{name}: {now}/{wanted}")
        }
        "pods" => {
            let now = quantity(current, "averageValue");
            format!("{now}/{}", wanted("averageValue"))
        }
        _ if average => {
            let now = quantity(current, "averageValue");
            format!("{now}/{} (avg)", wanted("averageValue"))
        }
        _ => {
            let now = quantity(current, "value");
            format!("{now}/{}", wanted("value"))
        }
    }
}
