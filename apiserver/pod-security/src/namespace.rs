//! What the pods of a namespace violate when it becomes stricter.

use std::collections::{BTreeMap, BTreeSet};

use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::checks::violations;
use crate::configuration::Exemptions;
use crate::level::LevelVersion;
use crate::pod::Pod;

/// How many pods are checked at most.
const MOST: usize = 3000;

/// The warnings about pods that are there already and violate what is enforced from now on. `newest` is the minor version of
/// Kubernetes that `latest` is.
pub fn warnings_of_pods<'a>(
    namespace: &str,
    enforce: LevelVersion,
    newest: u32,
    pods: impl Iterator<Item = &'a Value>,
    exemptions: &Exemptions,
) -> Vec<String> {
    let pods = prioritized(pods.filter(|pod| !exemptions.has_runtime_class(pod.at("spec"))));
    let checked = pods.len().min(MOST);
    let mut found: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for pod in &pods[..checked] {
        let metadata = pod.at("metadata");
        let violations = violations(enforce, newest, &Pod::new(metadata, pod.at("spec")));
        if !violations.is_empty() {
            let names = found.entry(violations.reason()).or_default();
            names.insert(metadata.text("name"));
        }
    }
    let mut warnings = Vec::new();
    if checked < pods.len() {
        warnings.push(format!(
            "new PodSecurity enforce level only checked against the first {checked} of {} existing pods",
            pods.len()
        ));
    }
    if !found.is_empty() {
        warnings.push(format!(
            "existing pods in namespace {} violate the new PodSecurity enforce level {}",
            quoted(namespace),
            quoted(&enforce.to_string())
        ));
    }
    let each = found.into_iter().map(|(reason, names)| {
        let first = names.first().copied().unwrap_or_default();
        match names.len() {
            0 | 1 => format!("{first}: {reason}"),
            2 => format!("{first} (and 1 other pod): {reason}"),
            count => format!("{first} (and {} other pods): {reason}", count - 1),
        }
    });
    let mut each: Vec<String> = each.collect();
    each.sort();
    warnings.extend(each);
    warnings
}

/// One pod of each controller first, for the others are alike.
fn prioritized<'a>(pods: impl Iterator<Item = &'a Value>) -> Vec<&'a Value> {
    let mut seen = BTreeSet::new();
    let (mut first, others): (Vec<_>, Vec<_>) = pods.partition(|pod| {
        let owners = pod.at("metadata").list("ownerReferences");
        let controller = owners.iter().find(|owner| owner.flag("controller"));
        controller.is_none_or(|owner| seen.insert(owner.text("uid")))
    });
    first.extend(others);
    first
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::level::{Level, Version};

    #[test]
    fn pods_that_violate_the_same_are_told_of_together() {
        let pod = |name: &str, spec: Value| json!({"metadata": {"name": name}, "spec": spec});
        let pods = [
            pod("c", json!({"hostPID": true})),
            pod("a", json!({"hostPID": true})),
            pod("b", json!({"hostPID": true})),
            pod(
                "d",
                json!({"hostPID": true, "volumes": [{"name": "v", "hostPath": {"path": "/"}}]}),
            ),
            pod("e", json!({})),
        ];
        let enforce = LevelVersion {
            level: Level::Baseline,
            version: Version::Latest,
        };
        let warnings = warnings_of_pods("blue", enforce, 37, pods.iter(), &Exemptions::default());
        assert_eq!(
            warnings,
            [
                r#"existing pods in namespace "blue" violate the new PodSecurity enforce level "baseline:latest""#,
                "a (and 2 other pods): host namespaces",
                "d: host namespaces, hostPath volumes",
            ]
        );
    }
}
