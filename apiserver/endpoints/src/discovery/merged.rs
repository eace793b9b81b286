//! The groups and versions of discovery: those of this server and those of aggregated API servers, in the order of their
//! priorities.

use std::cmp::Reverse;
use std::sync::Arc;

use kubewright_registry::{GroupVersion, Registry, by_stability};

use crate::aggregation::Registration;

/// A group with its versions, the preferred one first.
#[derive(Debug)]
pub(super) struct MergedGroup<'a> {
    pub(super) name: String,
    pub(super) versions: Vec<MergedVersion<'a>>,
}

/// A version, and who serves it.
#[derive(Debug)]
pub(super) enum MergedVersion<'a> {
    Own(&'a GroupVersion),
    Aggregated(Arc<Registration>),
}

/// The priorities of groups of CustomResourceDefinitions, which a real server registers by itself.
const OF_DEFINITIONS: (i64, i64) = (1000, 100);

impl MergedVersion<'_> {
    pub(super) fn name(&self) -> &str {
        match self {
            Self::Own(version) => &version.version,
            Self::Aggregated(registration) => &registration.version,
        }
    }

    fn priority(&self, registrations: &[Arc<Registration>], group: &str) -> i64 {
        match self {
            Self::Own(version) => find(registrations, group, &version.version)
                .map_or(OF_DEFINITIONS.1, |it| it.version_priority),
            Self::Aggregated(registration) => registration.version_priority,
        }
    }
}

/// All groups but the core group.
pub(super) fn groups<'a>(
    registry: &'a Registry,
    registrations: &[Arc<Registration>],
) -> Vec<MergedGroup<'a>> {
    let own = registry
        .groups()
        .iter()
        .filter(|group| !group.name.is_empty());
    let mut groups: Vec<MergedGroup<'a>> = own
        .map(|group| MergedGroup {
            name: group.name.clone(),
            versions: group.versions.iter().map(MergedVersion::Own).collect(),
        })
        .collect();
    let remote = registrations.iter().filter(|it| it.service.is_some());
    let mut remote: Vec<_> = remote.filter(|it| !it.group.is_empty()).collect();
    if remote.is_empty() {
        return groups;
    }
    remote.sort_by_key(|it| {
        (
            Reverse(priority(registrations, &it.group)),
            it.group.clone(),
        )
    });
    for registration in remote {
        let at = groups.iter().position(|it| it.name == registration.group);
        let at = at.unwrap_or_else(|| {
            let new = priority(registrations, &registration.group);
            let is_behind = |group: &MergedGroup<'_>| {
                let old = priority(registrations, &group.name);
                old < new || old == new && group.name > registration.group
            };
            let at = groups.iter().position(is_behind).unwrap_or(groups.len());
            let group = MergedGroup {
                name: registration.group.clone(),
                versions: Vec::new(),
            };
            groups.insert(at, group);
            at
        });
        add(&mut groups[at], registration, registrations);
    }
    groups
}

fn add(
    group: &mut MergedGroup<'_>,
    registration: &Arc<Registration>,
    registrations: &[Arc<Registration>],
) {
    let versions = &mut group.versions;
    versions.retain(|version| version.name() != registration.version);
    let at = versions.partition_point(|version| {
        let priority = version.priority(registrations, &group.name);
        let first = by_stability(version.name(), &registration.version).is_lt();
        priority > registration.version_priority
            || priority == registration.version_priority && first
    });
    versions.insert(at, MergedVersion::Aggregated(registration.clone()));
}

/// The priority of a group is the highest that one of its versions has.
fn priority(registrations: &[Arc<Registration>], group: &str) -> i64 {
    if group == "apiregistration.k8s.io" {
        return i64::MAX;
    }
    let of_group = registrations.iter().filter(|it| it.group == group);
    of_group
        .map(|it| it.group_priority)
        .max()
        .unwrap_or(OF_DEFINITIONS.0)
}

fn find<'a>(
    registrations: &'a [Arc<Registration>],
    group: &str,
    version: &str,
) -> Option<&'a Arc<Registration>> {
    registrations
        .iter()
        .find(|it| it.group == group && it.version == version)
}
