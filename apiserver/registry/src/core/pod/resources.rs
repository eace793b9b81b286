//! Resources of a pod as a whole (KEP-2837), as far as its containers tell them.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

const OVERCOMMITTED: [&str; 2] = ["cpu", "memory"];
const HUGE_PAGES: &str = "hugepages-";

/// Fills in what a pod that says some resources of its own leaves to its containers. Admission may still add containers, so
/// this comes after it.
pub(super) fn complete(pod: &mut Value) {
    let Some(spec) = pod.existing("spec") else {
        return;
    };
    let said = |list: &str| {
        let resources = spec.at("resources");
        resources.map(list).cloned().unwrap_or_default()
    };
    let (mut requests, mut limits) = (said("requests"), said("limits"));
    if requests.is_empty() && limits.is_empty() {
        return;
    }
    let pages = containers(spec).flat_map(|container| container.at("resources").entries("limits"));
    for (name, _) in pages.filter(|(name, _)| name.starts_with(HUGE_PAGES)) {
        if let Some(sum) = effective(spec, "limits", name)
            && !requests.contains_key(name)
        {
            limits.entry(name).or_insert_with(|| sum.to_string().into());
        }
    }
    for name in OVERCOMMITTED {
        if let Some(sum) = effective(spec, "requests", name) {
            requests
                .entry(name)
                .or_insert_with(|| sum.to_string().into());
        }
    }
    let is_of_pods = |name: &str| OVERCOMMITTED.contains(&name) || name.starts_with(HUGE_PAGES);
    for (name, limit) in limits.iter().filter(|(name, _)| is_of_pods(name)) {
        requests
            .entry(name.clone())
            .or_insert_with(|| limit.clone());
    }
    for (name, request) in requests.iter().filter(|(name, _)| is_of_pods(name)) {
        let is_limited = |container: &Value| container.at("resources").at("limits").has(name);
        if limits.contains_key(name)
            || !containers(spec).all(is_limited)
            || !spec.list("ephemeralContainers").iter().all(is_limited)
        {
            continue;
        }
        if let Some(sum) = effective(spec, "limits", name) {
            let is_more = Quantity::from_value(request).is_some_and(|request| request > sum);
            let limit = if is_more {
                request.clone()
            } else {
                sum.to_string().into()
            };
            limits.insert(name.clone(), limit);
        }
    }
    if let Some(resources) = spec.existing("resources") {
        for (list, amounts) in [("requests", requests), ("limits", limits)] {
            if !amounts.is_empty() {
                resources.put(list, amounts);
            }
        }
    }
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let initial = spec.list("initContainers").iter();
    initial.chain(spec.list("containers"))
}

/// What all containers together request, or are limited to: the running ones in sum, or the largest step of the
/// initialisation.
fn effective(spec: &Value, list: &str, name: &str) -> Option<Quantity> {
    let amount =
        |container: &Value| Quantity::from_value(container.at("resources").at(list).at(name));
    let add = |sum: Option<Quantity>, more: Option<Quantity>| match (sum, more) {
        (Some(sum), Some(more)) => Some(sum.plus(more)),
        (sum, more) => sum.or(more),
    };
    let mut running = spec
        .list("containers")
        .iter()
        .fold(None, |sum, container| add(sum, amount(container)));
    let mut sidecars = None;
    let mut initialising = None;
    for container in spec.list("initContainers") {
        if container.text("restartPolicy") == "Always" {
            sidecars = add(sidecars, amount(container));
            initialising = initialising.max(sidecars);
        } else {
            initialising = initialising.max(add(sidecars, amount(container)));
        }
    }
    running = add(running, sidecars);
    running.max(initialising)
}
