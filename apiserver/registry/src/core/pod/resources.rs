//! Resources of a pod as a whole (KEP-2837), as far as its containers tell them.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::{Edit, View};
use kubewright_validation::pod::of_all_containers;
use serde_json::{Map, Value};

const OVERCOMMITTED: [&str; 2] = ["cpu", "memory"];
const HUGE_PAGES: &str = "hugepages-";

/// Fills in what a pod that says some resources of its own leaves to its containers. Admission may still add containers, so
/// this comes after it.
pub(super) fn complete(pod: &mut Value) {
    let Some(spec) = pod.existing("spec") else {
        return;
    };
    let Some(mut whole) = Whole::of(spec) else {
        return;
    };
    whole.limit_pages(spec);
    whole.request(spec);
    whole.limit(spec);
    whole.write(spec);
}

/// Fills it in as Kubernetes before 1.37 does among the defaults of a pod: without limits of what is overcommitted, and
/// requests only beside limits.
pub(super) fn complete_by_default(pod: &mut Value) {
    let Some(spec) = pod.existing("spec") else {
        return;
    };
    let Some(mut whole) = Whole::of(spec) else {
        return;
    };
    whole.limit_pages(spec);
    if !whole.limits.is_empty() {
        whole.request(spec);
    }
    whole.write(spec);
}

/// The resources of a pod as a whole.
struct Whole {
    requests: Map<String, Value>,
    limits: Map<String, Value>,
}

impl Whole {
    /// Those of a pod that says some.
    fn of(spec: &Value) -> Option<Self> {
        let said = |list: &str| {
            let resources = spec.at("resources");
            resources.map(list).cloned().unwrap_or_default()
        };
        let (requests, limits) = (said("requests"), said("limits"));
        (!requests.is_empty() || !limits.is_empty()).then_some(Self { requests, limits })
    }

    /// Limits the large pages to those of the containers.
    fn limit_pages(&mut self, spec: &Value) {
        let limits = containers(spec).flat_map(|each| each.at("resources").entries("limits"));
        for (name, _) in limits.filter(|(name, _)| name.starts_with(HUGE_PAGES)) {
            if let Some(sum) = of_all_containers(spec, "limits", name)
                && !self.requests.contains_key(name)
            {
                let limit = self.limits.entry(name);
                limit.or_insert_with(|| sum.to_string().into());
            }
        }
    }

    /// Requests what the containers do, and else what the limits are.
    fn request(&mut self, spec: &Value) {
        for name in OVERCOMMITTED {
            if let Some(sum) = of_all_containers(spec, "requests", name) {
                let request = self.requests.entry(name);
                request.or_insert_with(|| sum.to_string().into());
            }
        }
        for (name, limit) in self.limits.iter().filter(|(name, _)| is_of_pods(name)) {
            let request = self.requests.entry(name.clone());
            request.or_insert_with(|| limit.clone());
        }
    }

    /// Limits what every container limits.
    fn limit(&mut self, spec: &Value) {
        for (name, request) in self.requests.iter().filter(|(name, _)| is_of_pods(name)) {
            let is_limited = |container: &Value| container.at("resources").at("limits").has(name);
            if self.limits.contains_key(name)
                || !containers(spec).all(is_limited)
                || !spec.list("ephemeralContainers").iter().all(is_limited)
            {
                continue;
            }
            if let Some(sum) = of_all_containers(spec, "limits", name) {
                let is_more = Quantity::from_value(request).is_some_and(|request| request > sum);
                let limit = if is_more {
                    request.clone()
                } else {
                    sum.to_string().into()
                };
                self.limits.insert(name.clone(), limit);
            }
        }
    }

    fn write(self, spec: &mut Value) {
        if let Some(resources) = spec.existing("resources") {
            for (list, amounts) in [("requests", self.requests), ("limits", self.limits)] {
                if !amounts.is_empty() {
                    resources.put(list, amounts);
                }
            }
        }
    }
}

fn is_of_pods(name: &str) -> bool {
    OVERCOMMITTED.contains(&name) || name.starts_with(HUGE_PAGES)
}

fn containers(spec: &Value) -> impl Iterator<Item = &Value> {
    let initial = spec.list("initContainers").iter();
    initial.chain(spec.list("containers"))
}
