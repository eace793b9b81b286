//! The read-modify-write loop behind PUT and PATCH (spec section A.2.2).

use std::borrow::Cow;
use std::sync::Arc;

use kubewright_admission::{Attributes, Operation};
use kubewright_apimachinery::accessor::{finalizers, meta_text, metadata, metadata_mut};
use kubewright_apimachinery::conform::{Medium, UnseenBytes, part_with_bytes};
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::status::{Result, Status};
use kubewright_auth::rbac::escalation;
use kubewright_storage::{Draft, Object, Raced, ReadBack};
use serde_json::Value;

use super::addresses::{self, Allocation};
use super::answer::Shown;
use super::call::Call;
use super::commit::committed;
use super::decode::Decoded;
use super::metadata::{
    Stage, dedup_owners, is_deleting, keep_identity, keep_place, settle_namespace,
};
use super::query::WriteOptions;
use super::{claim_status, devices, pod_certificates, policy_parameters, tracking};

/// Changes the object that the path names: `next` makes the new object from the current one, in the request's
/// version, decoded and defaulted. It is called again when another write came first.
pub(crate) async fn write(
    call: &Call,
    options: &WriteOptions,
    mut next: impl FnMut(&Value) -> Result<Decoded>,
) -> Result<Shown> {
    let subresource = call.path.subresource.as_str();
    let mut is_first = true;
    loop {
        let stored = call.stored()?;
        let old = call.value_to_write(&stored).await?;
        let mut made = next(&old);
        while call.complete_versions().await? {
            made = next(&old);
        }
        let Decoded {
            object: mut new,
            empties,
            timed,
        } = made?;
        keep_place(&mut new, &old);

        let mut attributes = call.attributes(Operation::Update, options.to_value("UpdateOptions"));
        attributes.dry_run = options.dry_run;
        attributes.object = new;
        attributes.empties = empties;
        attributes.timed = timed;
        attributes.old_object = old;
        tracking::mutate(call, options, &mut attributes).await?;
        dedup_owners(&mut attributes.object, Stage::Mutated, &call.notes);
        escalation::check(
            &call.escalation(),
            &attributes.object,
            &attributes.old_object,
        )?;

        check_revision(call, &attributes.object, &stored)?;
        // An unconditional update becomes one of the current version.
        let revision = stored.revision.to_string();
        metadata_mut(&mut attributes.object).insert("resourceVersion".to_owned(), revision.into());
        settle_namespace(call, &mut attributes.object)?;
        keep_identity(&mut attributes.object, &attributes.old_object);
        // Patches and webhooks get what is stored; the rules of updates compare with what readers see of it.
        call.decorate(&mut attributes.old_object);
        let (new, old) = (&mut attributes.object, &attributes.old_object);
        let with_unseen = (stored.read_back() == ReadBack::WithoutEmpties)
            .then(|| call.resource.strategy.with_unseen_bytes(old, new))
            .flatten();
        let held = (!call.stores_its_own_form())
            .then(|| call.resource.strategy.held(&|| stored.value()))
            .flatten();
        let was = with_unseen.as_ref().or(held.as_ref()).unwrap_or(old);
        call.resource.prepare_for_update(subresource, new, was);
        // What cannot be given is refused before anything else is looked at.
        let allocation = Allocation::take(call, new, Some(old))?;
        let mut errors = devices::admin_access_granted(call, new, old);
        errors.extend(claim_status::may_change(call, new, old));
        errors.extend(call.told(call.resource.validate_update(subresource, new, old)));
        if errors.is_empty() {
            errors = policy_parameters::unreadable(call, new, old);
            errors.extend(pod_certificates::may_answer(call, new, old));
        }
        if !errors.is_empty() {
            return Err(call.invalid_object(new, &errors));
        }
        if subresource.is_empty() {
            for warning in call.resource.strategy.warnings(new, old) {
                call.notes.warn(&warning);
            }
        }
        tracking::keep_times(
            &attributes.kind,
            &mut attributes.object,
            &attributes.old_object,
        );
        call.validate(&attributes).await?;

        // It is lost where objects are written; what is not written is answered as it came.
        let goes = is_ready_to_go(call, &attributes.object);
        if !options.dry_run && !goes {
            metadata_mut(&mut attributes.object).remove("selfLink");
        }
        call.prune_for_storage(&mut attributes)?;
        let mut read_back = read_back(&attributes);
        if read_back == ReadBack::AsStored && keeps_bytes(&attributes) {
            read_back = stored.read_back();
        }
        // What goes is answered as it is in memory; a dry run writes its answer as if to the storage.
        attributes.write_empties(if goes { Medium::Json } else { Medium::Storage });
        let (dry_run, object) = (options.dry_run, &attributes.object);
        // The real server begins with what readers see. If an update leaves that as it is and something else is stored, it begins
        // again with what is stored.
        if std::mem::take(&mut is_first)
            && stored.read_back() != ReadBack::AsStored
            && !dry_run
            && !goes
            && call.to_storage(object).await?.has_the_text_of(&stored)
        {
            continue;
        }
        match store(call, dry_run, object, read_back, &stored).await? {
            Ok(shown) => {
                if let Some(allocation) = allocation.filter(|_| !options.dry_run) {
                    allocation.keep(call, &attributes.object);
                }
                return Ok(shown);
            }
            Err(Raced(_)) => tokio::task::yield_now().await,
        }
    }
}

