//! PUT: replaces an object, or creates it for the few kinds that allow that.

use http::{Response, StatusCode};
use kubewright_apimachinery::accessor::{meta_text, metadata_mut};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_registry::Verb;
use serde_json::Value;

use super::call::Call;
use super::decode::{self, Decoded};
use super::metadata::{Stage, dedup_owners};
use super::query::WriteOptions;
use super::{answer, create, write};
use crate::body::Body;

/// Replaces the object that the path names.
pub(crate) async fn update(call: &Call) -> Result<Response<Body>> {
    if call.path.subresource.is_empty() && !call.resource.serves(Verb::Update) {
        return Err(Status::method_not_allowed());
    }
    let options = WriteOptions::read(&call.query, "UpdateOptions")?;
    let mut decoded = Some(decode(call, &options)?);
    if matches!(call.path.subresource.as_str(), "" | "status")
        && call.resource.strategy.behavior().create_on_update
        && call
            .shared
            .store
            .get(&call.table, &call.key(&call.path.name))
            .is_none()
    {
        let decoded = decoded.take().unwrap_or_default();
        check_uid(call, &decoded.object, &Value::Null, options.dry_run)?;
        let shown = create::admit_and_store(call, &options, decoded).await?;
        return answer::object(call, StatusCode::CREATED, &shown).await;
    }
    let shown = write::write(call, &options, |current| {
        let decoded = match decoded.take() {
            Some(decoded) => decoded,
            None => decode(call, &options)?,
        };
        check_uid(call, &decoded.object, current, options.dry_run)?;
        Ok(decoded)
    })
    .await?;
    answer::object(call, StatusCode::OK, &shown).await
}

fn decode(call: &Call, options: &WriteOptions) -> Result<Decoded> {
    let kind = call.kind();
    let mut decoded = decode::body(call, &kind, options)?;
    call.resource.default(&mut decoded.object);
    call.audit(&kind, &decoded.object);
    if call.resource.namespaced {
        check_namespace(call, &decoded.object)?;
    }
    check_name(call, &mut decoded.object)?;
    dedup_owners(&mut decoded.object, Stage::Received, &call.notes);
    Ok(decoded)
}

/// The etcd key of an object on the real server, without the prefix of all keys: some of its error messages contain it.
pub(crate) fn storage_key(call: &Call, name: &str) -> String {
    let storage = &call.storage;
    let place = if storage.strategy.is_unstructured() {
        format!("{}/{}", storage.group, storage.plural)
    } else {
        prefix(&storage.group, &storage.plural).to_owned()
    };
    format!("{place}/{}", call.key(name))
}

fn prefix<'a>(group: &str, plural: &'a str) -> &'a str {
    match (group, plural) {
        ("", "replicationcontrollers") => "controllers",
        ("", "endpoints") => "services/endpoints",
        ("", "nodes") => "minions",
        ("", "services") => "services/specs",
        ("networking.k8s.io", "ingresses") => "ingress",
        (_, plural) => plural,
    }
}

/// Checks the UID of the body, if it has one: it is a precondition.
pub(crate) fn check_uid(call: &Call, new: &Value, old: &Value, dry_run: bool) -> Result<()> {
    let (said, actual) = (meta_text(new, "uid"), meta_text(old, "uid"));
    check_precondition(call, "UID", [said, actual], dry_run)
}

/// The version in the body, if it has one, is that of the stored object.
pub(crate) fn check_version(call: &Call, new: &Value, old: &Value, dry_run: bool) -> Result<()> {
    let [said, actual] = [new, old].map(|object| meta_text(object, "resourceVersion"));
    check_precondition(call, "ResourceVersion", [said, actual], dry_run)
}

fn check_precondition(
    call: &Call,
    what: &str,
    [said, actual]: [&str; 2],
    dry_run: bool,
) -> Result<()> {
    if said.is_empty() || said == actual {
        return Ok(());
    }
    let name = &call.path.name;
    // A dry run checks before the storage that puts its prefix before keys.
    let prefix = if dry_run { "" } else { "/registry" };
    let key = format!("{prefix}/{}", storage_key(call, name));
    Err(call.conflict(
        name,
        &format!(
            "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, \
             AdditionalErrorMsg: Precondition failed: {what} in precondition: {said}, {what} in object \
             meta: {actual}"
        ),
    ))
}

/// The name in the body is that of the path, and so is the namespace where there is one.
pub(super) fn check_name(call: &Call, object: &mut Value) -> Result<()> {
    let (name, url) = (meta_text(object, "name"), &call.path.name);
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({url} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != url {
        return Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({url})"
        )));
    }
    if !call.resource.namespaced {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    check_namespace(call, object)
}

pub(super) fn check_namespace(call: &Call, object: &Value) -> Result<()> {
    let (namespace, url) = (meta_text(object, "namespace"), &call.path.namespace);
    if !namespace.is_empty() && namespace != url {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}
