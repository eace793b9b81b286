//! The requests and limits that a LimitRange gives to containers without them.

use kubewright_apimachinery::view::{Edit as _, View as _};
use serde_json::Value;

const ANNOTATION: &str = "kubernetes.io/limit-ranger";

/// Fills in the defaults of a LimitRange, and notes in an annotation what was filled in.
pub(super) fn apply(range: &Value, pod: &mut Value) {
    let mut set = Vec::new();
    if let Some(spec) = pod.existing("spec") {
        for (list, what) in [
            ("containers", "container"),
            ("initContainers", "init container"),
        ] {
            for container in spec.each(list) {
                fill(range, container, what, &mut set);
            }
        }
    }
    if set.is_empty() {
        return;
    }
    let metadata = pod.part("metadata");
    if let Some(annotations) = metadata.and_then(|metadata| metadata.part("annotations")) {
        annotations.put(
            ANNOTATION,
            format!("LimitRanger plugin set: {}", set.join("; ")),
        );
    }
}

fn fill(range: &Value, container: &mut Value, what: &str, set: &mut Vec<String>) {
    for (list, field, word) in [
        ("requests", "defaultRequest", "request"),
        ("limits", "default", "limit"),
    ] {
        let limits = range.at("spec").list("limits").iter();
        let of_containers = limits.filter(|limit| limit.text("type") == "Container");
        let mut filled = Vec::new();
        // Of two defaults for one resource, the second counts.
        for (name, quantity) in of_containers.rev().flat_map(|limit| limit.entries(field)) {
            let is_missing = !container.at("resources").at(list).has(name);
            let resources = container.part("resources");
            if is_missing && let Some(quantities) = resources.and_then(|all| all.part(list)) {
                quantities.put(name, quantity.clone());
                filled.push(name);
            }
        }
        if !filled.is_empty() {
            filled.sort_unstable();
            let name = container.text("name");
            set.push(format!("{} {word} for {what} {name}", filled.join(", ")));
        }
    }
}