/// What readers see of the object, compared with what is stored.
pub(crate) fn read_back(attributes: &Attributes) -> ReadBack {
    match attributes.unseen_bytes() {
        Some(UnseenBytes::Empty) => ReadBack::WithoutEmpties,
        Some(UnseenBytes::Null) => ReadBack::WithDefaults,
        None => ReadBack::AsStored,
    }
}

/// Whether the part of the object that has bytes is one that this update takes over from what is stored.
fn keeps_bytes(attributes: &Attributes) -> bool {
    let writes_status = attributes.subresource == "status";
    part_with_bytes(&attributes.kind).is_some_and(|part| (part == "status") != writes_status)
}

/// Writes the new object over the stored one, unless nothing changed or the change was the last thing that a deletion
/// waited for.
pub(crate) async fn store(
    call: &Call,
    dry_run: bool,
    new: &Value,
    read_back: ReadBack,
    stored: &Arc<Object>,
) -> Result<std::result::Result<Shown, Raced>> {
    let ends = is_ready_to_go(call, new);
    let mut shown = Cow::Borrowed(new);
    // What goes is not read back.
    let read_back = if !ends && call.resource.strategy.is_read_back(new) {
        call.resource.strategy.read_back(shown.to_mut())
    } else {
        read_back
    };
    let mut draft = call.to_storage(&shown).await?;
    draft.read_back = read_back;
    if !ends && draft.says_the_same_as(stored) {
        return Ok(Ok(Shown::from(&**stored)));
    }
    if dry_run {
        let shown = Shown::unwritten(draft.into_text(Some(stored.revision)));
        return Ok(Ok(if ends { shown.bare() } else { shown }));
    }
    let store = &call.shared.store;
    store.write_latency().await;
    let (table, path, expected) = (&call.table, &stored.path, stored.revision);
    if ends {
        // The watchers see what was stored, at the deletion's own revision; the client sees what it sent, at the one before, and
        // nothing of what readers would.
        let shown = Shown::unwritten(draft.into_text(Some(expected))).bare();
        let gone = store.delete(table, path, expected, Draft::new(&stored.value()));
        return Ok(committed(gone)?.map(|_| {
            addresses::release(call, new);
            shown
        }));
    }
    let written = committed(store.replace(table, path, expected, draft))?;
    Ok(written.map(|object| Shown::from(&*object)))
}

/// Whether a deletion waits for nothing any more.
fn is_ready_to_go(call: &Call, object: &Value) -> bool {
    let grace = metadata(object)
        .get("deletionGracePeriodSeconds")
        .and_then(Value::as_i64);
    let waiting = finalizers(object) > 0 || grace.is_some_and(|grace| grace > 0);
    let namespace_waits = call.is_about_namespaces()
        && object["spec"]["finalizers"]
            .as_array()
            .is_some_and(|list| !list.is_empty());
    is_deleting(object) && !waiting && !namespace_waits
}

/// The revision of the body, if it has one, is a precondition; some kinds must have one.
fn check_revision(call: &Call, new: &Value, stored: &Object) -> Result<()> {
    let said = meta_text(new, "resourceVersion");
    let name = &call.path.name;
    if matches!(said, "" | "0") {
        if !call.resource.strategy.behavior().unconditional_update {
            let path = Path::new("metadata.resourceVersion");
            let error = FieldError::invalid(&path, 0, "must be specified for an update");
            // The store says so, and knows the resource only.
            let resource = &call.resource;
            let (group, plural) = (&resource.group, &resource.plural);
            return Err(Status::invalid(group, plural, name, &[error]));
        }
        return Ok(());
    }
    match said.parse::<u64>() {
        Ok(said) if said == stored.revision => Ok(()),
        Ok(_) => Err(modified(call)),
        Err(_) => Err(no_number(said)),
    }
}

/// 500 for a revision that is no number.
pub(super) fn no_number(version: &str) -> Status {
    Status::plain(format!(
        "strconv.ParseUint: parsing {}: invalid syntax",
        quoted(version)
    ))
}

/// 409 for a write that was based on an older state.
pub(crate) fn modified(call: &Call) -> Status {
    call.conflict(
        &call.path.name,
        "the object has been modified; please apply your changes to the latest version and try again",
    )
}
