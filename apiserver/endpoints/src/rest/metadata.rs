//! The metadata that the server owns: what a client may not set, and what is filled in on create.

use kubewright_admission::Notes;
use kubewright_apimachinery::accessor::{meta_text, metadata, metadata_mut};
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::now;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::call::Call;

/// Takes out of a new object what only the server sets (spec section A.2.1 step 3).
pub(crate) fn clear_owned(object: &mut Value) {
    let metadata = metadata_mut(object);
    for name in [
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "uid",
        "selfLink",
    ] {
        metadata.remove(name);
    }
}

/// Sets the namespace from the path, or refuses an object that says another one.
pub(crate) fn settle_namespace(call: &Call, object: &mut Value) -> Result<()> {
    if !call.resource.namespaced {
        metadata_mut(object).remove("namespace");
        return Ok(());
    }
    let said = meta_text(object, "namespace");
    if said.is_empty() {
        let namespace = call.path.namespace.clone();
        metadata_mut(object).insert("namespace".to_owned(), namespace.into());
    } else if said != call.path.namespace {
        return Err(Status::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    Ok(())
}

/// Whether an object is being deleted.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !meta_text(object, "deletionTimestamp").is_empty()
}

/// When in the request repeated owners were found: the warning says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    Received,
    Mutated,
}

/// Removes repeated owner references and warns of them.
pub(crate) fn dedup_owners(object: &mut Value, stage: Stage, notes: &Notes) {
    let Some(owners) = metadata(object)
        .get("ownerReferences")
        .and_then(Value::as_array)
    else {
        return;
    };
    let repeated = |at: usize| owners[..at].contains(&owners[at]);
    let doubles: Vec<usize> = (0..owners.len()).filter(|at| repeated(*at)).collect();
    if doubles.is_empty() {
        return;
    }
    let uids: Vec<String> = doubles
        .iter()
        .map(|at| owners[*at]["uid"].as_str().unwrap_or_default().to_owned())
        .collect();
    let opening = match stage {
        Stage::Received => "contains duplicate entries;",
        Stage::Mutated => "contains duplicate entries after mutating admission happens;",
    };
    notes.warn(&format!(
        ".metadata.ownerReferences {opening} API server dedups owner references in 1.20+, and may \
         reject such requests as early as 1.24; please fix your requests; duplicate UID(s) \
         observed: {}",
        uids.join(", ")
    ));
    let owners = metadata_mut(object).get_mut("ownerReferences");
    if let Some(Value::Array(owners)) = owners {
        let mut at = 0;
        owners.retain(|_| {
            at += 1;
            !doubles.contains(&(at - 1))
        });
    }
}

/// Gives a new object its identity.
pub(crate) fn fill_identity(object: &mut Value) {
    let metadata = metadata_mut(object);
    metadata.insert("uid".to_owned(), Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".to_owned(), now().into());
}

/// Fills in what an update left out from the stored object.
pub(crate) fn keep_identity(new: &mut Value, old: &Value) {
    let old = metadata(old);
    let new = metadata_mut(new);
    fill(new, old, &["uid"]);
    // A name that admission took away is an empty one, which validation tells.
    new.entry("name").or_insert_with(|| "".into());
}

/// Fills in where the object is. Its uid is left out, where the client left it out, until mutating admission has run
/// (measured on v1.36).
pub(crate) fn keep_place(new: &mut Value, old: &Value) {
    fill(metadata_mut(new), metadata(old), &["name", "namespace"]);
}

fn fill(new: &mut Map<String, Value>, old: &Map<String, Value>, names: &[&str]) {
    for name in names {
        let said = new.get(*name).and_then(Value::as_str);
        if said.is_none_or(str::is_empty)
            && let Some(value) = old.get(*name)
        {
            new.insert((*name).to_owned(), value.clone());
        }
    }
}
