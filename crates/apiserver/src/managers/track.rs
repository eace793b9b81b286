//! Keeps who set which field: after updates, and for applies, which it carries out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

use super::check::check;
use super::collect::{collect, with_named_fields};
use super::compare::{Comparison, compare};
use super::conflict::{ApplyError, Conflict};
use super::element::equal;
use super::entries::{Entry, Identity, Managed, Operation};
use super::merge::merge;
use super::remove::remove;
use super::reset::reset;
use super::set::Set;
use super::shape::Shape;
use crate::kinds::view::{Edit, View};
use crate::kinds::{GroupVersionKind, Registry, Resource, conversion};
use crate::schema::{Medium, write_empties};

/// What is written, and through which path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tracked<'a> {
    /// The resource of the request.
    pub(crate) resource: &'a Resource,
    /// What the objects are: the resource's kind, or that of its sub-resource.
    pub(crate) kind: &'a GroupVersionKind,
    /// Empty for the object itself.
    pub(crate) subresource: &'a str,
    /// Where other versions of the kind are found.
    pub(crate) registry: &'a Registry,
    /// When.
    pub(crate) now: &'a str,
}

/// Gives the fields that a create, update or patch has changed to its manager.
///
/// `live` is what was there before: an empty object of the kind for a create. `empties` says whether `new` may have lists
/// and maps that are empty, as they are in memory.
pub(crate) fn update(
    tracked: &Tracked<'_>,
    live: &Value,
    new: &mut Value,
    empties: bool,
    manager: &str,
) {
    let Some(shape) = Shape::of_kind(tracked.kind) else {
        return;
    };
    let mut managed = said_or_live(tracked, live, new);
    if let Some(metadata) = new.existing("metadata") {
        metadata.drop_field("managedFields");
    }
    // An object that nobody is known to have written stays so until it is applied.
    let exists = !live.at("metadata").text("uid").is_empty();
    if !managed.0.is_empty() || !exists {
        let mut written = Cow::Borrowed(&*new);
        if empties {
            write_empties(tracked.kind, written.to_mut(), Medium::Json);
        }
        tracked.update(&mut managed, shape, live, &written, manager);
    }
    put(new, &managed);
}

