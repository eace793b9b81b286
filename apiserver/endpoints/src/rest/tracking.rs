//! Field managers: the `managedFields` of the objects that requests change.

use std::borrow::Cow;

use http::header::USER_AGENT;
use kubewright_admission::{Attributes, Operation};
use kubewright_apimachinery::accessor::{metadata, metadata_mut};
use kubewright_apimachinery::equality;
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::status::Result;
use kubewright_apimachinery::time::now;
use kubewright_fieldmanagement as managed_fields;
use kubewright_fieldmanagement::Tracked;
use serde_json::Value;

use super::call::Call;
use super::query::WriteOptions;

/// Assigns the fields that the request changes to its field manager, and then runs the mutating steps of admission.
pub(crate) async fn mutate(
    call: &Call,
    options: &WriteOptions,
    attributes: &mut Attributes,
) -> Result<()> {
    mutate_to_store(call, options, attributes).await?;
    attributes.include_managed_fields();
    Ok(())
}

/// Like [`mutate`], for an object that is stored next: its `managedFields` may stay outside of the object.
pub(crate) async fn mutate_to_store(
    call: &Call,
    options: &WriteOptions,
    attributes: &mut Attributes,
) -> Result<()> {
    // Server-side apply has already set the fields of its manager.
    if !call.is_apply() {
        attributes.timed = track(call, options, attributes).await;
    }
    attributes.timed |= attributes.operation == Operation::Create;
    call.mutate(attributes).await?;
    if let Some(before) = attributes.unpatched_managed_fields.take() {
        keep_readable(call, before, &mut attributes.object);
    }
    Ok(())
}

/// Whether the request creates an object of a built-in kind, in the version that is stored, without `managedFields`: then
/// they need not be part of the object until it is stored.
fn has_no_managed_fields(call: &Call, attributes: &Attributes) -> bool {
    attributes.operation == Operation::Create
        && attributes.subresource.is_empty()
        && !managed_fields::may_not_fit(&call.resource)
        && call.stores_its_own_form()
        && !metadata(&attributes.object).contains_key("managedFields")
}

/// Says whether the manager now has the time of the request.
async fn track(call: &Call, options: &WriteOptions, attributes: &mut Attributes) -> bool {
    let manager = manager(call, options);
    let nothing = || managed_fields::empty(&attributes.kind);
    let live = Some(&attributes.old_object).filter(|old| !old.is_null());
    let live = live.map_or_else(|| Cow::Owned(nothing()), Cow::Borrowed);
    let (kind, empties) = (&attributes.kind, attributes.empties);
    if has_no_managed_fields(call, attributes) {
        let object = &attributes.object;
        attributes.new_managed_fields = for_managers(call, kind, |tracked| {
            managed_fields::create(tracked, &live, object, empties, &manager)
        });
        return true;
    }
    let object = &mut attributes.object;
    let track = |object: &mut Value| {
        for_managers(call, kind, |tracked| {
            managed_fields::update(tracked, &live, object, empties, &manager)
        })
    };
    let sent = by_webhook(call).then(|| object.clone());
    let timed = track(object);
    if call.resource.strategy.is_unstructured() {
        track_again(call, track, sent.as_ref(), &live, object).await;
    }
    timed
}

/// Whether a webhook converts the objects to other versions.
fn by_webhook(call: &Call) -> bool {
    call.resource.strategy.converts_by_webhook()
}

/// Tracks the field managers again as long as the conversion webhook has to convert further versions. The object keeps the
/// `managedFields` of the live one if a conversion fails.
async fn track_again(
    call: &Call,
    track: impl Fn(&mut Value) -> bool,
    sent: Option<&Value>,
    live: &Value,
    object: &mut Value,
) {
    loop {
        match (call.complete_versions().await, sent) {
            (Ok(true), Some(sent)) => {
                object.clone_from(sent);
                track(object);
            }
            (Ok(_), _) => return,
            (Err(why), _) => {
                tracing::warn!(error = %why, "the managers of an object stay as they were: another version of it could not be made");
                managed_fields::keep(live, object);
                return;
            }
        }
    }
}

/// Calls `act` with the attributes of the request that field management needs.
pub(crate) fn for_managers<T>(
    call: &Call,
    kind: &GroupVersionKind,
    act: impl FnOnce(&Tracked<'_>) -> T,
) -> T {
    act(&Tracked {
        resource: &call.resource,
        kind,
        subresource: &call.path.subresource,
        registry: &call.shared.served.now(),
        versions: &call.versions,
        now: &now(),
    })
}

/// Restores the `managedFields` if admission has left them in an invalid state.
fn keep_readable(call: &Call, before: Value, object: &mut Value) {
    let after = metadata(object).get("managedFields");
    let Some(why) = after.and_then(|after| managed_fields::check(after).err()) else {
        return;
    };
    call.notes.warn(&format!(
        ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating \
         admission controller; please fix your requests: {why}"
    ));
    let metadata = metadata_mut(object);
    if before.is_null() {
        metadata.remove("managedFields");
    } else {
        metadata.insert("managedFields".to_owned(), before);
    }
}

/// Keeps the old times of `managedFields` if nothing but these times has changed.
pub(crate) fn keep_times(kind: &GroupVersionKind, new: &mut Value, old: &Value) {
    let (before, after) = (
        metadata(old).get("managedFields"),
        metadata(new).get("managedFields"),
    );
    let (Some(before), Some(after)) = (before, after) else {
        return;
    };
    if before == after || !managed_fields::same_but_times(before, after) {
        return;
    }
    let before = before.clone();
    let metadata = metadata_mut(new);
    let after = metadata.insert("managedFields".to_owned(), before);
    if !equality::same(kind, new, old)
        && let Some(after) = after
    {
        metadata_mut(new).insert("managedFields".to_owned(), after);
    }
}

/// The field manager that the request names, or else the name in its user agent.
fn manager(call: &Call, options: &WriteOptions) -> String {
    const LONGEST: usize = 128;
    let named = options.manager();
    if !named.is_empty() {
        return named.to_owned();
    }
    let agent = call.headers.get(USER_AGENT);
    let agent = agent.map_or_else(Default::default, |agent| {
        String::from_utf8_lossy(agent.as_bytes())
    });
    let mut manager = String::new();
    for letter in agent
        .split('/')
        .next()
        .unwrap_or_default()
        .chars()
        .filter(|letter| !letter.is_control())
    {
        if manager.len() + letter.len_utf8() > LONGEST {
            break;
        }
        manager.push(letter);
    }
    if manager.is_empty() {
        "unknown".clone_into(&mut manager);
    }
    manager
}
