//! What a pod as a whole requests and is limited to.

use kubewright_apimachinery::view::View as _;
use serde_json::Value;

use crate::list::ResourceList;

/// Sums a resource list over the containers of a pod. Init containers that end run before the others: the pod needs the
/// larger of both.
pub fn of_containers(pod: &Value, of: impl Fn(&Value) -> ResourceList) -> ResourceList {
    let spec = pod.at("spec");
    let mut sum = ResourceList::default();
    for container in spec.list("containers") {
        sum.add(&of(container));
    }
    let mut restartable = ResourceList::default();
    let mut peak = ResourceList::default();
    for container in spec.list("initContainers") {
        let own = of(container);
        if container.text("restartPolicy") == "Always" {
            sum.add(&own);
            restartable.add(&own);
            peak.raise(&restartable);
        } else {
            let mut with_restartable = own;
            with_restartable.add(&restartable);
            peak.raise(&with_restartable);
        }
    }
    sum.raise(&peak);
    sum
}

/// What a list of a container's specification says.
pub fn specified(container: &Value, list: &str) -> ResourceList {
    ResourceList::of(container.at("resources"), list)
}

/// The requests of a pod by its specification, with its overhead.
pub fn specified_requests(pod: &Value) -> ResourceList {
    let mut requests = of_containers(pod, |container| specified(container, "requests"));
    finish_requests(pod, &mut requests);
    requests
}

/// The requests of a pod, with its overhead: while the pod is resized, the larger ones of its specification and its status.
pub fn requests(pod: &Value) -> ResourceList {
    let mut requests = if has_statuses(pod) {
        let infeasible = is_resize_infeasible(pod);
        let mut largest = of_containers(pod, |container| actuated_requests(pod, container));
        largest.raise(&of_containers(pod, |container| {
            allocated_requests(pod, container)
        }));
        if !infeasible {
            largest.raise(&of_containers(pod, |container| {
                specified(container, "requests")
            }));
        }
        largest
    } else {
        of_containers(pod, |container| specified(container, "requests"))
    };
    finish_requests(pod, &mut requests);
    requests
}

/// The limits of a pod, with its overhead where it is limited.
pub fn limits(pod: &Value) -> ResourceList {
    let mut limits = if has_statuses(pod) {
        let mut largest = of_containers(pod, |container| actuated_limits(pod, container));
        if !is_resize_infeasible(pod) {
            largest.raise(&of_containers(pod, |container| {
                specified(container, "limits")
            }));
        }
        largest
    } else {
        of_containers(pod, |container| specified(container, "limits"))
    };
    if are_set(pod, &["requests", "limits"]) {
        override_by_pod(pod, "limits", &mut limits);
    }
    for (name, overhead) in ResourceList::of(pod.at("spec"), "overhead").iter() {
        if let Some(limit) = limits.get(name).filter(|limit| !limit.is_zero()) {
            limits.set(name, limit.plus(overhead));
        }
    }
    limits
}

/// Whether resources of the pod as a whole are set.
pub fn are_set(pod: &Value, lists: &[&str]) -> bool {
    let resources = pod.at("spec").at("resources");
    let mut names = lists.iter().flat_map(|list| resources.entries(list));
    names.any(|(name, _)| is_of_pods(name))
}

fn finish_requests(pod: &Value, requests: &mut ResourceList) {
    if are_set(pod, &["requests"]) {
        override_by_pod(pod, "requests", requests);
    }
    requests.add(&ResourceList::of(pod.at("spec"), "overhead"));
}

fn override_by_pod(pod: &Value, list: &str, sum: &mut ResourceList) {
    let own = ResourceList::of(pod.at("spec").at("resources"), list);
    for (name, quantity) in own.iter().filter(|(name, _)| is_of_pods(name)) {
        sum.set(name, quantity);
    }
}

/// Whether a pod as a whole can have the resource.
fn is_of_pods(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

fn has_statuses(pod: &Value) -> bool {
    let status = pod.at("status");
    status.has("containerStatuses") || status.has("initContainerStatuses")
}

fn is_resize_infeasible(pod: &Value) -> bool {
    let mut conditions = pod.at("status").list("conditions").iter();
    let pending = conditions.find(|condition| condition.text("type") == "PodResizePending");
    pending.is_some_and(|condition| condition.text("reason") == "Infeasible")
}

fn status_of<'a>(pod: &'a Value, container: &Value) -> &'a Value {
    let name = container.text("name");
    let status = pod.at("status");
    let all = status.list("containerStatuses").iter();
    let mut all = all.chain(status.list("initContainerStatuses"));
    all.find(|status| status.text("name") == name)
        .unwrap_or(&Value::Null)
}

fn allocated_requests(pod: &Value, container: &Value) -> ResourceList {
    let status = status_of(pod, container);
    if status.has("allocatedResources") {
        ResourceList::of(status, "allocatedResources")
    } else if is_resize_infeasible(pod) {
        ResourceList::default()
    } else {
        specified(container, "requests")
    }
}

fn actuated_requests(pod: &Value, container: &Value) -> ResourceList {
    let resources = status_of(pod, container).at("resources");
    if resources.has("requests") {
        ResourceList::of(resources, "requests")
    } else {
        allocated_requests(pod, container)
    }
}

fn actuated_limits(pod: &Value, container: &Value) -> ResourceList {
    let resources = status_of(pod, container).at("resources");
    if resources.has("limits") {
        ResourceList::of(resources, "limits")
    } else if is_resize_infeasible(pod) {
        ResourceList::default()
    } else {
        specified(container, "limits")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with_cpu(request: &str) -> Value {
        json!({"name": "c", "resources": {"requests": {"cpu": request}}})
    }

    fn shown(pod: &Value) -> String {
        requests(pod).shown()
    }

    #[test]
    fn an_init_container_counts_where_it_needs_more_than_all_others() {
        let pod = |init: &str| {
            json!({"spec": {
                "containers": [with_cpu("1"), with_cpu("500m")],
                "initContainers": [with_cpu(init)],
            }})
        };
        assert_eq!(shown(&pod("1")), "cpu=1500m");
        assert_eq!(shown(&pod("2")), "cpu=2");
    }

    #[test]
    fn a_sidecar_counts_with_the_containers_and_with_the_init_containers_behind_it() {
        let mut sidecar = with_cpu("1");
        sidecar["restartPolicy"] = json!("Always");
        let pod = json!({"spec": {
            "containers": [with_cpu("1")],
            "initContainers": [sidecar, with_cpu("3")],
        }});
        assert_eq!(shown(&pod), "cpu=4");
    }

    #[test]
    fn the_resources_of_the_pod_override_those_of_its_containers_and_the_overhead_is_added() {
        let pod = json!({"spec": {
            "containers": [with_cpu("1")],
            "resources": {"requests": {"cpu": "3"}},
            "overhead": {"cpu": "250m"},
        }});
        assert_eq!(shown(&pod), "cpu=3250m");
    }

    #[test]
    fn a_pod_that_is_resized_requests_the_larger_of_before_and_after() {
        let status =
            json!({"containerStatuses": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]});
        let mut pod = json!({"spec": {"containers": [with_cpu("1")]}, "status": status});
        assert_eq!(shown(&pod), "cpu=2");
        pod["spec"]["containers"][0] = with_cpu("4");
        assert_eq!(shown(&pod), "cpu=4");
        pod["status"]["conditions"] = json!([{"type": "PodResizePending", "reason": "Infeasible"}]);
        assert_eq!(shown(&pod), "cpu=2");
    }
}
