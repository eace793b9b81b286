//! The rows of the smaller kinds: namespaces, nodes, events, configuration, access, admission.

use std::collections::BTreeSet;

use kubewright_apimachinery::view::View;
use serde_json::Value;

use super::Row;
use super::text::{condition, count, duration, int_or_text, or, or_none, selector};
use crate::kinds::conversion;

pub(super) fn namespace(row: Row<'_>) -> Vec<Value> {
    vec![row.name(), row.status().text("phase").into(), row.age()]
}

pub(super) fn node(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let ready = status
        .list("conditions")
        .iter()
        .any(|condition| condition.text("type") == "Ready");
    let mut state = match (ready, condition(status, "Ready")) {
        (false, _) => "Unknown",
        (true, true) => "Ready",
        (true, false) => "NotReady",
    }
    .to_owned();
    if spec.flag("unschedulable") {
        state.push_str(",SchedulingDisabled");
    }
    let roles: BTreeSet<&str> = row
        .metadata()
        .entries("labels")
        .map(
            |(key, value)| match key.strip_prefix("node-role.kubernetes.io/") {
                Some(role) => role,
                None if key == "kubernetes.io/role" => value.as_str().unwrap_or_default(),
                None => "",
            },
        )
        .filter(|role| !role.is_empty())
        .collect();
    let address = |kind: &str| {
        status
            .list("addresses")
            .iter()
            .find(|address| address.text("type") == kind)
            .map_or("<none>", |address| address.text("address"))
    };
    let info = status.at("nodeInfo");
    let known = |field: &str| -> Value { or(info.text(field), "<unknown>").into() };
    vec![
        row.name(),
        state.into(),
        or_none(roles.into_iter().collect::<Vec<_>>().join(",")).into(),
        row.age(),
        info.text("kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        known("osImage"),
        known("kernelVersion"),
        known("containerRuntimeVersion"),
    ]
}

pub(super) fn event(row: Row<'_>) -> Vec<Value> {
    let event = row.object;
    let first = if event.has("firstTimestamp") {
        row.since(event.at("firstTimestamp"))
    } else {
        row.since(event.at("eventTime"))
    };
    let mut last = if event.has("lastTimestamp") {
        row.since(event.at("lastTimestamp"))
    } else {
        first.clone()
    };
    let mut times = count(event, "count");
    let series = event.at("series");
    if series.is_object() {
        last = row.since(series.at("lastObservedTime"));
        times = count(series, "count");
    } else if times == 0 {
        times = 1;
    }
    let about = event.at("involvedObject");
    let mut target = about.text("kind").to_lowercase();
    if !about.text("name").is_empty() {
        target.push('/');
        target.push_str(about.text("name"));
    }
    vec![
        last.into(),
        event.text("type").into(),
        event.text("reason").into(),
        target.into(),
        about.text("fieldPath").into(),
        event_source(event).into(),
        event.text("message").trim().into(),
        first.into(),
        times.into(),
        row.name(),
    ]
}

pub(super) fn new_event(row: Row<'_>) -> Vec<Value> {
    let mut object = row.object.clone();
    conversion::event_to_core(&mut object);
    event(Row {
        object: &object,
        ..row
    })
}

pub(super) fn secret(row: Row<'_>) -> Vec<Value> {
    let keys = row.object.entries("data").count().into();
    let kind = row.object.text("type").into();
    vec![row.name(), kind, keys, row.age()]
}

pub(super) fn config_map(row: Row<'_>) -> Vec<Value> {
    let texts = row.object.entries("data").count();
    let bytes = row.object.entries("binaryData").count();
    vec![row.name(), (texts + bytes).into(), row.age()]
}

pub(super) fn resource_quota(row: Row<'_>) -> Vec<Value> {
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

pub(super) fn component_status(row: Row<'_>) -> Vec<Value> {
    let healthy = row
        .object
        .list("conditions")
        .iter()
        .find(|condition| condition.text("type") == "Healthy");
    let (state, message, error) = healthy.map_or(("Unknown", "", ""), |condition| {
        let state = match condition.text("status") {
            "True" => "Healthy",
            _ => "Unhealthy",
        };
        (state, condition.text("message"), condition.text("error"))
    });
    vec![row.name(), state.into(), message.into(), error.into()]
}

pub(super) fn role_binding(row: Row<'_>) -> Vec<Value> {
    let role = row.object.at("roleRef");
    let role = format!("{}/{}", role.text("kind"), role.text("name"));
    let subjects = |kind: &str| -> Value {
        let names: Vec<String> = row
            .object
            .list("subjects")
            .iter()
            .filter(|subject| subject.text("kind") == kind)
            .map(|subject| match subject.text("namespace") {
                namespace if kind == "ServiceAccount" && !namespace.is_empty() => {
                    format!("{namespace}/{}", subject.text("name"))
                }
                _ => subject.text("name").to_owned(),
            })
            .collect();
        names.join(", ").into()
    };
    vec![
        row.name(),
        role.into(),
        row.age(),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}

pub(super) fn signing_request(row: Row<'_>) -> Vec<Value> {
    let (spec, status) = (row.spec(), row.status());
    let has = |kind: &str| {
        let conditions = status.list("conditions");
        conditions.iter().any(|c| c.text("type") == kind)
    };
    let mut state = match (has("Denied"), has("Approved")) {
        (true, _) => "Denied",
        (_, true) => "Approved",
        _ => "Pending",
    }
    .to_owned();
    if has("Failed") {
        state.push_str(",Failed");
    }
    if !status.text("certificate").is_empty() {
        state.push_str(",Issued");
    }
    let wanted = spec.int("expirationSeconds");
    vec![
        row.name(),
        row.age(),
        or_none(spec.text("signerName")).into(),
        spec.text("username").into(),
        wanted.map_or("<none>".to_owned(), duration).into(),
        state.into(),
    ]
}

pub(super) fn trust_bundle(row: Row<'_>) -> Vec<Value> {
    let signer = or_none(row.spec().text("signerName"));
    vec![row.name(), signer.into()]
}

pub(super) fn lease(row: Row<'_>) -> Vec<Value> {
    let holder = row.spec().text("holderIdentity").into();
    vec![row.name(), holder, row.age()]
}

pub(super) fn lease_candidate(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    vec![
        row.name(),
        spec.text("leaseName").into(),
        spec.text("binaryVersion").into(),
        spec.text("emulationVersion").into(),
        row.age(),
    ]
}

pub(super) fn priority_class(row: Row<'_>) -> Vec<Value> {
    vec![
        row.name(),
        count(row.object, "value").into(),
        row.object.flag("globalDefault").into(),
        row.age(),
        row.object.text("preemptionPolicy").into(),
    ]
}

pub(super) fn runtime_class(row: Row<'_>) -> Vec<Value> {
    vec![row.name(), row.object.text("handler").into(), row.age()]
}

pub(super) fn webhook_configuration(row: Row<'_>) -> Vec<Value> {
    let webhooks = row.object.list("webhooks").len().into();
    vec![row.name(), webhooks, row.age()]
}

pub(super) fn admission_policy(row: Row<'_>, rules: &str) -> Vec<Value> {
    let kind = row.spec().at("paramKind");
    let kind = if kind.is_null() {
        "<unset>".to_owned()
    } else {
        format!("{}/{}", kind.text("apiVersion"), kind.text("kind"))
    };
    let rules = row.spec().list(rules).len().into();
    vec![row.name(), rules, kind.into(), row.age()]
}

pub(super) fn admission_policy_binding(row: Row<'_>) -> Vec<Value> {
    let reference = row.spec().at("paramRef");
    let parameter = match (reference.text("namespace"), reference.text("name")) {
        (_, "") if reference.has("selector") => selector(reference.at("selector")),
        (_, "") => "<unset>".to_owned(),
        ("", name) => format!("*/{name}"),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    let policy = row.spec().text("policyName").into();
    vec![row.name(), policy, parameter.into(), row.age()]
}

pub(super) fn flow_schema(row: Row<'_>) -> Vec<Value> {
    let spec = row.spec();
    let dangling = row
        .status()
        .list("conditions")
        .iter()
        .find(|condition| condition.text("type") == "Dangling")
        .map_or("?", |condition| condition.text("status"));
    vec![
        row.name(),
        spec.at("priorityLevelConfiguration").text("name").into(),
        count(spec, "matchingPrecedence").into(),
        or_none(spec.at("distinguisherMethod").text("type")).into(),
        row.age(),
        dangling.into(),
    ]
}

pub(super) fn priority_level(row: Row<'_>) -> Vec<Value> {
    let limited = row.spec().at("limited");
    let queuing = limited.at("limitResponse").at("queuing");
    let number = |holder: &Value, field: &str| -> Value {
        if holder.is_null() {
            "<none>".into()
        } else {
            count(holder, field).into()
        }
    };
    vec![
        row.name(),
        row.spec().text("type").into(),
        number(limited, "nominalConcurrencyShares"),
        number(queuing, "queues"),
        number(queuing, "handSize"),
        number(queuing, "queueLengthLimit"),
        row.age(),
    ]
}

pub(super) fn api_service(row: Row<'_>) -> Vec<Value> {
    let service = row.spec().at("service");
    let server = if service.is_null() {
        "Local".to_owned()
    } else {
        format!("{}/{}", service.text("namespace"), service.text("name"))
    };
    let conditions = row.status().list("conditions");
    let available = conditions
        .iter()
        .find(|condition| condition.text("type") == "Available");
    let available = match available.map(|it| (it.text("status"), it.text("reason"))) {
        None => "Unknown".to_owned(),
        Some((status, reason)) if status != "True" && !reason.is_empty() => {
            format!("{status} ({reason})")
        }
        Some((status, _)) => status.to_owned(),
    };
    vec![row.name(), server.into(), available.into(), row.age()]
}

fn event_source(event: &Value) -> String {
    let source = event.at("source");
    let component = or(source.text("component"), event.text("reportingComponent"));
    let host = or(source.text("host"), event.text("reportingInstance"));
    if host.is_empty() {
        component
    } else {
        format!("{component}, {host}")
    }
}
