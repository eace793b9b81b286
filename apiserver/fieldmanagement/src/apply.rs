//! Server-side apply: merges a manager's configuration into the live object, and removes fields that the manager no longer applies.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::check::{Duplicates, check};
use super::collect::{collect, with_named_fields};
use super::compare::compare;
use super::conflict::{ApplyError, Conflict};
use super::element::equal;
use super::entries::{Entry, Managed, Operation};
use super::merge::merge;
use super::remove::remove;
use super::reset::reset;
use super::set::Set;
use super::shape::Shape;
use super::track::{Tracked, UNOWNED, empty, named, put, take};

const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What an apply makes of the live object.
#[derive(Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the handler of patches takes it apart"
)]
pub struct Applied {
    /// The object, whose removed fields are null: the caller must still convert it to its kind.
    pub object: Value,
    /// Whether a manager now has the time of the request.
    pub timed: bool,
}

/// Applies a manager's configuration to the live object. `live` is an empty object of the kind for a create.
///
/// # Errors
/// Conflicts with other managers, unless `force`; an invalid configuration; or managed fields that cannot be decoded.
pub fn apply(
    tracked: &Tracked<'_>,
    live: &Value,
    applied: &Value,
    manager: &str,
    force: bool,
) -> Result<Applied, ApplyError> {
    tracked.check_kind(applied)?;
    let shape = Shape::of_kind(tracked.registry, tracked.kind).ok_or_else(|| {
        ApplyError::Failed(format!("no corresponding type for {}", tracked.named()))
    })?;
    if applied.at("metadata").at("managedFields").is_array() {
        let why = "metadata.managedFields must be nil";
        return Err(ApplyError::BadRequest(why.to_owned()));
    }
    let mut managed = Managed::read(live.at("metadata").at("managedFields"))
        .map_err(|why| ApplyError::Failed(format!("failed to decode managed fields: {why}")))?;
    let mut live = Cow::Borrowed(live);
    if live.at("metadata").has("managedFields")
        && let Some(metadata) = live.to_mut().existing("metadata")
    {
        metadata.drop_field("managedFields");
    }
    let named = |object: &Value| {
        let metadata = object.at("metadata");
        let place = format!("{}/{}", metadata.text("namespace"), metadata.text("name"));
        format!("({place}; {})", tracked.named())
    };
    // A definition may have changed since the object was stored.
    let may_not_fit = tracked.resource.strategy.is_unstructured();
    let mut timed = false;
    if managed.0.is_empty() {
        if may_not_fit {
            check(shape, &live, Duplicates::Allowed).map_err(|why| {
                ApplyError::Failed(format!(
                    "failed to create manager for existing fields: failed to convert new object {} to smd typed: {why}",
                    named(&live)
                ))
            })?;
        }
        // One manager becomes the owner of all fields that were written before the first apply.
        let nothing = empty(tracked.kind);
        timed = tracked.update(&mut managed, shape, &nothing, &live, "before-first-apply");
    }
    let failed = |which: &str, object: &Value, why: &str| {
        let object = named(object);
        ApplyError::Failed(format!(
            "failed to create typed {which} object {object}: {why}"
        ))
    };
    check(shape, applied, Duplicates::Refused).map_err(|why| failed("patch", applied, &why))?;
    if may_not_fit {
        check(shape, &live, Duplicates::Allowed).map_err(|why| failed("live", &live, &why))?;
    }
    let applied_by = |force| tracked.apply(&managed, shape, &live, applied, manager, force);
    let (mut object, managed, changed) = match applied_by(force) {
        Err(ApplyError::Conflicts(conflicts)) if manager == KUBECTL => {
            // kubectl may change the fields of its last client-side apply.
            let own = tracked.last_applied(shape, &live);
            let conflicts: Vec<_> = conflicts
                .into_iter()
                .filter(|conflict| !own.as_ref().is_some_and(|own| own.has(&conflict.path)))
                .collect();
            if !conflicts.is_empty() {
                return Err(ApplyError::Conflicts(conflicts));
            }
            applied_by(true)?
        }
        other => other?,
    };
    if manager == KUBECTL
        && !object
            .at("metadata")
            .at("annotations")
            .text(LAST_APPLIED)
            .is_empty()
    {
        remember_applied(&mut object, applied);
    }
    put(&mut object, &managed);
    timed |= changed;
    Ok(Applied { object, timed })
}

/// Updates the annotation in which kubectl stores the configuration of its last client-side apply.
fn remember_applied(object: &mut Value, applied: &Value) {
    const LARGEST: usize = 256 * 1024;
    let mut applied = applied.clone();
    if let Some(annotations) = applied
        .existing("metadata")
        .and_then(|metadata| metadata.existing("annotations"))
    {
        annotations.drop_field(LAST_APPLIED);
    }
    let text = format!("{applied}\n");
    let Some(annotations) = object
        .existing("metadata")
        .and_then(|metadata| metadata.existing("annotations"))
    else {
        return;
    };
    annotations.put(LAST_APPLIED, text);
    let size: usize = annotations
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| name.len() + value.as_str().map_or(0, str::len))
        .sum();
    if size > LARGEST {
        annotations.drop_field(LAST_APPLIED);
    }
}

