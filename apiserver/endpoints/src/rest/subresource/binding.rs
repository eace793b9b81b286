//! `pods/binding` and `bindings`: a scheduler puts a pod on a node.

use http::Response;
use kubewright_admission::Operation;
use kubewright_apimachinery::accessor::{meta_text, metadata, metadata_mut};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::names;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::now;
use kubewright_registry::pod_gates;
use kubewright_storage::{Raced, ReadBack};
use serde_json::{Value, json};

use crate::body::Body;
use crate::rest::call::{Call, table_of};
use crate::rest::decode::{self, Decoded};
use crate::rest::metadata::settle_namespace;
use crate::rest::query::WriteOptions;
use crate::rest::{answer, tracking};
use crate::rest::{update, write};

/// Binds the pod that the path names.
pub(super) async fn bind(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let binding = decode::body(call, &kind(), &options)?;
    call.audit(&kind(), &binding.object);
    admit_and_bind(call, call, &options, binding).await
}

/// Binds the pod that the body names: POST to `bindings`.
pub(crate) async fn bind_by_body(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let binding = decode::body(call, &kind(), &options)?;
    call.audit(&kind(), &binding.object);
    let registry = call.shared.served.now();
    let pods = registry
        .find("", "v1", "pods")
        .ok_or_else(Status::no_such_resource)?;
    let mut of_pod = call.clone();
    of_pod.table = table_of(&pods);
    of_pod.storage = pods.clone();
    of_pod.resource = pods;
    meta_text(&binding.object, "name").clone_into(&mut of_pod.path.name);
    admit_and_bind(call, &of_pod, &options, binding).await
}

async fn admit_and_bind(
    call: &Call,
    pod: &Call,
    options: &WriteOptions,
    decoded: Decoded,
) -> Result<Response<Body>> {
    let Decoded {
        object: mut binding,
        empties,
        ..
    } = decoded;
    // The uid and the version are preconditions; the rest of what the server owns is not looked at.
    settle_namespace(call, &mut binding)?;
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.kind = kind();
    attributes.name.clone_from(&pod.path.name);
    attributes.dry_run = options.dry_run;
    attributes.object = binding;
    attributes.empties = empties;
    tracking::mutate(call, options, &mut attributes).await?;
    if meta_text(&attributes.object, "name") != pod.path.name {
        return Err(Status::bad_request(
            "name in URL does not match name in Binding object",
        ));
    }
    check(&attributes.object)?;
    call.validate(&attributes).await?;
    let binding = &attributes.object;
    loop {
        let stored = pod.stored()?;
        let mut object = pod.value(&stored).await?;
        assign(pod, &mut object, binding, options.dry_run)?;
        match write::store(pod, options.dry_run, &object, ReadBack::AsStored, &stored).await? {
            Ok(_) => return Ok(answer::done(call)),
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
}

fn check(binding: &Value) -> Result<()> {
    let target = &binding["target"];
    let mut errors = Vec::new();
    let kind = target["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        let path = Path::new("target.kind");
        errors.push(FieldError::not_supported(&path, kind, &["Node", "<empty>"]));
    }
    let (name, path) = (
        target["name"].as_str().unwrap_or_default(),
        Path::new("target.name"),
    );
    if name.is_empty() {
        errors.push(FieldError::required(&path, ""));
    } else if matches!(kind, "" | "Node") {
        for problem in names::dns1123_subdomain(name) {
            errors.push(FieldError::invalid(&path, name, &problem));
        }
    }
    // The real server does not convert these errors into a Status.
    let messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    match &messages[..] {
        [] => Ok(()),
        [one] => Err(Status::plain(one)),
        _ => Err(Status::plain(format!("[{}]", messages.join(", ")))),
    }
}

fn assign(call: &Call, pod: &mut Value, binding: &Value, dry_run: bool) -> Result<()> {
    let name = &call.path.name;
    let conflict = |why: String| Status::conflict("", "pods/binding", name, &why);
    update::check_uid(call, binding, pod, dry_run)?;
    update::check_version(call, binding, pod, dry_run)?;
    if metadata(pod).contains_key("deletionTimestamp") {
        return Err(conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        let node = quoted(node);
        return Err(conflict(format!(
            "pod {name} is already assigned to node {node}"
        )));
    }
    if pod["spec"]["schedulingGates"]
        .as_array()
        .is_some_and(|gates| !gates.is_empty())
    {
        return Err(conflict(format!(
            "pod {name} has non-empty .spec.schedulingGates"
        )));
    }
    pod["spec"]["nodeName"] = binding["target"]["name"].clone();
    for field in ["annotations", "labels"] {
        let Some(entries) = metadata(binding).get(field).and_then(Value::as_object) else {
            continue;
        };
        let own = metadata_mut(pod).entry(field).or_insert_with(|| json!({}));
        for (key, value) in entries {
            own[key] = value.clone();
        }
    }
    pod_gates::without_retired_annotations(&mut pod["metadata"]);
    if let Some(status) = pod["status"].as_object_mut() {
        status.remove("nominatedNodeName");
    }
    is_scheduled(&mut pod["status"]["conditions"]);
    Ok(())
}

/// Sets the condition, in its place if there is one.
fn is_scheduled(conditions: &mut Value) {
    let mut condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now(),
    });
    let Some(list) = conditions.as_array_mut() else {
        *conditions = json!([condition]);
        return;
    };
    let mut known = list.iter_mut();
    match known.find(|known| known["type"] == condition["type"]) {
        Some(known) => {
            if known["status"] == condition["status"] {
                condition["lastTransitionTime"] = known["lastTransitionTime"].take();
            }
            *known = condition;
        }
        None => list.push(condition),
    }
}

fn kind() -> GroupVersionKind {
    GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Binding".to_owned(),
    }
}
