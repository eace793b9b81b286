//! Managed fields of the `scale` subresource: the managers that own the replicas of a workload.

use std::collections::BTreeMap;

use serde_json::Value;

use super::entries::{Entry, Managed};
use super::set::Set;

const SCALE: &str = "autoscaling/v1";

/// The path of the replicas in a scale and in the built-in workloads.
pub const REPLICAS: &str = ".spec.replicas";

fn at(path: &str) -> Set {
    Set::of_path(path.trim_start_matches('.').split('.'))
}

/// The path of the replicas in each version of a workload, by apiVersion; none for a version without a scale.
pub type Places<'a> = BTreeMap<String, Option<&'a str>>;

/// Returns the `managedFields` of a scale: the entries of its workload that own the replicas.
pub fn to_scale(parent: &Value, places: &Places<'_>) -> Option<Value> {
    let mut managed = Managed::read(parent).ok()?;
    managed.0.retain(|_, entry| owns(entry, places));
    for entry in managed.0.values_mut() {
        entry.set = at(REPLICAS);
        SCALE.clone_into(&mut entry.api_version);
    }
    // The entries keep the identities of the workload's entries, so that `to_parent` finds them.
    managed.write()
}

/// The set of the replicas' path in a version.
fn replicas(api_version: &str, places: &Places<'_>) -> Option<Set> {
    places.get(api_version).copied().flatten().map(at)
}

fn owns(entry: &Entry, places: &Places<'_>) -> bool {
    let replicas = replicas(&entry.api_version, places);
    replicas.is_some_and(|replicas| !entry.set.intersection(&replicas).is_empty())
}

/// Returns the `managedFields` of a workload after a write to its scale, whose `managedFields` are `scale`.
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
            // This manager no longer owns the replicas.
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
