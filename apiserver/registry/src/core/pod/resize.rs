//! What `pods/resize` may change: the CPU and the memory of containers, and of the pod as a whole.

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::view::{Edit, View};
use serde_json::{Map, Value};

use super::update::METADATA;
use crate::metadata;
use crate::quality_of_service::{Counted, quality_of_service};
use kubewright_validation::check::Errors;
use kubewright_validation::metadata::older_changed;
use kubewright_validation::pod::{MIRROR, NAMELESS, whole};
use kubewright_validation::semantic::same;

const LISTS: [&str; 2] = ["containers", "initContainers"];
const AMOUNTS: [&str; 2] = ["requests", "limits"];

/// What of a pod can be resized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resizable {
    /// Every container, and the pod as a whole.
    Everything,
    /// The containers that run as long as the pod: sidecars, but no other init containers.
    LastingContainers,
}

/// Keeps all but the resources and resize policies of containers. An object whose containers are others goes on as it is, so
/// that validation refuses it.
pub(super) fn prepare(new: &mut Value, old: &Value, resizable: Resizable) {
    let names = |object: &Value, list: &str| -> Vec<String> {
        let containers = object.at("spec").list(list).iter();
        containers.map(|c| c.text("name").to_owned()).collect()
    };
    if LISTS
        .iter()
        .any(|list| names(new, list) != names(old, list))
    {
        return;
    }
    let wanted = new.at("spec").clone();
    new.take_from(old, "spec");
    new.take_from(old, "status");
    metadata::reset(new, old);
    let Some(spec) = new.part("spec") else {
        return;
    };
    if resizable == Resizable::Everything {
        spec.take_from(&wanted, "resources");
    }
    for list in LISTS {
        for (container, wanted) in spec.each(list).zip(wanted.list(list)) {
            container.take_from(wanted, "resources");
            container.take_from(wanted, "resizePolicy");
        }
    }
}

pub(super) fn validate(
    new: &Value,
    old: &Value,
    resizable: Resizable,
    counted: Counted,
    errors: &mut Errors,
) {
    let of_all = |detail| FieldError::forbidden(&NAMELESS, detail);
    if old.at("metadata").at("annotations").has(MIRROR) {
        errors.push(of_all("static pods cannot be resized"));
        return;
    }
    let (spec, before) = (new.at("spec"), old.at("spec"));
    if before.at("os").text("name") == "windows" {
        errors.push(of_all("windows pods cannot be resized"));
        return;
    }
    older_changed(new, old, errors);
    METADATA.create(new, errors);
    whole(new, errors);
    let path = Path::new("spec");
    let quality = match old.at("status").text("qosClass") {
        "" => quality_of_service(old, counted),
        known => known,
    };
    if quality_of_service(new, counted) != quality {
        let quality = new.at("status").at("qosClass").clone();
        let detail = "Pod QOS Class may not change as a result of resizing";
        errors.push(FieldError::invalid(&path, quality, detail));
    }
    if !runs_where_it_can_be_resized(old) {
        let detail = "Pod running on node without support for resize";
        errors.push(FieldError::forbidden(&path, detail));
    }
    let has_amounts = |spec: &Value| {
        let resources = spec.at("resources");
        AMOUNTS
            .iter()
            .any(|list| resources.map(list).is_some_and(|map| !map.is_empty()))
    };
    if has_amounts(before) || has_amounts(spec) {
        if resizable == Resizable::LastingContainers {
            errors.push(of_all(
                "resize of pods with pod-level resources is forbidden when \
                 InPlacePodLevelResourcesVerticalScalingEnabled feature gate is disabled",
            ));
            return;
        }
        of_whole_pod(spec, before, &path, errors);
    }
    if !are_the_same_containers(spec, before, &path, errors) {
        return;
    }
    for list in ["initContainers", "containers"] {
        let at = path.child(list);
        let pairs = spec.list(list).iter().zip(before.list(list));
        for (index, (now, before)) in pairs.enumerate() {
            if list == "containers" || can_be_resized(before, resizable) {
                let at = at.index(index);
                nothing_is_removed(now, before, &at.child("resources"), errors);
            }
        }
    }
    for (now, before) in spec
        .list("containers")
        .iter()
        .zip(before.list("containers"))
    {
        if !same(&with_amounts_of(now, before), before) {
            let detail = "only cpu and memory resources are mutable";
            errors.push(FieldError::forbidden(&path, detail));
        }
    }
    let list = "initContainers";
    let at = path.child(list);
    let pairs = spec.list(list).iter().zip(before.list(list));
    for (index, (now, before)) in pairs.enumerate() {
        init_container(now, before, resizable, [&path, &at.index(index)], errors);
    }
    if errors.is_empty() && spec.has("resources") && !before.has("resources") && !has_amounts(spec)
    {
        let detail = "only cpu and memory resources are mutable";
        errors.push(FieldError::forbidden(&path, detail));
    }
}

