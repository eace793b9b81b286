//! DELETE: at once, after a grace period, or once the finalizers are gone (spec section C.8).

use http::{Response, StatusCode};
use jiff::{SignedDuration, Timestamp};
use kubewright_admission::Operation;
use kubewright_apiextensions::custom::Custom;
use kubewright_apiextensions::definitions;
use kubewright_apimachinery::accessor::{finalizers, meta_text, metadata, metadata_mut};
use kubewright_apimachinery::conform::conform;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_apimachinery::time::{now, seconds};
use kubewright_registry::Verb;
use kubewright_storage::Raced;
use serde_json::{Map, Value, json};

use super::answer::{self, Shown};
use super::call::Call;
use super::commit::committed;
use super::delete_options::{DeleteOptions, Propagation};
use super::metadata::is_deleting;
use super::{addresses, corrupt, read, unsafe_delete};
use crate::body::Body;

/// What warns the clients of today of a habit from before garbage collection.
fn warn_of_orphans(call: &Call, options: &DeleteOptions) {
    let silent = options.propagation.is_none() && options.orphan_dependents.is_none();
    if silent && call.resource.group == "batch" && call.resource.plural == "jobs" {
        call.notes.warn(
            "child pods are preserved by default when jobs are deleted; set \
             propagationPolicy=Background to remove them or set propagationPolicy=Orphan to \
             suppress this warning",
        );
    }
}

/// The two classes that the system itself needs stay.
fn keep_system_classes(call: &Call) -> Result<()> {
    let name = call.path.name.as_str();
    let is_system = matches!(name, "system-node-critical" | "system-cluster-critical");
    if !is_system || call.resource.plural != "priorityclasses" {
        return Ok(());
    }
    let (group, plural) = (&call.resource.group, &call.resource.plural);
    let why = "this is a system priority class and cannot be deleted";
    Err(Status::forbidden(group, plural, name, why))
}

/// What came of a delete.
#[derive(Debug)]
enum Outcome {
    Gone(Shown),
    Waiting(Shown),
    /// A dry run of a delete that takes off the last finalizers: a real server shows an object in which it has read nothing yet.
    Released(Shown),
}

/// What one step of a delete does to the object.
#[derive(Debug, PartialEq)]
enum Step {
    /// Nothing: an earlier delete goes on.
    AlreadyDeleting,
    /// The object is removed.
    Remove,
    /// The object is marked; it stays for its finalizers or its grace period.
    Mark(Value),
    /// The object is marked and then removed, in two writes.
    MarkAndRemove(Value),
}

/// Deletes the object that the path names.
pub(crate) async fn delete(call: &Call) -> Result<Response<Body>> {
    if !call.resource.allows(Verb::Delete) {
        return Err(Status::method_not_allowed());
    }
    let options = DeleteOptions::read(call)?;
    if options.ignores_read_errors {
        return unsafe_delete::delete(call, &options).await;
    }
    keep_system_classes(call)?;
    warn_of_orphans(call, &options);
    match remove(
        call,
        &call.path.name,
        Admission::Named(&call.path.name),
        &options,
    )
    .await?
    {
        Outcome::Waiting(shown) => {
            let code = match options.orphan_dependents {
                Some(false) => StatusCode::ACCEPTED,
                _ => StatusCode::OK,
            };
            answer::object(call, code, &shown).await
        }
        Outcome::Released(shown) => answer::object(call, StatusCode::OK, &shown).await,
        Outcome::Gone(shown) if call.resource.strategy.behavior().returns_deleted => {
            answer::object(call, StatusCode::OK, &shown).await
        }
        Outcome::Gone(shown) => {
            let object = shown.value(call).await?;
            Ok(success(call, &object))
        }
    }
}

