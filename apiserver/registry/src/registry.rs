//! Which resources there are: groups, versions, kinds and plural names, in discovery's order.

mod group;
mod table;

use std::cmp::{Ordering, Reverse};
use std::sync::Arc;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_apimachinery::version::KubernetesVersion;

use crate::resource::Resource;
use crate::strategy::Strategy;

pub use group::{Group, GroupVersion, Strategies, Versions};

/// The resources that a server knows. A value: adding to it makes another one, and both share what they have in common.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    version: KubernetesVersion,
    groups: Vec<Group>,
    by_plural: Vec<Arc<Resource>>,
    by_kind: Vec<Arc<Resource>>,
}

impl Registry {
    /// Returns the built-in resources. `strategies` has the strategies, by group and kind, of kinds that another crate has the
    /// rules of: those of CustomResourceDefinitions.
    pub fn builtin(versions: Versions, strategies: Strategies) -> Self {
        Self::of(
            KubernetesVersion::default(),
            table::builtin(versions, strategies),
        )
    }

    /// The version of Kubernetes whose resources these are.
    pub fn version(&self) -> KubernetesVersion {
        self.version
    }

    /// The resource at `/apis/<group>/<version>/…/<plural>`.
    pub fn find(&self, group: &str, version: &str, plural: &str) -> Option<Arc<Resource>> {
        let wanted = (group, version, plural);
        self.by_plural
            .binary_search_by(|resource| plural_key(resource).cmp(&wanted))
            .ok()
            .map(|at| Arc::clone(&self.by_plural[at]))
    }

    /// The resource whose objects are of this kind.
    pub fn by_kind(&self, kind: &GroupVersionKind) -> Option<Arc<Resource>> {
        self.find_kind(kind).map(Arc::clone)
    }

    /// The resource of a kind, borrowed.
    pub fn find_kind(&self, kind: &GroupVersionKind) -> Option<&Arc<Resource>> {
        let wanted = (&*kind.group, &*kind.version, &*kind.kind);
        self.by_kind
            .binary_search_by(|resource| kind_key(resource).cmp(&wanted))
            .ok()
            .map(|at| &self.by_kind[at])
    }

    /// Every resource, in discovery's order.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Resource>> {
        self.groups
            .iter()
            .flat_map(|group| &group.versions)
            .flat_map(|version| &version.resources)
    }

    /// The groups, in discovery's order; core comes first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group of this name.
    pub fn group(&self, name: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.name == name)
    }

    /// The other resources that show the same objects: other versions of the group, and the other group of `events`.
    pub fn equivalents(&self, resource: &Resource) -> Vec<Arc<Resource>> {
        self.all()
            .filter(|other| other.plural == resource.plural && other.storage == resource.storage)
            .filter(|other| plural_key(other) != plural_key(resource))
            .map(Arc::clone)
            .collect()
    }

    /// This registry with more resources; one that is there already is replaced.
    ///
    /// New groups stand behind the built-in ones, by name, and their versions in Kubernetes' order.
    #[must_use]
    pub fn with(&self, additions: impl IntoIterator<Item = Resource>) -> Self {
        let mut groups = self.groups.clone();
        let builtin = table::group_names();
        for resource in additions {
            let at = groups
                .iter()
                .position(|group| group.name == resource.group)
                .unwrap_or_else(|| {
                    let at = groups.partition_point(|group| {
                        builtin.contains(&&*group.name) || group.name < resource.group
                    });
                    let name = resource.group.clone();
                    let versions = Vec::new();
                    groups.insert(at, Group { name, versions });
                    at
                });
            groups[at].add(resource);
        }
        Self::of(self.version, groups)
    }

    /// This registry without the resources that `gone` names.
    #[must_use]
    pub fn without(&self, gone: impl Fn(&Resource) -> bool) -> Self {
        let mut groups = self.groups.clone();
        for version in groups.iter_mut().flat_map(|group| &mut group.versions) {
            version.resources.retain(|resource| !gone(resource));
        }
        for group in &mut groups {
            group
                .versions
                .retain(|version| !version.resources.is_empty());
        }
        groups.retain(|group| !group.versions.is_empty());
        Self::of(self.version, groups)
    }

    /// This registry as one of another version, with other strategies where there are some.
    pub(crate) fn of_version(
        &self,
        version: KubernetesVersion,
        other: impl Fn(&Resource) -> Option<Arc<dyn Strategy>>,
    ) -> Self {
        let mut groups = self.groups.clone();
        let versions = groups.iter_mut().flat_map(|group| &mut group.versions);
        for resource in versions.flat_map(|version| &mut version.resources) {
            if let Some(strategy) = other(resource) {
                Arc::make_mut(resource).strategy = strategy;
            }
        }
        Self::of(version, groups)
    }

    fn of(version: KubernetesVersion, groups: Vec<Group>) -> Self {
        let mut registry = Self {
            version,
            groups,
            ..Self::default()
        };
        let mut by_plural: Vec<_> = registry.all().map(Arc::clone).collect();
        let mut by_kind = by_plural.clone();
        by_plural.sort_by(|a, b| plural_key(a).cmp(&plural_key(b)));
        by_kind.sort_by(|a, b| kind_key(a).cmp(&kind_key(b)));
        registry.by_plural = by_plural;
        registry.by_kind = by_kind;
        registry
    }
}

impl Group {
    fn add(&mut self, resource: Resource) {
        let at = self
            .versions
            .partition_point(|version| by_stability(&version.version, &resource.version).is_lt());
        if self
            .versions
            .get(at)
            .is_none_or(|version| version.version != resource.version)
        {
            let version = GroupVersion {
                version: resource.version.clone(),
                resources: Vec::new(),
            };
            self.versions.insert(at, version);
        }
        let resources = &mut self.versions[at].resources;
        resources.retain(|other| other.plural != resource.plural);
        let place = resources.partition_point(|other| other.plural < resource.plural);
        resources.insert(place, Arc::new(resource));
    }
}

/// Orders versions as Kubernetes does: `v2`, `v1`, `v1beta2`, `v1beta1`, `v1alpha1`, and anything else behind, by name.
pub fn by_stability(a: &str, b: &str) -> Ordering {
    match (Rank::of(a), Rank::of(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Stable before beta before alpha, then the higher major and the higher minor number first.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rank(u8, Reverse<u64>, Reverse<u64>);

impl Rank {
    fn of(version: &str) -> Option<Self> {
        let (major, rest) = leading_number(version.strip_prefix('v')?)?;
        if rest.is_empty() {
            return Some(Self(0, Reverse(major), Reverse(0)));
        }
        let (level, rest) = match rest.strip_prefix("beta") {
            Some(rest) => (1, rest),
            None => (2, rest.strip_prefix("alpha")?),
        };
        let (minor, rest) = leading_number(rest)?;
        rest.is_empty()
            .then_some(Self(level, Reverse(major), Reverse(minor)))
    }
}

fn leading_number(text: &str) -> Option<(u64, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let number = text[..digits].parse().ok()?;
    (number > 0).then_some((number, &text[digits..]))
}

fn plural_key(resource: &Resource) -> (&str, &str, &str) {
    (&resource.group, &resource.version, &resource.plural)
}

fn kind_key(resource: &Resource) -> (&str, &str, &str) {
    (&resource.group, &resource.version, &resource.kind)
}

#[cfg(test)]
mod tests;