/// A node that resizes pods says what it has given to their running containers.
fn runs_where_it_can_be_resized(pod: &Value) -> bool {
    let mut containers = pod.at("status").list("containerStatuses").iter();
    containers
        .find(|container| container.at("state").has("running"))
        .is_none_or(|running| running.has("resources"))
}

fn of_whole_pod(spec: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    let at = path.child("resources");
    let (now, was) = (spec.at("resources"), before.at("resources"));
    if now.is_null() {
        let detail = "pod-level resources cannot be removed";
        errors.push(FieldError::forbidden(&at, detail));
        return;
    }
    if !was.is_null() {
        for list in AMOUNTS {
            if is_removed(now, was, list) {
                let detail = format!("pod-level resource {list} cannot be removed");
                errors.push(FieldError::forbidden(&at.child(list), &detail));
            }
        }
    }
    let kept = with_amounts_of(spec, before);
    if !same(kept.at("resources"), was) {
        let detail = "only cpu and memory resources are mutable at pod-level";
        errors.push(FieldError::forbidden(path, detail));
    }
}

/// Whether the containers are still the same ones.
fn are_the_same_containers(
    spec: &Value,
    before: &Value,
    path: &Path<'_>,
    errors: &mut Errors,
) -> bool {
    let found = errors.len();
    for list in LISTS {
        let at = path.child(list);
        let (now, was) = (spec.list(list), before.list(list));
        if now.len() != was.len() {
            let detail = format!("{list} may not be added or removed on resize");
            errors.push(FieldError::forbidden(&at, &detail));
            continue;
        }
        for (index, (now, was)) in now.iter().zip(was).enumerate() {
            if now.text("name") != was.text("name") {
                let detail = format!("{list} may not be renamed or reordered on resize");
                let at = at.index(index);
                errors.push(FieldError::forbidden(&at.child("name"), &detail));
            }
        }
    }
    errors.len() == found
}

fn can_be_resized(init: &Value, resizable: Resizable) -> bool {
    resizable == Resizable::Everything || init.text("restartPolicy") == "Always"
}

/// `path` is that of the spec, and of the container.
fn init_container(
    now: &Value,
    before: &Value,
    resizable: Resizable,
    path: [&Path<'_>; 2],
    errors: &mut Errors,
) {
    if same(now, before) {
        return;
    }
    let [spec, path] = path;
    if !can_be_resized(before, resizable) {
        let detail = "resources for non-sidecar init containers are immutable";
        errors.push(FieldError::forbidden(spec, detail));
        return;
    }
    if !same(&with_amounts_of(now, before), before) {
        let detail = "only cpu and memory resources for init or sidecar containers are mutable";
        errors.push(FieldError::forbidden(path, detail));
    }
    if now.text("restartPolicy") == "Always" {
        return;
    }
    for policy in now.list("resizePolicy") {
        if policy.text("restartPolicy") == "RestartContainer" {
            let detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized";
            errors.push(FieldError::forbidden(path, detail));
        }
    }
}

fn nothing_is_removed(now: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    let (now, before) = (now.at("resources"), before.at("resources"));
    for list in AMOUNTS {
        if is_removed(now, before, list) {
            let detail = format!("resource {list} cannot be removed");
            errors.push(FieldError::forbidden(&path.child(list), &detail));
        }
    }
}

fn is_removed(now: &Value, before: &Value, list: &str) -> bool {
    before
        .entries(list)
        .any(|(name, _)| !now.at(list).has(name))
}

/// The holder of resources with what may change in them as it was before.
fn with_amounts_of(holder: &Value, before: &Value) -> Value {
    let mut holder = holder.clone();
    let was = before.at("resources");
    let Some(resources) = holder.part("resources") else {
        return holder;
    };
    for list in AMOUNTS {
        let mut amounts = resources.map(list).cloned().unwrap_or_else(Map::new);
        for name in ["cpu", "memory"] {
            amounts.remove(name);
            if let Some(amount) = was.at(list).get(name) {
                amounts.insert(name.to_owned(), amount.clone());
            }
        }
        resources.put(list, amounts);
    }
    holder
}
