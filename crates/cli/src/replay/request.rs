//! The request of an audit event, as admission saw it.

use kubewright_apiserver::admission::{AdmissionRequest, Operation, User};
use serde_json::{Map, Value, json};

use super::event::{Event, ObjectReference};
use super::history::History;

/// Which webhooks see the request: those that mutate see it as it was sent, those that validate as it is about to be stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Mutating,
    Validating,
}

/// Why an event cannot be replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// The level of the event is too low.
    Object,
    /// No earlier event has the object before the request.
    OldObject,
    /// A refused patch, whose result cannot be found out.
    PatchedObject,
}

impl Missing {
    /// The reason, for people.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Object => {
                "the event does not have the object: set the level RequestResponse in the audit policy"
            }
            Self::OldObject => "no earlier event of the log has the object before the request",
            Self::PatchedObject => {
                "the patch was refused, and its result cannot be found out of the log"
            }
        }
    }
}

/// The requests of an event, and what was assumed of them.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    pub(crate) requests: Vec<AdmissionRequest>,
    pub(crate) assumed: Vec<&'static str>,
}

/// The group of sub-resources that are connections: that of pods, services and nodes.
const CORE: &str = "";

/// The operation of an event that passed admission; none if it reads, or was refused before.
pub(crate) fn operation(event: &Event) -> Option<Operation> {
    let place = event.object_ref.as_ref()?;
    if event.stage != "ResponseComplete" || is_refused_before_admission(event) {
        return None;
    }
    let is_connection = place.api_group == CORE
        && matches!(
            &*place.subresource,
            "exec" | "attach" | "portforward" | "proxy"
        );
    if is_connection {
        return Some(Operation::Connect);
    }
    match &*event.verb {
        "create" => Some(Operation::Create),
        // Server-side apply creates objects that do not exist.
        "patch" if event.response_status.code == 201 => Some(Operation::Create),
        "update" | "patch" => Some(Operation::Update),
        "delete" | "deletecollection" => Some(Operation::Delete),
        _ => None,
    }
}

fn is_refused_before_admission(event: &Event) -> bool {
    let forbidden = event.annotations.get("authorization.k8s.io/decision");
    forbidden.is_some_and(|decision| decision == "forbid")
        || matches!(event.response_status.code, 401 | 404..=406 | 415 | 429)
}

/// The requests of an event for webhooks of a role. A collection that is deleted is one request for each of its objects.
pub(crate) fn requests(
    event: &Event,
    operation: Operation,
    role: Role,
    history: &History,
) -> Result<Requests, Missing> {
    let Some(place) = &event.object_ref else {
        return Err(Missing::Object);
    };
    let base = base(event, place, operation);
    match operation {
        Operation::Create => create(event, place, role, base),
        Operation::Update => update(event, place, role, base, history),
        Operation::Delete => delete(event, place, base, history),
        _ => {
            let object = connection(event, place);
            let requests = vec![AdmissionRequest { object, ..base }];
            Ok(Requests {
                requests,
                assumed: Vec::new(),
            })
        }
    }
}

fn base(event: &Event, place: &ObjectReference, operation: Operation) -> AdmissionRequest {
    let user = event.user().clone();
    let is_namespace = place.api_group.is_empty() && place.resource == "namespaces";
    AdmissionRequest {
        resource: (
            place.api_group.clone(),
            place.api_version.clone(),
            place.resource.clone(),
        ),
        subresource: place.subresource.clone(),
        namespace: if is_namespace {
            place.name.clone()
        } else {
            place.namespace.clone()
        },
        name: place.name.clone(),
        user: User {
            username: user.username,
            uid: user.uid,
            groups: user.groups,
            extra: user.extra,
        },
        dry_run: event.is_dry_run(),
        options: options(event, operation),
        ..AdmissionRequest::new(operation)
    }
}

/// The options of a request, which are in its query, or in the body of a deletion.
fn options(event: &Event, operation: Operation) -> Value {
    let kind = match operation {
        Operation::Create => "CreateOptions",
        Operation::Update => "UpdateOptions",
        Operation::Delete => "DeleteOptions",
        _ => return Value::Null,
    };
    let sent = event
        .request_object()
        .filter(|_| operation == Operation::Delete);
    let mut options = match sent {
        Some(Value::Object(options)) => options,
        _ => Map::new(),
    };
    options.insert("kind".to_owned(), kind.into());
    options.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
    for name in ["fieldManager", "fieldValidation"] {
        if let Some(value) = event.parameters(name).next() {
            options.insert(name.to_owned(), value.into());
        }
    }
    if event.is_dry_run() {
        options.insert("dryRun".to_owned(), json!(["All"]));
    }
    Value::Object(options)
}

