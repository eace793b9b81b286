//! What may change in a pod that exists.

use kubewright_apimachinery::equality::same_type;
use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::go_text::quoted;
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::{Edit, View};
use serde_json::Value;

use super::{claims, container_statuses};
use kubewright_validation::check::{Errors, immutable, ip, problems, qualified_name};
use kubewright_validation::formats::Family;
use kubewright_validation::internal::{difference, shown};
use kubewright_validation::metadata;
use kubewright_validation::pod::{MIRROR, NAMELESS, pod_annotations, whole};
use kubewright_validation::semantic::same;

/// How the metadata of pods are checked.
pub(super) const METADATA: metadata::Rules = metadata::Rules::namespaced();

const POD: &str = "api.core.v1.PodSpec";

const FIELDS: &str = "`spec.containers[*].image`,`spec.initContainers[*].image`,\
    `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

pub(crate) fn update(new: &Value, old: &Value, errors: &mut Errors) {
    metadata::older_changed(new, old, errors);
    METADATA.create(new, errors);
    whole(new, errors);
    annotations(new, old, errors);
    let (spec, before) = (new.at("spec"), old.at("spec"));
    let path = Path::new("spec");
    for list in ["containers", "initContainers"] {
        if spec.list(list).len() != before.list(list).len() {
            let detail = "pod updates may not add or remove containers";
            errors.push(FieldError::forbidden(&path.child(list), detail));
            return;
        }
    }
    if !deadline(spec, before, &path, errors) {
        return;
    }
    tolerations(spec, before, &path.child("tolerations"), errors);
    gates(spec, before, &path.child("schedulingGates"), errors);
    if same_type(POD, spec, before) {
        return;
    }
    let mut munged = spec.clone();
    for list in ["containers", "initContainers"] {
        for (container, old) in munged.each(list).zip(before.list(list)) {
            container.take_from(old, "image");
        }
        // They are copied one by one, so that of none there is no list.
        if munged.list(list).is_empty() {
            munged.drop_field(list);
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        munged.take_from(before, field);
    }
    let grace = "terminationGracePeriodSeconds";
    if before.int(grace).is_some_and(|seconds| seconds < 0) && munged.int(grace) == Some(1) {
        munged.take_from(before, grace);
    }
    if !before.list("schedulingGates").is_empty() {
        gated(&mut munged, before, &path, errors);
    }
    if !same_type(POD, &munged, before) {
        let detail = format!(
            "pod updates may not change fields other than {FIELDS}\n{}",
            difference("PodSpec", before, &munged)
        );
        errors.push(FieldError::forbidden(&path, &detail));
    }
}

fn annotations(new: &Value, old: &Value, errors: &mut Errors) {
    const ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";
    const MIRROR: &str = "kubernetes.io/config.mirror";
    let path = Path::new("metadata.annotations");
    let (now, before) = (
        new.at("metadata").at("annotations"),
        old.at("metadata").at("annotations"),
    );
    let mut refuse = |key: &str, what: &str| {
        let of = if key.starts_with(ARMOR) {
            "AppArmor annotations"
        } else if key == MIRROR {
            "mirror pod annotation"
        } else {
            return;
        };
        let detail = format!("may not {what} {of}");
        errors.push(FieldError::forbidden(&path.key(key), &detail));
    };
    for (key, value) in old.at("metadata").entries("annotations") {
        if now.at(key) != value {
            refuse(key, "remove or update");
        }
    }
    for (key, _) in new.at("metadata").entries("annotations") {
        if !before.has(key) {
            refuse(key, "add");
        }
    }
    pod_annotations(now, new.at("spec"), &path, errors);
}

fn deadline(spec: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) -> bool {
    let field = "activeDeadlineSeconds";
    let at = path.child(field);
    match (spec.int(field), before.int(field)) {
        (Some(seconds), _) if !(0..=i64::from(i32::MAX)).contains(&seconds) => {
            let detail = "must be between 0 and 2147483647, inclusive";
            errors.push(FieldError::invalid(&at, seconds, detail));
            false
        }
        (Some(seconds), Some(old)) if old < seconds => {
            let detail = "must be less than or equal to previous value";
            errors.push(FieldError::invalid(&at, seconds, detail));
            false
        }
        (None, Some(_)) => {
            let detail = "must not update from a positive integer to nil value";
            errors.push(FieldError::invalid(&at, Value::Null, detail));
            true
        }
        _ => true,
    }
}

fn tolerations(spec: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    for old in before.list("tolerations") {
        let kept = spec.list("tolerations").iter().any(|new| {
            let mut old = old.clone();
            old.take_from(new, "tolerationSeconds");
            same(&old, new)
        });
        if !kept {
            let detail = "existing toleration can not be modified except its tolerationSeconds";
            errors.push(FieldError::forbidden(path, detail));
            return;
        }
    }
}

fn gates(spec: &Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    let gates = spec.list("schedulingGates");
    let same = |gate: &Value, name: &str| gate.text("name") == name;
    for (index, gate) in gates.iter().enumerate() {
        let name = gate.text("name");
        let mut known = before.list("schedulingGates").iter();
        // Of several new gates with one name, the error names the last.
        let mut later = gates[index + 1..].iter();
        if !known.any(|old| same(old, name)) && !later.any(|other| same(other, name)) {
            let detail =
                format!("only deletion is allowed, but found new scheduling gate '{name}'");
            let at = path.index(index);
            errors.push(FieldError::forbidden(&at.child("name"), &detail));
        }
    }
}

/// A pod that is not scheduled yet may be bound to fewer nodes.
fn gated(munged: &mut Value, before: &Value, path: &Path<'_>, errors: &mut Errors) {
    let widened = before
        .entries("nodeSelector")
        .any(|(key, value)| munged.at("nodeSelector").at(key) != value);
    if widened {
        errors.push(FieldError::invalid(
            &path.child("nodeSelector"),
            munged.at("nodeSelector").clone(),
            "only additions to spec.nodeSelector are allowed (no mutations or deletions)",
        ));
    }
    munged.take_from(before, "nodeSelector");
    let affinity = |spec: &Value| spec.at("affinity").at("nodeAffinity").clone();
    if !same(&affinity(munged), &affinity(before)) && affinity(before).is_null() {
        // Going from no node affinity to some only narrows the choice.
        if let Some(affinity) = munged.existing("affinity") {
            affinity.drop_field("nodeAffinity");
        }
        let left = munged.at("affinity").as_object();
        if !before.has("affinity") && left.is_some_and(|left| left.values().all(Value::is_null)) {
            munged.drop_field("affinity");
        }
    }
}

fn observed(holder: &Value, path: &Path<'_>, errors: &mut Errors) {
    let generation = holder.int("observedGeneration").unwrap_or(0);
    if generation < 0 {
        let at = path.child("observedGeneration");
        let detail = "must be a non-negative integer";
        errors.push(FieldError::invalid(&at, generation, detail));
    }
}

pub(crate) fn status(new: &Value, old: &Value, errors: &mut Errors) {
    metadata::older_changed(new, old, errors);
    annotations(new, old, errors);
    let spec = new.at("spec");
    let conditions = Path::new("status.conditions");
    let (now, before) = (new.at("status"), old.at("status"));
    for (index, condition) in now.list("conditions").iter().enumerate() {
        observed(condition, &conditions.index(index), errors);
        let kind = condition.text("type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            let at = conditions.index(index);
            qualified_name(&at.child("Type"), kind, errors);
        }
    }
    let path = Path::new("status");
    let node = now.text("nominatedNodeName");
    if node != before.text("nominatedNodeName") && !node.is_empty() {
        let at = path.child("nominatedNodeName");
        problems(&at, node, names::dns1123_subdomain(node), errors);
        if !old.at("spec").text("nodeName").is_empty() {
            let detail = "may not be set on pods that are already bound to a node";
            errors.push(FieldError::forbidden(&at, detail));
        }
    }
    observed(now, &path, errors);
    immutable(now, before, &path, "qosClass", errors);
    for (list, policy) in [
        ("containerStatuses", spec.text("restartPolicy")),
        ("initContainerStatuses", spec.text("restartPolicy")),
        ("ephemeralContainerStatuses", "Never"),
    ] {
        transitions(now, before, spec, list, policy, errors);
    }
    claims::statuses(now, new.at("spec"), &path, errors);
    claims::extended(now, new.at("spec"), &path, errors);
    let addresses = path.child("podIPs");
    for (index, address) in now.list("podIPs").iter().enumerate() {
        ip(address.text("ip"), &addresses.index(index), errors);
    }
    two_families(now.at("podIPs"), &addresses, errors);
    // An address makes a list and a list an address, but for a list that begins with an empty one.
    if now.text("podIP").is_empty() != now.list("podIPs").is_empty() {
        let value = shown("[]PodIP", now.at("podIPs"));
        let detail = "podIP and podIPs must either both be set or both be unset";
        errors.push(FieldError::invalid_shown(&addresses, &value, detail));
    }
    let hosts = now.list("hostIPs");
    let addresses = path.child("hostIPs");
    if let Some(first) = hosts.first()
        && first.text("ip") != now.text("hostIP")
    {
        let at = addresses.index(0);
        let detail = "must be equal to `hostIP`";
        errors.push(FieldError::invalid(
            &at.child("ip"),
            first.text("ip"),
            detail,
        ));
    }
    for (index, address) in hosts.iter().enumerate() {
        ip(address.text("ip"), &addresses.index(index), errors);
    }
    two_families(now.at("hostIPs"), &addresses, errors);
    container_statuses::users(now, spec, &path, errors);
    container_statuses::allocated(now, spec, &path, errors);
}

/// Of two addresses one is of each family.
fn two_families(addresses: &Value, path: &Path<'_>, errors: &mut Errors) {
    let all = addresses.as_array().map_or(&[][..], Vec::as_slice);
    if all.len() < 2 {
        return;
    }
    let family = |address: &Value| Family::of_address(address.text("ip"));
    let families: Vec<_> = all.iter().map(family).collect();
    if let Some(index) = families.iter().position(Option::is_none) {
        let wrong = all[index].text("ip");
        let detail =
            format!("failed to check for dual stack with error:invalid IP[{index}]: {wrong}");
        errors.push(FieldError::internal(path, &detail));
    }
    if all.len() > 2 || !Family::are_both(&families) {
        let value = shown("[]PodIP", addresses);
        let detail = "may specify no more than one IP for each IP family";
        errors.push(FieldError::invalid_shown(path, &value, detail));
    }
}

/// What has ended for good stays ended.
fn transitions(
    now: &Value,
    before: &Value,
    spec: &Value,
    list: &str,
    policy: &str,
    errors: &mut Errors,
) {
    if policy == "Always" {
        return;
    }
    let path = Path::new("status");
    let path = path.child(list);
    for (index, old) in before.list(list).iter().enumerate() {
        let ended = old.at("state").at("terminated");
        let failed = ended.int("exitCode").unwrap_or(0) != 0;
        let name = old.text("name");
        let sidecar = spec
            .list("initContainers")
            .iter()
            .any(|c| c.text("name") == name && c.text("restartPolicy") == "Always");
        if ended.is_null() || (failed && policy == "OnFailure") || sidecar {
            continue;
        }
        let back = now
            .list(list)
            .iter()
            .any(|new| new.text("name") == name && !new.at("state").has("terminated"));
        if back {
            let at = path.index(index);
            let detail = "may not be transitioned to non-terminated state";
            errors.push(FieldError::forbidden(&at.child("state"), detail));
        }
    }
}

pub(crate) fn ephemeral_containers(new: &Value, old: &Value, errors: &mut Errors) {
    if old.at("metadata").at("annotations").has(MIRROR) {
        let detail = "static pods do not support ephemeral containers";
        errors.push(FieldError::forbidden(&NAMELESS, detail));
        return;
    }
    metadata::older_changed(new, old, errors);
    METADATA.create(new, errors);
    whole(new, errors);
    annotations(new, old, errors);
    let path = Path::new("spec.ephemeralContainers");
    for before in old.at("spec").list("ephemeralContainers") {
        let name = before.text("name");
        let now = new.at("spec").list("ephemeralContainers").iter();
        match now.clone().find(|container| container.text("name") == name) {
            None => {
                let name = quoted(name);
                let detail = format!("existing ephemeral containers {name} may not be removed\n");
                errors.push(FieldError::forbidden(&path, &detail));
            }
            Some(now) if !same(now, before) => {
                let (name, diff) = (quoted(name), difference("EphemeralContainer", before, now));
                let detail =
                    format!("existing ephemeral containers {name} may not be changed\n{diff}");
                errors.push(FieldError::forbidden(&path, &detail));
            }
            Some(_) => {}
        }
    }
}
