//! The quality of service of pods.

use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

/// `Guaranteed`, `Burstable` or `BestEffort`, from the CPU and memory of all containers, or of the pod as a whole.
pub(crate) fn quality_of_service(pod: &Value) -> &'static str {
    let spec = pod.at("spec");
    let whole = spec.at("resources");
    if whole.has("requests") || whole.has("limits") {
        return quality(std::iter::once(whole));
    }
    let containers = spec.list("containers").iter();
    quality(
        containers
            .chain(spec.list("initContainers"))
            .map(|container| container.at("resources")),
    )
}

fn quality<'a>(all: impl Iterator<Item = &'a Value>) -> &'static str {
    let mut sums = [[None::<Quantity>; 2]; 2];
    let mut guaranteed = true;
    for resources in all {
        for (kind, list) in ["requests", "limits"].into_iter().enumerate() {
            for (which, name) in ["cpu", "memory"].into_iter().enumerate() {
                let quantity = Quantity::from_value(resources.at(list).at(name))
                    .filter(|quantity| !quantity.is_zero() && !quantity.is_negative());
                match quantity {
                    Some(quantity) => {
                        let sum = &mut sums[kind][which];
                        *sum = Some(sum.map_or(quantity, |sum| sum.plus(quantity)));
                    }
                    None if list == "limits" => guaranteed = false,
                    None => {}
                }
            }
        }
    }
    let [requests, limits] = sums;
    if requests.iter().chain(&limits).all(Option::is_none) {
        "BestEffort"
    } else if guaranteed && requests == limits {
        "Guaranteed"
    } else {
        "Burstable"
    }
}