fn create(
    event: &Event,
    place: &ObjectReference,
    role: Role,
    base: AdmissionRequest,
) -> Result<Requests, Missing> {
    let mut assumed = Vec::new();
    let sent = event.request_object().filter(is_object);
    let stored = event
        .response_object()
        .filter(|_| place.subresource.is_empty() && !event.is_refused());
    let object = match (role, stored, sent) {
        (Role::Validating, Some(mut stored), _) => {
            remove(&mut stored, &["resourceVersion"]);
            stored
        }
        (_, stored, Some(mut sent)) => {
            if role == Role::Validating && stored.is_none() && place.subresource.is_empty() {
                assumed.push(AS_SENT);
            }
            if event.verb == "patch" {
                assumed.push(WITHOUT_DEFAULTS);
            }
            prepare(&mut sent, place);
            sent
        }
        (_, Some(stored), None) => stored,
        (_, None, None) => return Err(Missing::Object),
    };
    let mut base = base;
    if role == Role::Validating && base.name.is_empty() {
        let name = object["metadata"]["name"].as_str();
        name.unwrap_or_default().clone_into(&mut base.name);
    }
    Ok(one(AdmissionRequest { object, ..base }, assumed))
}

fn update(
    event: &Event,
    place: &ObjectReference,
    role: Role,
    base: AdmissionRequest,
    history: &History,
) -> Result<Requests, Missing> {
    let mut assumed = Vec::new();
    let sent = event.request_object();
    let stored = event.response_object().filter(|_| !event.is_refused());
    let is_patch = event.verb == "patch";
    if sent.is_none() && stored.is_none() {
        return Err(Missing::Object);
    }
    let api_version = |object: &Value| object["apiVersion"].as_str().map(str::to_owned);
    let version = stored
        .as_ref()
        .and_then(api_version)
        .or_else(|| sent.as_ref().filter(|_| !is_patch).and_then(api_version))
        .unwrap_or_else(|| group_version(place));
    let old = history.last(
        &place.api_group,
        &place.resource,
        &place.namespace,
        &place.name,
        &version,
    );
    // A scale has no history of its own.
    let old = old.filter(|old| {
        let new = stored
            .as_ref()
            .or_else(|| sent.as_ref().filter(|_| !is_patch));
        new.is_none_or(|new| new["kind"] == old["kind"])
    });
    let old_object = old.ok_or(Missing::OldObject)?;
    let mut object = match (role, stored, sent) {
        (Role::Mutating, Some(stored), _) if is_patch => {
            assumed.push(AS_STORED);
            stored
        }
        (_, None, Some(patch)) if is_patch => {
            assumed.push(PATCHED_HERE);
            patched(&old_object, &patch).ok_or(Missing::PatchedObject)?
        }
        (Role::Validating, Some(stored), _) => stored,
        (_, stored, Some(mut sent)) if is_object(&sent) => {
            if role == Role::Validating && stored.is_none() {
                assumed.push(AS_SENT);
            }
            prepare_namespace(&mut sent, place);
            sent
        }
        (_, Some(stored), _) => stored,
        _ => return Err(Missing::Object),
    };
    let resource_version = &old_object["metadata"]["resourceVersion"];
    if role == Role::Validating && resource_version.is_string() {
        object["metadata"]["resourceVersion"] = resource_version.clone();
    }
    let request = AdmissionRequest {
        object,
        old_object,
        ..base
    };
    Ok(one(request, assumed))
}

fn delete(
    event: &Event,
    place: &ObjectReference,
    base: AdmissionRequest,
    history: &History,
) -> Result<Requests, Missing> {
    if event.verb == "deletecollection" {
        let list = event.response_object().ok_or(Missing::Object)?;
        let requests = items(&list).into_iter().map(|old_object| AdmissionRequest {
            old_object,
            ..base.clone()
        });
        return Ok(Requests {
            requests: requests.collect(),
            assumed: Vec::new(),
        });
    }
    let known = history.last(
        &place.api_group,
        &place.resource,
        &place.namespace,
        &place.name,
        &group_version(place),
    );
    let answered = event.response_object().filter(|_| !event.is_refused());
    let old_object = known.or(answered).ok_or(Missing::OldObject)?;
    Ok(one(AdmissionRequest { old_object, ..base }, Vec::new()))
}

/// The objects of a list, each with its kind, which lists leave out.
pub(crate) fn items(list: &Value) -> Vec<Value> {
    let kind = list["kind"].as_str().unwrap_or_default();
    let kind = kind.strip_suffix("List").unwrap_or_default();
    let items = list["items"].as_array().into_iter().flatten();
    items
        .filter(|item| item.is_object())
        .map(|item| {
            let mut item = item.clone();
            for (name, value) in [
                ("kind", kind.into()),
                ("apiVersion", list["apiVersion"].clone()),
            ] {
                if item[name].is_null() {
                    item[name] = value;
                }
            }
            item
        })
        .collect()
}