/// Deletes every object that the selectors mean, one after the other.
pub(crate) async fn delete_collection(call: &Call) -> Result<Response<Body>> {
    if !call.resource.allows(Verb::DeleteCollection) {
        return Err(Status::method_not_allowed());
    }
    let options = DeleteOptions::read(call)?;
    unsafe_delete::refuse_collection(&options)?;
    let (objects, meta) = read::collect(call).await?;
    warn_of_orphans(call, &options);
    for object in &objects {
        let namespace = object.namespace().to_owned();
        let item;
        let target = if namespace == call.path.namespace || !call.resource.namespaced {
            call
        } else {
            item = call.in_namespace(namespace);
            &item
        };
        match remove(target, object.name(), Admission::OfMany(&options), &options).await {
            Ok(_) => {}
            Err(status) if status.code() == 404 => {}
            Err(status) => return Err(status),
        }
    }
    answer::list(call, objects, &meta).await
}

/// Deletes an evicted pod. Admission saw the eviction, and sees no delete (measured on v1.36).
pub(crate) async fn evicted(call: &Call, options: &DeleteOptions) -> Result<()> {
    remove(call, &call.path.name, Admission::Done, options).await?;
    Ok(())
}

/// What admission is to see of a delete.
#[derive(Clone, Copy, Debug)]
enum Admission<'a> {
    /// The delete, under this name.
    Named(&'a str),
    /// The delete, without a name, and with the options as the client sent them.
    OfMany(&'a DeleteOptions),
    /// Nothing.
    Done,
}

/// Deletes one object.
async fn remove(
    call: &Call,
    name: &str,
    admission: Admission<'_>,
    options: &DeleteOptions,
) -> Result<Outcome> {
    let store = &call.shared.store;
    let key = call.key(name);
    let mut marked = false;
    let mut options = options.clone();
    loop {
        let Some(stored) = store.get(&call.table, &key) else {
            return Err(call.not_found(name));
        };
        let old = call.value_to_write(&stored).await;
        let old = old.map_err(|failure| corrupt::got(&call.resource, &call.key(name), failure))?;
        // A webhook gave an object another name while it was applied: it is found by the name in its path alone.
        if matches!(admission, Admission::OfMany(_)) && meta_text(&old, "name") != name {
            return Err(call.not_found(meta_text(&old, "name")));
        }
        if call.is_about_namespaces() && options.uid.is_none() {
            options.uid = Some(meta_text(&old, "uid").to_owned());
        }
        if definitions::are(&call.resource) {
            let (uid, revision) = (options.uid.as_deref(), options.revision.as_deref());
            definitions::check_preconditions(name, &old, uid, revision)?;
        }
        check_preconditions(call, name, &old, &options)?;
        let grace = call.resource.strategy.grace_period(&old, options.grace);
        let step = step(call, &old, &options, grace);
        if step == Step::AlreadyDeleting {
            return Ok(Outcome::Waiting(Shown::from(&*stored)));
        }
        // The strategy of the kind decides when the object is marked, and not again.
        if !is_deleting(&old) {
            options.grace = grace.or(options.grace);
        }
        let seen = match admission {
            Admission::OfMany(sent) => sent.to_value(),
            Admission::Named(_) | Admission::Done => options.to_value(),
        };
        let mut attributes = call.attributes(Operation::Delete, seen);
        attributes.dry_run = options.dry_run;
        attributes.old_object = old;
        let name = match admission {
            Admission::Named(name) => Some(name),
            Admission::OfMany(_) => Some(""),
            Admission::Done => None,
        };
        if let Some(name) = name {
            name.clone_into(&mut attributes.name);
            call.mutate(&mut attributes).await?;
            call.validate(&attributes).await?;
        }
        let old = attributes.old_object;
        let (form, removes, again) = match step {
            Step::AlreadyDeleting => return Ok(Outcome::Waiting(Shown::from(&*stored))),
            Step::Remove => (old, true, false),
            Step::Mark(object) => (object, false, false),
            Step::MarkAndRemove(object) => (object, false, !marked),
        };
        if options.dry_run && removes && finalizers(&form) > 0 {
            return Ok(Outcome::Released(Shown::unwritten(
                empty(call).to_string().into(),
            )));
        }
        let draft = call.to_storage(&form).await?;
        if options.dry_run {
            let shown = Shown::unwritten(draft.into_text(Some(stored.revision)));
            return Ok(if removes || again {
                Outcome::Gone(shown)
            } else {
                Outcome::Waiting(shown.bare())
            });
        }
        store.write_latency().await;
        let written = if removes {
            store.delete(&call.table, &key, stored.revision, draft)
        } else if draft.says_the_same_as(&stored) {
            Ok(stored)
        } else {
            store.replace(&call.table, &key, stored.revision, draft)
        };
        match committed(written)? {
            Ok(object) if removes => {
                addresses::release(call, &form);
                return Ok(Outcome::Gone(Shown::from(&*object)));
            }
            // The mark is answered as it was stored.
            Ok(object) if !again => return Ok(Outcome::Waiting(Shown::from(&*object).bare())),
            Ok(_) => {
                // The mark itself moved the revision on.
                options.revision = None;
                marked = true;
            }
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
}

/// An object of the kind that has nothing in it.
fn empty(call: &Call) -> Value {
    let kind = call.kind();
    let mut object = json!({ "apiVersion": call.resource.api_version(), "kind": kind.kind });
    if Custom::of(&call.resource).is_none() {
        object["metadata"] = json!({});
        // What is empty fits every kind.
        let _ = conform(&kind, &mut object);
    }
    // Where a version may leave a number out, and the real server cannot.
    match (&*kind.group, &*kind.kind) {
        ("apps", "Deployment" | "ReplicaSet" | "StatefulSet") => {
            object["spec"]["replicas"] = json!(0);
        }
        ("apps", "DaemonSet") => {
            object["metadata"]["annotations"] =
                json!({ "deprecated.daemonset.template.generation": "0" });
        }
        _ => {}
    }
    object
}

/// Decides what the next write of a delete is.
fn step(call: &Call, old: &Value, options: &DeleteOptions, grace: Option<i64>) -> Step {
    if call.is_about_namespaces() {
        return namespace_step(call, old, options);
    }
    let deleting = is_deleting(old);
    if !deleting && definitions::are(&call.resource) {
        return Step::Mark(definitions::marked(old));
    }
    let current = metadata(old)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64)
        .unwrap_or_default();
    let mut new = old.clone();
    set_finalizers(call, &mut new, options);
    let waits = finalizers(&new) > 0;
    if deleting && current > 0 {
        // A running grace period can only be made shorter.
        let Some(wanted) = options.grace.filter(|wanted| *wanted < current) else {
            return Step::AlreadyDeleting;
        };
        let started = meta_text(old, "deletionTimestamp").parse::<Timestamp>();
        let ends = started.unwrap_or_default() - SignedDuration::from_secs(current - wanted);
        let metadata = metadata_mut(&mut new);
        metadata.insert("deletionTimestamp".to_owned(), seconds(ends).into());
        metadata.insert("deletionGracePeriodSeconds".to_owned(), wanted.into());
        return match (waits, wanted) {
            (false, 0) => Step::MarkAndRemove(new),
            _ => Step::Mark(new),
        };
    }
    match grace {
        _ if deleting && waits => {
            if grace.is_none() {
                complete_mark(&mut new);
            }
            Step::Mark(new)
        }
        _ if deleting => Step::Remove,
        Some(grace) => {
            mark(&mut new, grace);
            if waits || grace > 0 {
                Step::Mark(new)
            } else {
                Step::MarkAndRemove(new)
            }
        }
        None if waits => {
            mark(&mut new, 0);
            Step::Mark(new)
        }
        None => Step::Remove,
    }
}

/// A namespace stays until its contents and `spec.finalizers` are gone.
fn namespace_step(call: &Call, old: &Value, options: &DeleteOptions) -> Step {
    let waits = |object: &Value| {
        finalizers(object) > 0
            || object["spec"]["finalizers"]
                .as_array()
                .is_some_and(|list| !list.is_empty())
    };
    let mut new = old.clone();
    set_finalizers(call, &mut new, options);
    if !waits(&new) {
        return Step::Remove;
    }
    if metadata(old).get("deletionTimestamp").is_none() {
        let metadata = metadata_mut(&mut new);
        metadata.insert("deletionTimestamp".to_owned(), now().into());
        new["status"]["phase"] = "Terminating".into();
    }
    Step::Mark(new)
}

fn mark(object: &mut Value, grace: i64) {
    let ends = Timestamp::now() + SignedDuration::from_secs(grace);
    let metadata = metadata_mut(object);
    metadata.insert("deletionTimestamp".to_owned(), seconds(ends).into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
    let generation = metadata.get("generation").and_then(Value::as_i64);
    if let Some(generation) = generation.filter(|generation| *generation > 0) {
        metadata.insert("generation".to_owned(), generation.wrapping_add(1).into());
    }
}

/// Completes what an apply that created an object said of its deletion.
fn complete_mark(object: &mut Value) {
    let ends = meta_text(object, "deletionTimestamp").parse::<Timestamp>();
    if ends.is_ok_and(|ends| ends > Timestamp::now()) {
        metadata_mut(object).insert("deletionTimestamp".to_owned(), now().into());
    }
    metadata_mut(object).insert("deletionGracePeriodSeconds".to_owned(), 0.into());
}

/// Adds and removes the garbage collector's finalizers as the propagation asks.
fn set_finalizers(call: &Call, object: &mut Value, options: &DeleteOptions) {
    const ORPHAN: &str = "orphan";
    const FOREGROUND: &str = "foregroundDeletion";
    let wanted = match (options.propagation, options.orphan_dependents) {
        (Some(Propagation::Orphan), _) | (None, Some(true)) => Some(ORPHAN),
        (Some(Propagation::Foreground), _) => Some(FOREGROUND),
        (Some(Propagation::Background), _) | (None, Some(false)) => None,
        // Without a word from the client the finalizers that are there decide, then the kind's own habit.
        (None, None) => {
            let orphans = call.resource.strategy.behavior().propagation
                == kubewright_registry::Propagation::Orphan;
            let decided = [ORPHAN, FOREGROUND]
                .iter()
                .any(|name| has_finalizer(object, name));
            if decided || !orphans {
                return;
            }
            Some(ORPHAN)
        }
    };
    let has = |name| has_finalizer(object, name);
    if [ORPHAN, FOREGROUND]
        .iter()
        .all(|name| has(name) == (wanted == Some(*name)))
    {
        return;
    }
    let metadata = metadata_mut(object);
    let mut list = match metadata.remove("finalizers") {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    };
    list.retain(|name| name != ORPHAN && name != FOREGROUND);
    list.extend(wanted.map(Value::from));
    if !list.is_empty() {
        metadata.insert("finalizers".to_owned(), Value::Array(list));
    }
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    let list = metadata(object).get("finalizers").and_then(Value::as_array);
    list.is_some_and(|list| list.iter().any(|known| known == name))
}

pub(crate) fn check_preconditions(
    call: &Call,
    name: &str,
    old: &Value,
    options: &DeleteOptions,
) -> Result<()> {
    let resource = &call.resource;
    let conflict = |why: String| Status::conflict(&resource.group, &resource.kind, name, &why);
    let uid = meta_text(old, "uid");
    if let Some(wanted) = options.uid.as_deref().filter(|wanted| *wanted != uid) {
        return Err(conflict(format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The \
             object might have been deleted and then recreated"
        )));
    }
    let revision = meta_text(old, "resourceVersion");
    if let Some(wanted) = options
        .revision
        .as_deref()
        .filter(|wanted| *wanted != revision)
    {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion \
             in record ({revision}). The object might have been modified"
        )));
    }
    Ok(())
}

fn success(call: &Call, object: &Value) -> Response<Body> {
    let mut details = Map::new();
    for (name, value) in [
        ("name", meta_text(object, "name")),
        ("group", &call.resource.group),
        ("kind", &call.resource.plural),
        ("uid", meta_text(object, "uid")),
    ] {
        if !value.is_empty() {
            details.insert(name.to_owned(), value.into());
        }
    }
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    });
    answer::value(StatusCode::OK, &call.output.of_the_object(), &status)
}
