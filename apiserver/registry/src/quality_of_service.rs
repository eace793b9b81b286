//! The quality of service of pods.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

const BEST_EFFORT: &str = "BestEffort";

/// Which resources of a pod as a whole count, and those of its containers do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Those that say something.
    Set,
    /// Empty ones, too.
    Present,
}

/// `Guaranteed`, `Burstable` or `BestEffort`, from the CPU and memory of all containers, or of the pod as a whole.
pub(crate) fn quality_of_service(pod: &Value, counted: Counted) -> &'static str {
    let spec = pod.at("spec");
    let whole = spec.at("resources");
    let counts = match counted {
        Counted::Set => whole.has("requests") || whole.has("limits"),
        Counted::Present => !whole.is_null(),
    };
    if counts {
        return of_resources(whole);
    }
    let containers = spec.list("initContainers").iter();
    let containers = containers.chain(spec.list("containers"));
    common(containers.map(|container| of_resources(container.at("resources"))))
}

fn of_resources(resources: &Value) -> &'static str {
    let amount = |list: &str, name: &str| {
        let amount = Quantity::from_value(resources.at(list).at(name));
        amount.filter(|amount| !amount.is_zero())
    };
    common(["cpu", "memory"].into_iter().map(|name| {
        match (amount("requests", name), amount("limits", name)) {
            (None, None) => BEST_EFFORT,
            (request, limit) if request == limit => "Guaranteed",
            _ => "Burstable",
        }
    }))
}

/// The quality that all parts have; parts that differ make the whole burstable.
fn common(mut parts: impl Iterator<Item = &'static str>) -> &'static str {
    let first = parts.next().unwrap_or(BEST_EFFORT);
    if parts.all(|part| part == first) {
        first
    } else {
        "Burstable"
    }
}