/// The options of a connection, which are in its query.
fn connection(event: &Event, place: &ObjectReference) -> Value {
    let (parent, part) = (&*place.resource, &*place.subresource);
    let parent = match parent {
        "pods" => "Pod",
        "services" => "Service",
        _ => "Node",
    };
    let part_name = match part {
        "exec" => "Exec",
        "attach" => "Attach",
        "portforward" => "PortForward",
        _ => "Proxy",
    };
    let mut object = json!({"kind": format!("{parent}{part_name}Options"), "apiVersion": "v1"});
    match part {
        "exec" | "attach" => {
            for name in ["stdin", "stdout", "stderr", "tty"] {
                let mut values = event.parameters(name);
                if values.any(|value| matches!(&*value, "" | "1" | "t" | "true" | "True" | "TRUE"))
                {
                    object[name] = true.into();
                }
            }
            if let Some(container) = event.parameters("container").next() {
                object["container"] = container.into();
            }
            let command: Vec<String> = event.parameters("command").collect();
            if part == "exec" && !command.is_empty() {
                object["command"] = command.into();
            }
        }
        "portforward" => {
            let ports: Vec<u16> = event
                .parameters("ports")
                .flat_map(|ports| {
                    ports
                        .split(',')
                        .filter_map(|port| port.parse().ok())
                        .collect::<Vec<_>>()
                })
                .collect();
            if !ports.is_empty() {
                object["ports"] = ports.into();
            }
        }
        _ => {
            let path = event.request_uri.split('?').next().unwrap_or_default();
            if let Some((_, path)) = path.split_once("/proxy")
                && !path.is_empty()
            {
                object["path"] = path.into();
            }
        }
    }
    object
}

/// The object that a patch makes of another, if every kind of patch would make the same.
///
/// An event does not say of which kind a patch is. A list is a JSON Patch. Of the others, strategic merge patches and
/// configurations of server-side apply treat lists in ways of their own; without lists and directives they are as JSON Merge
/// Patches.
fn patched(old: &Value, patch: &Value) -> Option<Value> {
    let mut object = old.clone();
    if patch.is_array() {
        let patch: json_patch::Patch = serde_json::from_value(patch.clone()).ok()?;
        json_patch::patch(&mut object, &patch).ok()?;
        return Some(object);
    }
    if !is_object(patch) || has_list_or_directive(patch) {
        return None;
    }
    json_patch::merge(&mut object, patch);
    Some(object)
}

fn has_list_or_directive(value: &Value) -> bool {
    match value {
        Value::Array(_) => true,
        Value::Object(members) => members
            .iter()
            .any(|(name, value)| name.starts_with('$') || has_list_or_directive(value)),
        _ => false,
    }
}

/// Makes of a new object what admission gets: in the namespace of the request, without fields that only the API server sets.
fn prepare(object: &mut Value, place: &ObjectReference) {
    if place.subresource.is_empty() {
        let set = [
            "uid",
            "creationTimestamp",
            "deletionTimestamp",
            "deletionGracePeriodSeconds",
        ];
        remove(object, &set);
    }
    prepare_namespace(object, place);
}

fn prepare_namespace(object: &mut Value, place: &ObjectReference) {
    let is_namespace = place.api_group.is_empty() && place.resource == "namespaces";
    if !place.namespace.is_empty()
        && !is_namespace
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.insert("namespace".to_owned(), place.namespace.as_str().into());
    }
}

fn remove(object: &mut Value, members: &[&str]) {
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for member in members {
            metadata.remove(*member);
        }
    }
}

fn is_object(value: &Value) -> bool {
    value.is_object()
}

fn group_version(place: &ObjectReference) -> String {
    if place.api_group.is_empty() {
        place.api_version.clone()
    } else {
        format!("{}/{}", place.api_group, place.api_version)
    }
}

fn one(request: AdmissionRequest, assumed: Vec<&'static str>) -> Requests {
    Requests {
        requests: vec![request],
        assumed,
    }
}

const AS_SENT: &str = "a refused request: validating webhooks get the object as it was sent, without the changes of mutating webhooks";
const AS_STORED: &str = "a patch: mutating webhooks get the object as it was stored, with the changes of mutating webhooks";
const PATCHED_HERE: &str =
    "a refused patch: its result is the last object in the log with the patch";
const WITHOUT_DEFAULTS: &str =
    "a server-side apply that creates: mutating webhooks get the object without its defaults";

#[cfg(test)]
mod tests;
