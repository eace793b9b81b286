//! The rows of the workload kinds.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{containers, count, labels, or_none, selector};

pub(crate) fn replication_controller(row: Row<'_>) -> Vec<Value> {
    replicas(row, labels(row.spec().at("selector")))
}

pub(crate) fn replica_set(row: Row<'_>) -> Vec<Value> {
    replicas(row, or_none(selector(row.spec().at("selector"))))
}

fn replicas(row: Row<'_>, selector: String) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let (names, images) = containers(spec.at("template").at("spec"));
    vec![
        row.name(),
        count(spec, "replicas").into(),
        count(status, "replicas").into(),
        count(status, "readyReplicas").into(),
        row.age(),
        names,
        images,
        selector.into(),
    ]
}

pub(crate) fn ready(status: &Value, spec: &Value) -> String {
    format!(
        "{}/{}",
        count(status, "readyReplicas"),
        count(spec, "replicas")
    )
}
