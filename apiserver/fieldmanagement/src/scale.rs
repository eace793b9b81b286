//! The owners of a workload's replicas, as its `scale` shows them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entries::{Entry, Managed};
use super::set::Set;

const SCALE: &str = "autoscaling/v1";

/// Where a scale has the replicas, and the built-in workloads, too.
pub const REPLICAS: &str = ".spec.replicas";

fn at(path: &str) -> Set {
    Set::of_path(path.trim_start_matches('.').split('.'))
}

/// Where the versions of a workload have the replicas: by their apiVersion, none for one that has no scale.
pub type Places<'a> = BTreeMap<String, Option<&'a str>>;

/// The `managedFields` of a scale: those of its workload that own the replicas.
pub fn to_scale(parent: &Value, places: &Places<'_>) -> Option<Value> {
    let mut managed = Managed::read(parent).ok()?;
    managed.0.retain(|_, entry| owns(entry, places));
    for entry in managed.0.values_mut() {
        entry.set = at(REPLICAS);
        SCALE.clone_into(&mut entry.api_version);
    }
    // The identity stays that of the workload's entry, so that it finds its way back.
    managed.write()
}

/// The replicas in a version.
fn replicas(api_version: &str, places: &Places<'_>) -> Option<Set> {
    places.get(api_version).copied().flatten().map(at)
}

fn owns(entry: &Entry, places: &Places<'_>) -> bool {
    let replicas = replicas(&entry.api_version, places);
    replicas.is_some_and(|replicas| !entry.set.intersection(&replicas).is_empty())
}

/// The `managedFields` of a workload after its scale was written with these.
pub fn to_parent(
    parent: &Value,
    scale: &Value,
    api_version: &str,
    places: &Places<'_>,
) -> Option<Value> {
    let mut managed = Managed::read(parent).unwrap_or_default();
    let mut scale = Managed::read(scale).unwrap_or_default();
    let times: BTreeMap<_, _> = managed
        .0
        .iter()
        .map(|(identity, entry)| (identity.clone(), entry.time.clone()))
        .collect();
    managed
        .0
        .retain(|_, entry| places.contains_key(&entry.api_version));
    let owners: Vec<_> = managed
        .0
        .iter()
        .filter(|(_, entry)| owns(entry, places))
        .map(|(identity, _)| identity.clone())
        .collect();
    for owner in owners {
        if scale.0.remove(&owner).is_none()
            && let Some(entry) = managed.0.get_mut(&owner)
        {
            // Somebody else has them now.
            let replicas = replicas(&entry.api_version, places).unwrap_or_default();
            entry.set = std::mem::take(&mut entry.set).difference(&replicas);
        }
    }
    managed.0.retain(|_, entry| !entry.set.is_empty());
    for (identity, mut entry) in scale.0 {
        if entry.set.intersection(&at(REPLICAS)).is_empty() {
            continue;
        }
        api_version.clone_into(&mut entry.api_version);
        entry.set = replicas(api_version, places).unwrap_or_default();
        entry.time = times.get(&identity).cloned().flatten();
        managed.0.insert(identity, entry);
    }
    managed.write()
}
