//! `pods/binding` and `bindings`: a scheduler puts a pod on a node.

use http::Response;
use serde_json::{Value, json};

use super::done;
use crate::admission::Operation;
use crate::field::{FieldError, Path};
use crate::kinds::GroupVersionKind;
use crate::rest::body::Body;
use crate::rest::call::{Call, meta_text, metadata, metadata_mut, table_of};
use crate::rest::decode;
use crate::rest::metadata::{clear_owned, now, settle_namespace};
use crate::rest::query::WriteOptions;
use crate::rest::write;
use crate::status::{Result, Status};
use crate::store::Raced;

/// Binds the pod that the path names.
pub(super) async fn bind(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let mut binding = decode::body(call, &kind(), &options)?;
    let (name, url) = (meta_text(&binding, "name"), &call.path.name);
    if !name.is_empty() && name != url {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({url})"
        )));
    }
    let name = url.clone();
    metadata_mut(&mut binding).insert("name".to_owned(), name.into());
    admit_and_bind(call, call, &options, binding).await
}

/// Binds the pod that the body names: POST to `bindings`.
pub(crate) async fn bind_by_body(call: &Call) -> Result<Response<Body>> {
    let options = WriteOptions::read(&call.query, "CreateOptions")?;
    let binding = decode::body(call, &kind(), &options)?;
    let registry = call.shared.registry;
    let pods = registry
        .find("", "v1", "pods")
        .ok_or_else(Status::no_such_resource)?;
    let mut of_pod = call.clone();
    of_pod.table = table_of(&pods);
    of_pod.storage = pods.clone();
    of_pod.resource = pods;
    meta_text(&binding, "name").clone_into(&mut of_pod.path.name);
    admit_and_bind(call, &of_pod, &options, binding).await
}

async fn admit_and_bind(
    call: &Call,
    pod: &Call,
    options: &WriteOptions,
    mut binding: Value,
) -> Result<Response<Body>> {
    clear_owned(&mut binding);
    settle_namespace(call, &mut binding)?;
    let mut attributes = call.attributes(Operation::Create, options.to_value("CreateOptions"));
    attributes.kind = kind();
    attributes.name.clone_from(&pod.path.name);
    attributes.dry_run = options.dry_run;
    attributes.object = binding;
    call.mutate(&mut attributes).await?;
    check(&attributes.object, &pod.path.name)?;
    call.validate(&attributes).await?;
    let binding = &attributes.object;
    loop {
        let stored = pod.stored()?;
        let mut object = pod.value(&stored)?;
        assign(pod, &mut object, binding)?;
        match write::store(pod, options.dry_run, &object, &stored)? {
            Ok(_) => return Ok(done(call)),
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
}

fn check(binding: &Value, name: &str) -> Result<()> {
    let target = &binding["target"];
    let mut errors = Vec::new();
    let kind = target["kind"].as_str().unwrap_or_default();
    if !matches!(kind, "" | "Node") {
        let path = Path::new("target.kind");
        errors.push(FieldError::not_supported(&path, kind, &["Node", "<empty>"]));
    }
    if target["name"].as_str().unwrap_or_default().is_empty() {
        errors.push(FieldError::required(&Path::new("target.name"), ""));
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(Status::invalid("", "Binding", name, &errors))
}

fn assign(call: &Call, pod: &mut Value, binding: &Value) -> Result<()> {
    let name = &call.path.name;
    let conflict = |why: String| Status::conflict("", "pods/binding", name, &why);
    let uid = meta_text(binding, "uid");
    if !uid.is_empty() && uid != meta_text(pod, "uid") {
        let actual = meta_text(pod, "uid");
        return Err(conflict(format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {actual}"
        )));
    }
    if metadata(pod).contains_key("deletionTimestamp") {
        return Err(conflict(format!(
            "pod {name} is being deleted, cannot be assigned to a host"
        )));
    }
    let node = pod["spec"]["nodeName"].as_str().unwrap_or_default();
    if !node.is_empty() {
        let node = crate::field::quoted(node);
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
    if let Some(annotations) = metadata(binding)
        .get("annotations")
        .and_then(Value::as_object)
    {
        let metadata = metadata_mut(pod);
        let own = metadata.entry("annotations").or_insert_with(|| json!({}));
        for (key, value) in annotations {
            own[key] = value.clone();
        }
    }
    let condition = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now(),
    });
    let conditions = &mut pod["status"]["conditions"];
    match conditions.as_array_mut() {
        Some(list) => {
            list.retain(|known| known["type"] != "PodScheduled");
            list.push(condition);
        }
        None => *conditions = json!([condition]),
    }
    Ok(())
}

fn kind() -> GroupVersionKind {
    GroupVersionKind {
        group: String::new(),
        version: "v1".to_owned(),
        kind: "Binding".to_owned(),
    }
}
