//! Tracks field managers: makes a manager the owner of the fields that it changes, and compares the states in each version in which
//! other managers own fields.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use kubewright_apimachinery::conform::{self, Medium, write_empties};
use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_registry::{Registry, Resource};
use serde_json::Value;

use super::check::{Duplicates, check};
use super::compare::{Comparison, compare};
use super::entries::{Entry, Identity, Managed, Operation};
use super::reset::reset;
use super::set::Set;
use super::shape::Shape;
use super::versions::Versions;

/// A write request: its resource, kind and subresource.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::exhaustive_structs,
    reason = "the handlers of requests construct it"
)]
pub struct Tracked<'a> {
    /// The resource of the request.
    pub resource: &'a Resource,
    /// The kind of the objects: the resource's, or that of its subresource.
    pub kind: &'a GroupVersionKind,
    /// Empty for the object itself.
    pub subresource: &'a str,
    /// The registry, which has the other versions of the kind.
    pub registry: &'a Registry,
    /// The objects that a webhook converted for the request.
    pub versions: &'a Versions,
    /// The time of the request.
    pub now: &'a str,
}

/// Makes the manager of a create, update or patch the owner of the fields that the request changed. Says whether it now has the
/// time of the request.
///
/// `live` is the stored object, or an empty object of the kind for a create. `empties` says whether `new` may have empty lists
/// and maps, as objects in memory have.
pub fn update(
    tracked: &Tracked<'_>,
    live: &Value,
    new: &mut Value,
    empties: bool,
    manager: &str,
) -> bool {
    let Some(shape) = Shape::of_kind(tracked.registry, tracked.kind) else {
        return false;
    };
    let mut managed = said_or_live(tracked, live, new);
    if let Some(metadata) = new.existing("metadata") {
        metadata.drop_field("managedFields");
    }
    // A stored object without managed fields gets none before the first apply.
    let exists = !live.at("metadata").text("uid").is_empty();
    let mut timed = false;
    if !managed.0.is_empty() || !exists {
        let mut written = Cow::Borrowed(&*new);
        if empties {
            write_empties(tracked.kind, written.to_mut(), Medium::Managers);
        }
        if !tracked.fits(shape, live) || !tracked.fits(shape, &written) {
            keep(live, new);
            return false;
        }
        timed = tracked.update(&mut managed, shape, live, &written, manager);
    }
    put(new, &managed);
    timed
}

/// Gives an object the managed fields of the live one, which it keeps where its own cannot be found out.
pub fn keep(live: &Value, new: &mut Value) {
    let Some(metadata) = new.part("metadata") else {
        return;
    };
    match live.at("metadata").at("managedFields") {
        Value::Null => metadata.drop_field("managedFields"),
        managed => metadata.put("managedFields", managed.clone()),
    }
}

/// Whether stored objects of a resource may violate the schema that field management uses: custom objects, and objects with
/// lists whose items may lack their key, such as the name of a secret. The managers of such objects cannot be found out.
pub fn may_not_fit(resource: &Resource) -> bool {
    resource.strategy.may_not_fit()
}

/// Whether the object has a template whose metadata has managed fields.
fn has_managed_template(object: &Value) -> bool {
    let spec = object.at("spec");
    let jobs = spec.at("jobTemplate");
    [object, spec, jobs.at("spec")]
        .map(|owner| owner.at("template"))
        .into_iter()
        .chain([jobs])
        .chain(spec.list("volumeClaimTemplates"))
        .any(|template| template.at("metadata").has("managedFields"))
}

/// Returns an empty object of the kind.
pub fn empty(kind: &GroupVersionKind) -> Value {
    let mut object = serde_json::json!({ "apiVersion": kind.api_version(), "kind": kind.kind });
    // An empty object has no invalid values.
    drop(conform::conform(kind, &mut object));
    object
}

