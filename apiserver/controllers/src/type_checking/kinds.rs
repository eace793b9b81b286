//! The kinds that a policy is checked for: those that its rules name, without wildcards.

use std::collections::BTreeSet;

use kubewright_apimachinery::meta::GroupVersionKind;
use kubewright_registry::Registry;
use serde_json::Value;

use crate::object::{list, text};

/// The maximum number of kinds that one rule adds, `maxTypesToCheck` in the API server. A rule that reaches it ends the search.
const MOST: usize = 10;

/// The kinds that the rules of a policy match, ordered by group, version and kind.
pub(super) fn matched(spec: &Value, registry: &Registry) -> Vec<GroupVersionKind> {
    let mut kinds = BTreeSet::new();
    for rule in list(spec, "/matchConstraints/resourceRules") {
        let (Some(groups), Some(versions)) = (exact(rule, "apiGroups"), exact(rule, "apiVersions"))
        else {
            continue;
        };
        let resources: BTreeSet<String> = strings(rule, "resources")
            .filter(|resource| !resource.contains(['*', '/']))
            .map(str::to_lowercase)
            .collect();
        let mut count = 0;
        for group in &groups {
            for version in &versions {
                for resource in &resources {
                    for found in find(registry, group, version, resource) {
                        kinds.insert((found.group, found.version, found.kind));
                        count += 1;
                        if count == MOST {
                            return ordered(kinds);
                        }
                    }
                }
            }
        }
    }
    ordered(kinds)
}

/// The kind of a policy's parameters.
pub(super) fn of_params(spec: &Value) -> Option<GroupVersionKind> {
    let kind = spec.get("paramKind").filter(|kind| kind.is_object())?;
    let api_version = text(kind, "/apiVersion");
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Some(GroupVersionKind {
        group: group.to_owned(),
        version: version.to_owned(),
        kind: text(kind, "/kind").to_owned(),
    })
}

fn ordered(kinds: BTreeSet<(String, String, String)>) -> Vec<GroupVersionKind> {
    kinds
        .into_iter()
        .map(|(group, version, kind)| GroupVersionKind {
            group,
            version,
            kind,
        })
        .collect()
}

fn strings<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = &'a str> {
    let values = rule.get(field).and_then(Value::as_array);
    values.into_iter().flatten().filter_map(Value::as_str)
}

/// The strings of a field in their order; none if one of them is a wildcard.
fn exact<'a>(rule: &'a Value, field: &str) -> Option<BTreeSet<&'a str>> {
    let values: BTreeSet<&str> = strings(rule, field).collect();
    let has_wildcard = values.iter().any(|value| value.contains('*'));
    (!has_wildcard).then_some(values)
}

/// The kinds of a resource. The mapper of a real controller takes the core group for any group.
fn find(
    registry: &Registry,
    group: &str,
    version: &str,
    resource: &str,
) -> impl Iterator<Item = GroupVersionKind> {
    let all = registry.all().filter(move |served| {
        (group.is_empty() || served.group == group)
            && served.version == version
            && (served.plural == resource || served.singular == resource)
    });
    all.map(|served| served.group_version_kind())
}