impl Tracked<'_> {
    fn check_kind(&self, applied: &Value) -> Result<(), ApplyError> {
        let version = applied.text("apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let kind = applied.text("kind");
        if (group, version, kind)
            == (
                self.kind.group.as_str(),
                self.kind.version.as_str(),
                self.kind.kind.as_str(),
            )
        {
            return Ok(());
        }
        Err(ApplyError::BadRequest(format!(
            "invalid object type: {}",
            named(group, version, kind)
        )))
    }

    fn apply(
        &self,
        managed: &Managed,
        shape: Shape<'_>,
        live: &Value,
        applied: &Value,
        manager: &str,
        force: bool,
    ) -> Result<(Value, Managed, bool), ApplyError> {
        let mut managed = managed.clone();
        self.look_through_versions(&managed, live);
        let ignored = reset(self.resource, self.subresource);
        let identity = self.identity(manager, Operation::Apply);
        let merged = merge(shape, live, applied)
            .map_err(|why| ApplyError::Failed(format!("failed to merge config: {why}")))?;
        let entry = Entry {
            set: collect(shape, applied).without_all_below(&ignored),
            api_version: self.api_version(),
            time: None,
        };
        let last = managed.0.insert(identity.clone(), entry);
        let time = last.as_ref().and_then(|last| last.time.clone());
        let new = match last.filter(|last| !last.set.is_empty()) {
            Some(last) => self.prune(merged, &managed, &last),
            None => merged,
        };
        let comparison = compare(shape, live, &new).without(&ignored);
        let losses = self.losses(&mut managed, &comparison, live, &new, Some(&identity));
        if !force {
            let conflicts: Vec<Conflict> = losses
                .iter()
                .flat_map(|(manager, loss)| {
                    let paths = loss.conflict.paths().into_iter();
                    paths.map(|path| Conflict {
                        manager: manager.clone(),
                        path,
                    })
                })
                .collect();
            if !conflicts.is_empty() {
                return Err(ApplyError::Conflicts(conflicts));
            }
        }
        take(&mut managed, &losses);
        let changed = !equal(live, &new);
        if let Some(entry) = managed.0.get_mut(&identity) {
            entry.set = std::mem::take(&mut entry.set).difference(&UNOWNED);
            // An apply without changes keeps the time.
            entry.time = if changed {
                Some(self.now.to_owned())
            } else {
                time
            };
        }
        managed.0.retain(|_, entry| !entry.set.is_empty());
        Ok((new, managed, changed))
    }

    /// Removes from the merged object the fields that the manager applied last time and no longer applies, unless another
    /// manager owns them.
    fn prune(&self, merged: Value, managed: &Managed, last: &Entry) -> Value {
        let own = self.api_version();
        let version = &last.api_version;
        let what_for =
            "failed to prune fields: failed to convert merged object to last applied version: ";
        let then = self.in_version(Cow::Borrowed(&merged), &own, version, what_for);
        let Some((shape, then)) = then else {
            return merged;
        };
        let pruned = remove(shape, &then, &with_named_fields(&last.set, shape));
        let pruned = self.keep_owned(&then, pruned, version, managed);
        let pruned = keep_dangling(shape, &then, &pruned, &last.set);
        let what_for = "failed to prune fields: ";
        match self.in_version(Cow::Owned(pruned), version, &own, what_for) {
            Some((_, pruned)) => pruned.into_owned(),
            None => merged,
        }
    }

    /// Restores the pruned fields that a manager owns.
    fn keep_owned(
        &self,
        merged: &Value,
        pruned: Value,
        pruned_version: &str,
        managed: &Managed,
    ) -> Value {
        let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
        for entry in managed.0.values() {
            let set = owned.entry(&entry.api_version).or_default();
            *set = std::mem::take(set).union(entry.set.clone());
        }
        // The version of the pruned object comes first: the conversion to other versions may need the fields that it restores.
        let mut versions: Vec<&str> = owned.keys().copied().collect();
        versions.sort_by_key(|version| *version != pruned_version);
        let mut pruned = pruned;
        for version in versions {
            let in_version = |object, what: &str| {
                let what_for = format!(
                    "failed to prune fields: failed add back owned items: failed to convert {what} object at version {version}: "
                );
                self.in_version(Cow::Borrowed(object), pruned_version, version, &what_for)
            };
            let (theirs, ours) = (in_version(merged, "merged"), in_version(&pruned, "pruned"));
            let (Some((shape, merged)), Some((_, ours))) = (theirs, ours) else {
                continue;
            };
            let named = |set: &Set| with_named_fields(set, shape);
            let kept = named(&collect(shape, &ours)).union(named(&owned[version]));
            let gone = named(&collect(shape, &merged)).difference(&kept);
            let kept = remove(shape, &merged, &gone);
            let what_for = "failed to prune fields: failed add back owned items: ";
            let kept = self.in_version(Cow::Owned(kept), version, pruned_version, what_for);
            if let Some((_, kept)) = kept {
                pruned = kept.into_owned();
            }
        }
        pruned
    }

    /// The fields of kubectl's last client-side apply whose values are unchanged since.
    fn last_applied(&self, shape: Shape<'_>, live: &Value) -> Option<Set> {
        let text = live.at("metadata").at("annotations").text(LAST_APPLIED);
        let applied: Value = serde_json::from_str(text).ok()?;
        if applied.text("apiVersion") != self.api_version() {
            return None;
        }
        check(shape, &applied, Duplicates::Refused).ok()?;
        let comparison = compare(shape, &applied, live);
        Some(
            collect(shape, &applied)
                .difference(&comparison.modified)
                .difference(&comparison.added)
                .difference(&comparison.removed),
        )
    }
}

/// Restores the pruned fields that the manager did not apply last time.
fn keep_dangling(shape: Shape<'_>, merged: &Value, pruned: &Value, last: &Set) -> Value {
    let named = |set: &Set| with_named_fields(set, shape);
    let lost = named(&collect(shape, merged)).difference(&named(&collect(shape, pruned)));
    remove(shape, merged, &lost.intersection(&named(last)))
}
