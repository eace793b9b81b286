//! Options of requests and events of watches are kinds of every group that a program knows.

use std::collections::BTreeMap;

use kubewright_apimachinery::meta::GroupVersionKind;
use serde_json::Value;

use crate::openapi::names::kind_value;

const GROUP_VERSIONS: &str = include_str!("group_versions.txt");

/// Writes the kinds into the definitions.
pub(super) fn add_all(definitions: &mut BTreeMap<String, Value>) {
    for kind in ["DeleteOptions", "WatchEvent"] {
        let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}");
        let Some(definition) = definitions.get_mut(&name) else {
            continue;
        };
        let kinds: Vec<Value> = of_server(kind).map(|kind| kind_value(&kind)).collect();
        definition["x-kubernetes-group-version-kind"] = kinds.into();
    }
}

fn of_server(kind: &str) -> impl Iterator<Item = GroupVersionKind> {
    let lines = GROUP_VERSIONS.lines();
    let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(move |line| {
        let (group, version) = line.split_once('/').unwrap_or(("", line));
        GroupVersionKind {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }
    })
}

/// The kinds that client-go knows options as, which the documents of custom resources list.
pub(crate) fn of_clients(kind: &str) -> impl Iterator<Item = GroupVersionKind> {
    of_server(kind).filter(|kind| {
        !matches!(
            &*kind.group,
            "admission.k8s.io"
                | "apiextensions.k8s.io"
                | "apiregistration.k8s.io"
                | "imagepolicy.k8s.io"
        )
    })
}