/// The fields that no manager owns: the identity of the object and the fields that the server maintains.
pub(super) static UNOWNED: LazyLock<Set> = LazyLock::new(|| {
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

/// Returns the entries of the request if it may set them and they are valid; otherwise those of the live object.
fn said_or_live(tracked: &Tracked<'_>, live: &Value, new: &Value) -> Managed {
    let of_live = || Managed::read(live.at("metadata").at("managedFields")).unwrap_or_default();
    if !tracked.subresource.is_empty() {
        return of_live();
    }
    let said = new.at("metadata").at("managedFields");
    match said.as_array().map(Vec::as_slice) {
        // Both forms of a request to clear the managed fields.
        Some([]) => return Managed::default(),
        Some([Value::Object(entry)]) if entry.is_empty() => return Managed::default(),
        _ => {}
    }
    match Managed::read(said) {
        Ok(managed) if !managed.0.is_empty() => managed,
        _ => of_live(),
    }
}

pub(super) fn put(object: &mut Value, managed: &Managed) {
    let Some(metadata) = object.part("metadata") else {
        return;
    };
    match managed.write() {
        Some(entries) => metadata.put("managedFields", entries),
        None => metadata.drop_field("managedFields"),
    }
}

impl Tracked<'_> {
    pub(super) fn api_version(&self) -> String {
        self.kind.api_version()
    }

    /// `apps/v1, Kind=Deployment`.
    pub(super) fn named(&self) -> String {
        shown(self.kind)
    }

    /// Whether an object matches the schema, so that its fields can have owners: a definition may have changed since the
    /// object was stored, and the managed fields of a template can be any JSON.
    pub(super) fn fits(&self, shape: Shape<'_>, object: &Value) -> bool {
        let is_its_own = self.kind.group == self.resource.group;
        let may_not_fit = is_its_own && may_not_fit(self.resource) || has_managed_template(object);
        !may_not_fit || check(shape, object, Duplicates::Allowed).is_ok()
    }

    pub(super) fn identity(&self, manager: &str, operation: Operation) -> Identity {
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

    /// Makes the manager the owner of the fields that differ between two states. Says whether there are any.
    pub(super) fn update(
        &self,
        managed: &mut Managed,
        shape: Shape<'_>,
        live: &Value,
        new: &Value,
        manager: &str,
    ) -> bool {
        let ignored = reset(self.resource, self.subresource);
        let comparison = compare(shape, live, new).without(&ignored);
        let conflicts = self.losses(managed, &comparison, live, new, None);
        take(managed, &conflicts);
        let taken = comparison
            .modified
            .union(comparison.added)
            .difference(&UNOWNED);
        let takes = !taken.is_empty();
        if takes {
            let identity = self.identity(manager, Operation::Update);
            let before = managed.0.remove(&identity);
            let entry = Entry {
                set: match before {
                    Some(before) => taken.union(before.set),
                    None => taken,
                },
                api_version: self.api_version(),
                time: Some(self.now.to_owned()),
            };
            managed.0.insert(identity, entry);
        }
        managed.cap();
        takes
    }

    /// Returns the fields that each other manager loses. Drops entries of versions that no longer exist.
    pub(super) fn losses(
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
            let of = |changed| entry.set.intersection(changed);
            let loss = Loss {
                conflict: of(&comparison.modified).union(of(&comparison.added)),
                removed: of(&comparison.removed),
            };
            if !loss.conflict.is_empty() || !loss.removed.is_empty() {
                losses.insert(identity.clone(), loss);
            }
            true
        });
        losses
    }

    fn compare_in(&self, version: &str, live: &Value, new: &Value) -> Option<Comparison> {
        let own = self.api_version();
        let (shape, live) = self.in_version(Cow::Borrowed(live), &own, version, "")?;
        let what_for = "failed to convert new object: ";
        let (_, new) = self.in_version(Cow::Borrowed(new), &own, version, what_for)?;
        let ignored = reset(self.resource, self.subresource);
        Some(compare(shape, &live, &new).without(&ignored))
    }

    /// Converts the object to another version; returns it with its shape, or none if that version is not served. `what_for` is
    /// the prefix of the error if the conversion fails.
    pub(super) fn in_version<'v>(
        &self,
        object: Cow<'v, Value>,
        from: &str,
        to: &str,
        what_for: &str,
    ) -> Option<(Shape<'_>, Cow<'v, Value>)> {
        let kind = |api_version: &str| {
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            GroupVersionKind {
                group: group.to_owned(),
                version: version.to_owned(),
                kind: self.kind.kind.clone(),
            }
        };
        if from != to && !self.is_version(to) {
            let why = format!("request to convert CR to an invalid group/version: {to}");
            self.versions.fail(what_for, &why);
            return None;
        }
        let shape = Shape::of_kind(self.registry, &kind(to))?;
        if from == to {
            return Some((shape, object));
        }
        // A kind in two groups counts as two kinds here.
        let group = |version: &'_ str| version.split_once('/').map(|(group, _)| group.to_owned());
        if group(from) != group(to) {
            return None;
        }
        let (from, to) = (
            self.registry.by_kind(&kind(from))?,
            self.registry.by_kind(&kind(to))?,
        );
        if from.strategy.converts_by_webhook() {
            let object = self.versions.find(&from, &to, &object, what_for)?;
            return self.converted(shape, object, what_for);
        }
        let mut object = object.into_owned();
        kubewright_registry::convert(&from, &to, &mut object).ok()?;
        if !from.strategy.is_unstructured() {
            return Some((shape, Cow::Owned(object)));
        }
        self.converted(shape, object, what_for)
    }

    /// Validates a converted custom object, whose version may have other fields.
    fn converted<'s, 'v>(
        &self,
        shape: Shape<'s>,
        object: Value,
        what_for: &str,
    ) -> Option<(Shape<'s>, Cow<'v, Value>)> {
        if let Err(why) = check(shape, &object, Duplicates::Allowed) {
            self.versions.fail(what_for, &why);
            return None;
        }
        Some((shape, Cow::Owned(object)))
    }

    /// Whether a version exists: a definition may have removed it while entries of managers still name it.
    fn is_version(&self, api_version: &str) -> bool {
        self.kind.group != self.resource.group || self.resource.strategy.has_version(api_version)
    }

    /// Converts the live object to every version in which a manager owns fields. Runs before all other conversions: its
    /// errors have no prefix.
    pub(super) fn look_through_versions(&self, managed: &Managed, live: &Value) {
        let own = self.api_version();
        let versions = managed.0.values().map(|entry| entry.api_version.as_str());
        let others: BTreeSet<&str> = versions.filter(|version| *version != own).collect();
        for version in others {
            self.in_version(Cow::Borrowed(live), &own, version, "");
        }
    }
}

/// The fields that a manager loses.
#[derive(Debug)]
pub(super) struct Loss {
    /// Fields whose values changed.
    pub(super) conflict: Set,
    /// Removed fields.
    removed: Set,
}

pub(super) fn take(managed: &mut Managed, losses: &BTreeMap<Identity, Loss>) {
    for (identity, loss) in losses {
        if let Some(entry) = managed.0.get_mut(identity) {
            entry.set = std::mem::take(&mut entry.set)
                .difference(&loss.conflict)
                .difference(&loss.removed);
        }
    }
    managed.0.retain(|_, entry| !entry.set.is_empty());
}

/// `apps/v1, Kind=Deployment`.
pub fn shown(kind: &GroupVersionKind) -> String {
    named(&kind.group, &kind.version, &kind.kind)
}

pub(super) fn named(group: &str, version: &str, kind: &str) -> String {
    format!("{group}/{version}, Kind={kind}")
}
