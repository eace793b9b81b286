//! What the objects of a namespace use of a quota, and after which changes that is counted again.

use jiff::Timestamp;
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::evaluator::{Evaluator, SPECIAL};
use crate::list::ResourceList;
use crate::quota::Quota;
use crate::{pod, volume_claim};

/// The objects of one namespace.
pub trait Objects {
    /// The objects of a resource; none if the server has no such resource, or it cannot be created, listed, watched and deleted.
    fn of(&self, group: &str, plural: &str) -> Option<Vec<Value>>;
}

/// Counts what is used of a quota's limits. A resource that is not known here is left out.
pub fn usage(
    quota: &Quota,
    hard: &ResourceList,
    objects: &dyn Objects,
    now: Timestamp,
) -> ResourceList {
    let mut used = ResourceList::default();
    for evaluator in evaluators(hard) {
        let names = evaluator.matching(hard.names());
        if names.is_empty() {
            continue;
        }
        let (group, plural) = evaluator.resource();
        let Some(objects) = objects.of(group, plural) else {
            continue;
        };
        let mut sum: ResourceList = names
            .iter()
            .map(|name| (name.as_str(), Quantity::from(0)))
            .collect();
        for object in &objects {
            if evaluator.is_in_scope(quota, object) {
                sum.add(&evaluator.usage(object, now).masked(&names));
            }
        }
        used.add(&sum);
    }
    used
}

/// The evaluators of all resources that these limits can be about.
fn evaluators(hard: &ResourceList) -> impl Iterator<Item = Evaluator> {
    let special = SPECIAL
        .iter()
        .map(|(group, plural)| Evaluator::of(group, plural));
    let counted = hard.names().filter_map(|name| {
        let resource = name.strip_prefix("count/")?;
        let (plural, group) = resource.split_once('.').unwrap_or((resource, ""));
        let is_special = SPECIAL.contains(&(group, plural));
        let counts = !is_special && !Evaluator::ignores(group, plural);
        counts.then(|| Evaluator::of(group, plural))
    });
    special.chain(counted)
}

/// Whether a change of an object can give something back to a quota that admission does not see: its end, above all.
pub fn is_replenished(
    group: &str,
    plural: &str,
    old: &Value,
    new: Option<&Value>,
    now: Timestamp,
) -> bool {
    let Some(new) = new else {
        return true;
    };
    if !group.is_empty() {
        return false;
    }
    match plural {
        "pods" => {
            resources_of_containers(old) != resources_of_containers(new)
                || pod::is_terminating(old) != pod::is_terminating(new)
                || (pod::is_charged(old, now) && !pod::is_charged(new, now))
        }
        "services" => service_type(old) != service_type(new),
        "persistentvolumeclaims" => {
            let allocated =
                |claim: &Value| ResourceList::of(claim.at("status"), "allocatedResources");
            allocated(old) != allocated(new)
                || volume_claim::attributes_classes(old) != volume_claim::attributes_classes(new)
        }
        _ => false,
    }
}

/// The resources that the containers of a pod have been given.
fn resources_of_containers(pod: &Value) -> Vec<(&str, &Value)> {
    let status = pod.at("status");
    let all = status.list("containerStatuses").iter();
    let all = all.chain(status.list("initContainerStatuses"));
    let given = all.filter(|container| container.has("resources"));
    given
        .map(|container| (container.text("name"), container.at("resources")))
        .collect()
}

fn service_type(service: &Value) -> &str {
    match service.at("spec").text("type") {
        counted @ ("NodePort" | "LoadBalancer") => counted,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    struct Two;

    impl Objects for Two {
        fn of(&self, group: &str, plural: &str) -> Option<Vec<Value>> {
            let claim = json!({"spec": {"resources": {"requests": {"storage": "1Gi"}}}});
            match plural {
                "persistentvolumeclaims" => Some(vec![claim.clone(), claim]),
                "deployments" if group == "apps" => Some(vec![json!({})]),
                "configmaps" => Some(Vec::new()),
                _ => None,
            }
        }
    }

    #[test]
    fn what_there_is_is_counted_and_what_is_unknown_is_left_out() {
        let hard = json!({"hard": {
            "configmaps": "1", "count/deployments.apps": "1", "count/ghosts.example.com": "1",
            "pods": "1", "requests.storage": "5Gi", "persistentvolumeclaims": "3",
        }});
        let hard = ResourceList::of(&hard, "hard");
        let quota = Quota::of(&json!({"metadata": {"name": "q"}}));
        assert_eq!(
            usage(&quota, &hard, &Two, Timestamp::now()).shown(),
            "configmaps=0,count/deployments.apps=1,persistentvolumeclaims=2,requests.storage=2Gi"
        );
    }

    #[test]
    fn a_pod_gives_back_what_it_used_when_it_ends() {
        let pod = |phase: &str| json!({"status": {"phase": phase}});
        let [pending, running, ended] = ["Pending", "Running", "Succeeded"].map(pod);
        let is_replenished = |old, new| is_replenished("", "pods", old, new, Timestamp::now());
        assert!(is_replenished(&running, Some(&ended)));
        assert!(!is_replenished(&pending, Some(&running)));
        assert!(is_replenished(&ended, None));
    }
}
