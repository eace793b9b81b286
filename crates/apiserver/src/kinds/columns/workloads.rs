//! The rows of the workload kinds.

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{
    condition, containers, count, duration, int_or_text, labels, or, or_none, selector, time,
};
use crate::kinds::conversion;

pub(super) fn replication_controller(row: Row<'_>) -> Vec<Value> {
    replicas(row, labels(row.spec().at("selector")))
}

pub(super) fn replica_set(row: Row<'_>) -> Vec<Value> {
    replicas(row, or_none(selector(row.spec().at("selector"))))
}

pub(super) fn deployment(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let (names, images) = containers(spec.at("template").at("spec"));
    vec![
        row.name(),
        ready(status, spec).into(),
        count(status, "updatedReplicas").into(),
        count(status, "availableReplicas").into(),
        row.age(),
        names,
        images,
        selector(spec.at("selector")).into(),
    ]
}

pub(super) fn stateful_set(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let (names, images) = containers(spec.at("template").at("spec"));
    let ready = ready(row.status(), spec).into();
    vec![row.name(), ready, row.age(), names, images]
}

pub(super) fn daemon_set(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let pod = spec.at("template").at("spec");
    let (names, images) = containers(pod);
    vec![
        row.name(),
        count(status, "desiredNumberScheduled").into(),
        count(status, "currentNumberScheduled").into(),
        count(status, "numberReady").into(),
        count(status, "updatedNumberScheduled").into(),
        count(status, "numberAvailable").into(),
        labels(pod.at("nodeSelector")).into(),
        row.age(),
        names,
        images,
        or_none(selector(spec.at("selector"))).into(),
    ]
}

pub(super) fn controller_revision(row: Row<'_>) -> Vec<Value> {
    let owner = row
        .metadata()
        .list("ownerReferences")
        .iter()
        .find(|owner| owner.flag("controller"));
    let owner = owner.map_or("<none>".to_owned(), |owner| {
        let kind = owner.text("kind").to_lowercase();
        match owner.text("apiVersion").split_once('/') {
            Some((group, _)) => format!("{kind}.{group}/{}", owner.text("name")),
            None => format!("{kind}/{}", owner.text("name")),
        }
    });
    let revision = count(row.object, "revision").into();
    vec![row.name(), owner.into(), revision, row.age()]
}

pub(super) fn job(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let done = count(status, "succeeded");
    let completions = match (spec.int("completions"), count(spec, "parallelism")) {
        (Some(wanted), _) => format!("{done}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{done}/1 of {parallelism}"),
        (None, _) => format!("{done}/1"),
    };
    let took = match (
        time(status.at("startTime")),
        time(status.at("completionTime")),
    ) {
        (None, _) => String::new(),
        (Some(start), end) => duration(end.unwrap_or(row.now).duration_since(start).as_secs()),
    };
    let state = if condition(status, "Complete") {
        "Complete"
    } else if condition(status, "Failed") {
        "Failed"
    } else if row.is_going() {
        "Terminating"
    } else if condition(status, "Suspended") {
        "Suspended"
    } else if condition(status, "FailureTarget") {
        "FailureTarget"
    } else {
        "Running"
    };
    let (names, images) = containers(spec.at("template").at("spec"));
    vec![
        row.name(),
        state.into(),
        completions.into(),
        took.into(),
        row.age(),
        names,
        images,
        or_none(selector(spec.at("selector"))).into(),
    ]
}

pub(super) fn cron_job(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let suspended = match spec.at("suspend").as_bool() {
        Some(true) => "True",
        Some(false) => "False",
        None => "<unset>",
    };
    let last = if status.has("lastScheduleTime") {
        row.since(status.at("lastScheduleTime"))
    } else {
        "<none>".to_owned()
    };
    let job = spec.at("jobTemplate").at("spec");
    let (names, images) = containers(job.at("template").at("spec"));
    vec![
        row.name(),
        spec.text("schedule").into(),
        or_none(spec.text("timeZone")).into(),
        suspended.into(),
        status.list("active").len().into(),
        last.into(),
        row.age(),
        names,
        images,
        or_none(selector(job.at("selector"))).into(),
    ]
}

pub(super) fn disruption_budget(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        int_or_text(spec.at("minAvailable"), "N/A").into(),
        int_or_text(spec.at("maxUnavailable"), "N/A").into(),
        count(row.status(), "disruptionsAllowed").into(),
        row.age(),
    ]
}

pub(super) fn autoscaler(version: &str, row: Row<'_>) -> Vec<Value> {
    if version == "v1" {
        let mut object = row.object.clone();
        conversion::autoscaler_to_v2(&mut object);
        let row = Row {
            object: &object,
            ..row
        };
        return autoscaler("v2", row);
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

pub(super) fn scale(row: Row<'_>) -> Vec<Value> {
    let desired = count(row.spec(), "replicas").into();
    let current = count(row.status(), "replicas").into();
    vec![row.name(), desired, current, row.age()]
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

fn ready(status: &Value, spec: &Value) -> String {
    format!(
        "{}/{}",
        count(status, "readyReplicas"),
        count(spec, "replicas")
    )
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
