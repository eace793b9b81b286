//! The minima, maxima and ratios of a LimitRange, and what breaks them.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View as _;
use kubewright_quota::{ResourceList, pod_resources};
use serde_json::Value;

/// What a pod breaks of a LimitRange.
pub(super) fn of_pod(range: &Value, pod: &Value) -> Option<String> {
    let mut broken = Vec::new();
    for limit in range.at("spec").list("limits") {
        let kind = limit.text("type");
        match kind {
            "Container" => {
                let spec = pod.at("spec");
                let containers = spec.list("containers").iter();
                for container in containers.chain(spec.list("initContainers")) {
                    let [requests, limits] = ["requests", "limits"]
                        .map(|list| pod_resources::specified(container, list));
                    bounds(limit, &requests, &limits, &mut broken);
                }
            }
            "Pod" => {
                let [requests, limits] = ["requests", "limits"].map(|list| of_whole_pod(pod, list));
                bounds(limit, &requests, &limits, &mut broken);
            }
            _ => {}
        }
    }
    joined(broken)
}

/// What a claim breaks of a LimitRange: only its requests have limits.
pub(super) fn of_claim(range: &Value, claim: &Value) -> Option<String> {
    let requests = ResourceList::of(claim.at("spec").at("resources"), "requests");
    let mut broken = Vec::new();
    let limits = range.at("spec").list("limits").iter();
    for limit in limits.filter(|limit| limit.text("type") == "PersistentVolumeClaim") {
        for (name, least) in ResourceList::of(limit, "min").iter() {
            let limits = ResourceList::default();
            broken.extend(below(limit, name, least, &requests, &limits));
        }
        for (name, most) in ResourceList::of(limit, "max").iter() {
            let bound = format!("maximum {name} usage per {} is {most}", limit.text("type"));
            broken.extend(match requests.get(name) {
                None => Some(format!("{bound}.  No request is specified")),
                Some(request) if exceeds(request, most) => {
                    Some(format!("{bound}, but request is {request}"))
                }
                Some(_) => None,
            });
        }
    }
    joined(broken)
}

/// The sum over all containers, unless the pod as a whole specifies it.
fn of_whole_pod(pod: &Value, list: &str) -> ResourceList {
    let mut sum =
        pod_resources::of_containers(pod, |container| pod_resources::specified(container, list));
    let own = ResourceList::of(pod.at("spec").at("resources"), list);
    for (name, quantity) in own
        .iter()
        .filter(|(name, _)| matches!(*name, "cpu" | "memory"))
    {
        sum.set(name, quantity);
    }
    sum
}

fn bounds(limit: &Value, requests: &ResourceList, limits: &ResourceList, broken: &mut Vec<String>) {
    for (name, least) in ResourceList::of(limit, "min").iter() {
        broken.extend(below(limit, name, least, requests, limits));
    }
    for (name, most) in ResourceList::of(limit, "max").iter() {
        broken.extend(above(limit, name, most, requests, limits));
    }
    for (name, most) in ResourceList::of(limit, "maxLimitRequestRatio").iter() {
        broken.extend(beyond_ratio(limit, name, most, requests, limits));
    }
}

fn below(
    limit: &Value,
    name: &str,
    least: Quantity,
    requests: &ResourceList,
    limits: &ResourceList,
) -> Option<String> {
    let bound = format!("minimum {name} usage per {} is {least}", limit.text("type"));
    let Some(request) = requests.get(name) else {
        return Some(format!("{bound}.  No request is specified"));
    };
    if exceeds(least, request) {
        return Some(format!("{bound}, but request is {request}"));
    }
    let limit = limits.get(name).filter(|limit| exceeds(least, *limit))?;
    Some(format!("{bound}, but limit is {limit}"))
}

fn above(
    limit: &Value,
    name: &str,
    most: Quantity,
    requests: &ResourceList,
    limits: &ResourceList,
) -> Option<String> {
    let bound = format!("maximum {name} usage per {} is {most}", limit.text("type"));
    let Some(limit) = limits.get(name) else {
        return Some(format!("{bound}.  No limit is specified"));
    };
    if exceeds(limit, most) {
        return Some(format!("{bound}, but limit is {limit}"));
    }
    let request = requests
        .get(name)
        .filter(|request| exceeds(*request, most))?;
    Some(format!("{bound}, but request is {request}"))
}

fn beyond_ratio(
    limit: &Value,
    name: &str,
    most: Quantity,
    requests: &ResourceList,
    limits: &ResourceList,
) -> Option<String> {
    let bound = format!(
        "{name} max limit to request ratio per {} is {most}",
        limit.text("type")
    );
    let given = |list: &ResourceList| list.get(name).filter(|quantity| !quantity.is_zero());
    let Some(request) = given(requests) else {
        return Some(format!(
            "{bound}, but no request is specified or request is 0"
        ));
    };
    let Some(limit) = given(limits) else {
        return Some(format!("{bound}, but no limit is specified or limit is 0"));
    };
    let ratio = as_float(limit) / as_float(request);
    (ratio * 1000.0 > as_float(most)).then(|| format!("{bound}, but provided ratio is {ratio:.6}"))
}

/// Compares as the real server does: in thousandths, rounded up.
fn exceeds(quantity: Quantity, bound: Quantity) -> bool {
    quantity.millis() > bound.millis()
}

#[expect(
    clippy::cast_precision_loss,
    reason = "the real server divides in the same precision"
)]
fn as_float(quantity: Quantity) -> f64 {
    quantity.millis() as f64
}

/// Several errors in brackets, each once.
fn joined(broken: Vec<String>) -> Option<String> {
    let mut each: Vec<String> = Vec::new();
    for why in broken {
        if !each.contains(&why) {
            each.push(why);
        }
    }
    match each.len() {
        0 => None,
        1 => each.pop(),
        _ => Some(format!("[{}]", each.join(", "))),
    }
}