/// Applies what a manager wants to the live object: an empty object of the kind, if there is none.
///
/// The answer still has to be read as its kind: what was taken out is null.
///
/// # Errors
/// Conflicts with other managers, unless `force`; and what is no apply.
pub(crate) fn apply(
    tracked: &Tracked<'_>,
    live: &Value,
    applied: &Value,
    manager: &str,
    force: bool,
) -> Result<Value, ApplyError> {
    tracked.check_kind(applied)?;
    let shape = Shape::of_kind(tracked.kind).ok_or_else(|| {
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
    if managed.0.is_empty() {
        // Whoever wrote it before is one manager.
        let nothing = empty(tracked.kind);
        tracked.update(&mut managed, shape, &nothing, &live, "before-first-apply");
    }
    check(shape, applied).map_err(|why| {
        let metadata = applied.at("metadata");
        let place = format!("{}/{}", metadata.text("namespace"), metadata.text("name"));
        ApplyError::Failed(format!(
            "failed to create typed patch object ({place}; {}): {why}",
            tracked.named()
        ))
    })?;
    let applied_by = |force| tracked.apply(&managed, shape, &live, applied, manager, force);
    let (mut object, managed) = match applied_by(force) {
        Err(ApplyError::Conflicts(conflicts)) if manager == KUBECTL => {
            // What kubectl applied itself, on its own side, it may change.
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
    Ok(object)
}

/// An object of the kind with nothing in it.
pub(crate) fn empty(kind: &GroupVersionKind) -> Value {
    let mut object = serde_json::json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    // Nothing can be wrong with it.
    drop(crate::schema::conform(kind, &mut object));
    object
}

const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What nobody owns: the identity of the object and what the server keeps.
static NOBODYS: LazyLock<Set> = LazyLock::new(|| {
    Set::of_fields(&[
        &["apiVersion"],
        &["kind"],
        &["metadata"],
        &["metadata", "name"],
        &["metadata", "namespace"],
        &["metadata", "creationTimestamp"],
        &["metadata", "selfLink"],
        &["metadata", "uid"],
        &["metadata", "clusterName"],
        &["metadata", "generation"],
        &["metadata", "managedFields"],
        &["metadata", "resourceVersion"],
    ])
});

/// The entries that the request brings along, if it may; otherwise those of the live object.
fn said_or_live(tracked: &Tracked<'_>, live: &Value, new: &Value) -> Managed {
    let of_live = || Managed::read(live.at("metadata").at("managedFields")).unwrap_or_default();
    if !tracked.subresource.is_empty() {
        return of_live();
    }
    let said = new.at("metadata").at("managedFields");
    match said.as_array().map(Vec::as_slice) {
        // The two ways of saying that all shall be forgotten.
        Some([]) => return Managed::default(),
        Some([Value::Object(entry)]) if entry.is_empty() => return Managed::default(),
        _ => {}
    }
    match Managed::read(said) {
        Ok(managed) if !managed.0.is_empty() => managed,
        _ => of_live(),
    }
}

fn put(object: &mut Value, managed: &Managed) {
    let Some(metadata) = object.part("metadata") else {
        return;
    };
    match managed.write() {
        Some(entries) => metadata.put("managedFields", entries),
        None => metadata.drop_field("managedFields"),
    }
}

/// Refreshes the annotation in which kubectl keeps what it applied on its own side.
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
    fn api_version(&self) -> String {
        self.kind.api_version()
    }

    /// `apps/v1, Kind=Deployment`.
    fn named(&self) -> String {
        named(&self.kind.group, &self.kind.version, &self.kind.kind)
    }

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

    fn identity(&self, manager: &str, operation: Operation) -> Identity {
        Identity {
            manager: manager.to_owned(),
            operation,
            api_version: match operation {
                Operation::Apply => String::new(),
                Operation::Update => self.api_version(),
            },
            subresource: self.subresource.to_owned(),
        }
    }

    /// Gives what changed between two states to the manager.
    fn update(
        &self,
        managed: &mut Managed,
        shape: Shape,
        live: &Value,
        new: &Value,
        manager: &str,
    ) {
        let ignored = reset(self.resource, self.subresource);
        let comparison = compare(shape, live, new).without(&ignored);
        let conflicts = self.losses(managed, &comparison, live, new, None);
        take(managed, &conflicts);
        let taken = comparison
            .modified
            .union(&comparison.added)
            .without_all_below(&ignored)
            .difference(&NOBODYS);
        if !taken.is_empty() {
            let identity = self.identity(manager, Operation::Update);
            let before = managed.0.remove(&identity);
            let entry = Entry {
                set: match before {
                    Some(before) => taken.union(&before.set),
                    None => taken,
                },
                api_version: self.api_version(),
                time: Some(self.now.to_owned()),
            };
            managed.0.insert(identity, entry);
        }
        managed.cap();
    }

    fn apply(
        &self,
        managed: &Managed,
        shape: Shape,
        live: &Value,
        applied: &Value,
        manager: &str,
        force: bool,
    ) -> Result<(Value, Managed), ApplyError> {
        let mut managed = managed.clone();
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
            entry.set = entry.set.difference(&NOBODYS);
            // When nothing changed, nothing happened now.
            entry.time = if changed {
                Some(self.now.to_owned())
            } else {
                time
            };
        }
        managed.0.retain(|_, entry| !entry.set.is_empty());
        Ok((new, managed))
    }

    /// What the other managers lose; those of versions that are no more are dropped.
    fn losses(
        &self,
        managed: &mut Managed,
        comparison: &Comparison,
        live: &Value,
        new: &Value,
        except: Option<&Identity>,
    ) -> BTreeMap<Identity, Loss> {
        let mut losses = BTreeMap::new();
        let mut of_version: BTreeMap<String, Option<Comparison>> = BTreeMap::new();
        let own = self.api_version();
        managed.0.retain(|identity, entry| {
            if Some(identity) == except {
                return true;
            }
            let comparison = if entry.api_version == own {
                Some(comparison)
            } else {
                let version = entry.api_version.clone();
                let compared = of_version
                    .entry(version)
                    .or_insert_with_key(|version| self.compare_in(version, live, new));
                compared.as_ref()
            };
            let Some(comparison) = comparison else {
                return false;
            };
            let changed = comparison.modified.union(&comparison.added);
            let loss = Loss {
                conflict: entry.set.intersection(&changed),
                removed: entry.set.intersection(&comparison.removed),
            };
            if !loss.conflict.is_empty() || !loss.removed.is_empty() {
                losses.insert(identity.clone(), loss);
            }
            true
        });
        losses
    }

    fn compare_in(&self, version: &str, live: &Value, new: &Value) -> Option<Comparison> {
        let (shape, live) = self.in_version(Cow::Borrowed(live), &self.api_version(), version)?;
        let (_, new) = self.in_version(Cow::Borrowed(new), &self.api_version(), version)?;
        let ignored = reset(self.resource, self.subresource);
        Some(compare(shape, &live, &new).without(&ignored))
    }

    /// The object in another version, and its shape there; none if that version is not served.
    fn in_version<'v>(
        &self,
        object: Cow<'v, Value>,
        from: &str,
        to: &str,
    ) -> Option<(Shape, Cow<'v, Value>)> {
        let kind = |api_version: &str| {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: self.kind.kind.clone(),
            }
        };
        let shape = Shape::of_kind(&kind(to))?;
        if from == to {
            return Some((shape, object));
        }
        // A kind in two groups is two kinds here.
        let group = |version: &'_ str| version.split_once('/').map(|(group, _)| group.to_owned());
        if group(from) != group(to) {
            return None;
        }
        let (from, to) = (
            self.registry.by_kind(&kind(from))?,
            self.registry.by_kind(&kind(to))?,
        );
        let mut object = object.into_owned();
        conversion::convert(&from, &to, &mut object).ok()?;
        Some((shape, Cow::Owned(object)))
    }

    /// Takes out of the merged object what the manager applied last time, does not apply any more, and nobody else owns.
    fn prune(&self, merged: Value, managed: &Managed, last: &Entry) -> Value {
        let own = self.api_version();
        let version = &last.api_version;
        let Some((shape, then)) = self.in_version(Cow::Borrowed(&merged), &own, version) else {
            return merged;
        };
        let pruned = remove(shape, &then, &with_named_fields(&last.set, shape));
        let pruned = self.keep_owned(&then, pruned, version, managed);
        let pruned = self.keep_dangling(shape, &then, &pruned, &last.set);
        match self.in_version(Cow::Owned(pruned), version, &own) {
            Some((_, pruned)) => pruned.into_owned(),
            None => merged,
        }
    }

    /// Puts back what somebody owns.
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
            *set = set.union(&entry.set);
        }
        // The version of the pruned object comes first: it may need what it has lost to be converted.
        let mut versions: Vec<&str> = owned.keys().copied().collect();
        versions.sort_by_key(|version| *version != pruned_version);
        let mut pruned = pruned;
        for version in versions {
            let theirs = self.in_version(Cow::Borrowed(merged), pruned_version, version);
            let ours = self.in_version(Cow::Borrowed(&pruned), pruned_version, version);
            let (Some((shape, merged)), Some((_, ours))) = (theirs, ours) else {
                continue;
            };
            let named = |set: &Set| with_named_fields(set, shape);
            let kept = named(&collect(shape, &ours)).union(&named(&owned[version]));
            let gone = named(&collect(shape, &merged)).difference(&kept);
            let kept = remove(shape, &merged, &gone);
            if let Some((_, kept)) = self.in_version(Cow::Owned(kept), version, pruned_version) {
                pruned = kept.into_owned();
            }
        }
        pruned
    }

    /// Puts back what the manager had not applied itself.
    #[expect(clippy::unused_self, reason = "one of the three steps of pruning")]
    fn keep_dangling(&self, shape: Shape, merged: &Value, pruned: &Value, last: &Set) -> Value {
        let named = |set: &Set| with_named_fields(set, shape);
        let lost = named(&collect(shape, merged)).difference(&named(&collect(shape, pruned)));
        remove(shape, merged, &lost.intersection(&named(last)))
    }

    /// What kubectl applied on its own side and nobody has changed since.
    fn last_applied(&self, shape: Shape, live: &Value) -> Option<Set> {
        let text = live.at("metadata").at("annotations").text(LAST_APPLIED);
        let applied: Value = serde_json::from_str(text).ok()?;
        if applied.text("apiVersion") != self.api_version() {
            return None;
        }
        check(shape, &applied).ok()?;
        let comparison = compare(shape, &applied, live);
        Some(
            collect(shape, &applied)
                .difference(&comparison.modified)
                .difference(&comparison.added)
                .difference(&comparison.removed),
        )
    }
}

/// What a manager loses.
#[derive(Debug)]
struct Loss {
    /// Fields with another value now.
    conflict: Set,
    /// Fields that are gone.
    removed: Set,
}

fn take(managed: &mut Managed, losses: &BTreeMap<Identity, Loss>) {
    for (identity, loss) in losses {
        if let Some(entry) = managed.0.get_mut(identity) {
            entry.set = entry
                .set
                .difference(&loss.conflict)
                .difference(&loss.removed);
        }
    }
    managed.0.retain(|_, entry| !entry.set.is_empty());
}

fn named(group: &str, version: &str, kind: &str) -> String {
    format!("{group}/{version}, Kind={kind}")
}
