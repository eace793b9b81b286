//! Deletion: the objects of a definition go first, and each of them waits for its own finalizers.

use kubewright_apimachinery::status::{Result, Status, qualified};
use kubewright_apimachinery::time::now;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_storage::{At, Draft, Object};
use serde_json::Value;

use super::conditions::{self, Condition};
use super::write::Storage;

/// The finalizer that keeps a definition until its objects are deleted.
pub(super) const FINALIZER: &str = "customresourcecleanup.apiextensions.k8s.io";

/// Marks a definition for deletion: returns it with a `deletionTimestamp`, the finalizer and the condition `Terminating`.
pub fn marked(definition: &Value) -> Value {
    let mut marked = definition.clone();
    if let Some(metadata) = marked.part("metadata") {
        metadata.put("deletionTimestamp", now());
        let mut finalizers = metadata.list("finalizers").to_vec();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            finalizers.push(FINALIZER.into());
        }
        metadata.put("finalizers", finalizers);
    }
    let pending = Condition {
        kind: "Terminating",
        status: "True",
        reason: "InstanceDeletionPending",
        message: "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    };
    pending.set(&mut marked);
    marked
}

/// Checks the preconditions of a delete request, with the messages of the real server's storage for definitions.
///
/// # Errors
/// 409 if the UID or the resource version of the definition differs from the precondition.
pub fn check_preconditions(
    name: &str,
    definition: &Value,
    uid: Option<&str>,
    revision: Option<&str>,
) -> Result<()> {
    let metadata = definition.at("metadata");
    let wanted = [
        ("UID", uid, "uid"),
        ("ResourceVersion", revision, "resourceVersion"),
    ];
    for (word, wanted, field) in wanted {
        let found = metadata.text(field);
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            let why = format!(
                "precondition failed: {word} in precondition: {wanted}, {word} in object meta: {found}"
            );
            let (group, plural) = ("apiextensions.k8s.io", "customresourcedefinitions");
            return Err(Status::conflict(group, plural, name, &why));
        }
    }
    Ok(())
}

/// Whether a definition is being deleted and still has the finalizer.
pub(super) fn is_awaited(definition: &Value) -> bool {
    let metadata = definition.at("metadata");
    let mut finalizers = metadata.list("finalizers").iter();
    metadata.has("deletionTimestamp") && finalizers.any(|name| name == FINALIZER)
}

/// One step of the deletion of a definition.
pub(super) fn finish(storage: &Storage, stored: &Object, definition: &Value) -> bool {
    if !is_awaited(definition) {
        return false;
    }
    let in_progress = Condition {
        kind: "Terminating",
        status: "True",
        reason: "InstanceDeletionInProgress",
        message: "CustomResource deletion is in progress",
    };
    if !in_progress.is_in(definition) {
        let mut new = definition.clone();
        in_progress.set(&mut new);
        return storage.write_status(stored, definition, new);
    }
    let done = if conditions::is_true(definition, "Established") {
        if !delete_objects(storage, definition) {
            return false;
        }
        Condition {
            status: "False",
            reason: "InstanceDeletionCompleted",
            message: "removed all instances",
            ..in_progress
        }
    } else {
        Condition {
            status: "False",
            reason: "NeverEstablished",
            message: "resource was never established",
            ..in_progress
        }
    };
    let mut new = definition.clone();
    done.set(&mut new);
    if let Some(metadata) = new.part("metadata") {
        let mut finalizers = metadata.list("finalizers").to_vec();
        finalizers.retain(|name| name != FINALIZER);
        metadata.put("finalizers", finalizers);
    }
    storage.write_status(stored, definition, new)
}

/// Deletes the objects of a definition; false while some of them wait for their finalizers.
fn delete_objects(storage: &Storage, definition: &Value) -> bool {
    let spec = definition.at("spec");
    let plural = spec.at("names").text("plural");
    let table = qualified(plural, spec.text("group"));
    let store = &storage.store;
    let all = || {
        let listed = store.list(&table, "", "", usize::MAX, At::Now);
        listed.map(|listed| listed.objects).unwrap_or_default()
    };
    for stored in all() {
        let mut object = stored.value();
        let waits = !object.at("metadata").list("finalizers").is_empty();
        let (path, revision) = (&stored.path, stored.revision);
        // A write that conflicts is retried when the controller next reads the definition.
        if !waits {
            drop(store.delete(&table, path, revision, Draft::new(&object)));
        } else if !object.at("metadata").has("deletionTimestamp") {
            if let Some(metadata) = object.part("metadata") {
                let generation = metadata.int("generation").unwrap_or(0).wrapping_add(1);
                metadata.put("deletionTimestamp", now());
                metadata.put("deletionGracePeriodSeconds", 0);
                metadata.put("generation", generation);
            }
            drop(store.replace(&table, path, revision, Draft::new(&object)));
        }
    }
    all().is_empty()
}
