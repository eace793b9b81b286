//! Requests, limits and claims of containers and of whole pods.

use std::collections::BTreeSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::quantity::{Quantity, Spelled};
use kubewright_apimachinery::view::View;
use serde_json::Value;

use crate::check::{Errors, is_extended, is_native, label, quantity, required, subdomain};
use crate::internal::shown;

/// Requests and limits of one container.
pub fn requirements(resources: &Value, claims: &[Value], path: &Path<'_>, errors: &mut Errors) {
    requirements_of(resources, container_resource_name, claims, path, errors);
}

/// The same for whatever may have resources of these names.
fn requirements_of(
    resources: &Value,
    resource_name: impl Fn(&str, &Path<'_>, &mut Errors),
    claims: &[Value],
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let mut compute = false;
    let mut huge = false;
    let limits_path = path.child("limits");
    let requests_path = path.child("requests");
    for (name, value) in resources.entries("limits") {
        let at = limits_path.key(name);
        resource_name(name, &at, errors);
        quantity(name, value, &at, errors);
        compute |= matches!(name, "cpu" | "memory");
        if is_huge(name) {
            huge = true;
            whole_pages(name, value, &at, errors);
        }
    }
    for (name, value) in resources.entries("requests") {
        let at = requests_path.key(name);
        resource_name(name, &at, errors);
        quantity(name, value, &at, errors);
        let limit = resources.at("limits").at(name);
        match (Spelled::from_value(value), Spelled::from_value(limit)) {
            (Some(request), Some(most)) => {
                let how = if request != most && !is_overcommitted(name) {
                    "must be equal to"
                } else if request > most {
                    "must be less than or equal to"
                } else {
                    ""
                };
                if !how.is_empty() {
                    let detail = format!("{how} {name} limit of {most}");
                    let shown = request.to_string();
                    errors.push(FieldError::invalid(&requests_path, shown, &detail));
                }
            }
            (_, None) if !is_overcommitted(name) => errors.push(FieldError::required(
                &limits_path,
                "Limit must be set for non overcommitable resources",
            )),
            _ => {}
        }
        compute |= matches!(name, "cpu" | "memory");
        if is_huge(name) {
            huge = true;
            whole_pages(name, value, &at, errors);
        }
    }
    if huge && !compute {
        let detail = "HugePages require cpu or memory";
        errors.push(FieldError::forbidden(path, detail));
    }
    claim_names(
        resources.list("claims"),
        claims,
        &path.child("claims"),
        errors,
    );
}

/// The claims of a container: each is one of the pod's, and none is named twice, be it by a request of it.
fn claim_names(named: &[Value], claims: &[Value], path: &Path<'_>, errors: &mut Errors) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (index, claim) in named.iter().enumerate() {
        let (name, request) = (claim.text("name"), claim.text("request"));
        let at = path.index(index);
        if name.is_empty() {
            errors.push(FieldError::required(&at, ""));
            continue;
        }
        let has = |request: &str| seen.contains(&(name, request));
        if has("") {
            errors.push(FieldError::duplicate(&at, name));
        } else {
            if request.is_empty() {
                let overlapping = seen.iter().filter(|(other, _)| *other == name).count();
                for _ in 0..overlapping {
                    errors.push(FieldError::duplicate(&at, name));
                }
            } else {
                label(&at.child("request"), request, errors);
                if has(request) {
                    errors.push(FieldError::duplicate(&at, format!("{name}/{request}")));
                }
            }
            if !has(request) {
                seen.push((name, request));
            }
        }
        if !claims.iter().any(|claim| claim.text("name") == name) {
            let known = claims.iter().map(|claim| claim.text("name"));
            let known: BTreeSet<&str> = known.filter(|name| !name.is_empty()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let detail = if known.is_empty() {
                "must be one of the names in pod.spec.resourceClaims which is empty".to_owned()
            } else {
                let known = known.join(", ");
                format!("must be one of the names in pod.spec.resourceClaims: {known}")
            };
            errors.push(FieldError::not_found(&at, name).with_detail(&detail));
        }
    }
}

/// Requests and limits of the pod as a whole (KEP-2837).
pub(super) fn whole_pod(spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let resources = spec.at("resources");
    if resources.has("claims") {
        let detail = "claims may not be set for Resources at pod-level";
        errors.push(FieldError::forbidden(&path.child("claims"), detail));
    }
    let claims = spec.list("resourceClaims");
    requirements_of(resources, pod_resource_name, claims, path, errors);
    for list in ["requests", "limits"] {
        let at = path.child(list);
        for (name, own) in resources.entries(list) {
            // More may be promised than there is of everything but pages.
            if list == "limits" && !is_huge(name) {
                continue;
            }
            if let (Some(own), Some(sum)) = (
                Quantity::from_value(own),
                of_all_containers(spec, list, name),
            ) && sum > own
            {
                let detail =
                    format!("must be greater than or equal to aggregate container {list} of {sum}");
                errors.push(FieldError::invalid(&at.key(name), own.to_string(), &detail));
            }
        }
    }
    let containers = path.child("containers");
    for (index, container) in spec.list("containers").iter().enumerate() {
        for (name, own) in container.at("resources").entries("limits") {
            if let (Some(own), Some(limit)) = (
                Quantity::from_value(own),
                quantity_of(resources.at("limits"), name),
            ) && own > *limit
            {
                let at = containers.index(index);
                let at = at.key(name);
                let detail = format!("must be less than or equal to pod limits of {limit}");
                errors.push(FieldError::invalid(
                    &at.child("limits"),
                    own.to_string(),
                    &detail,
                ));
            }
        }
    }
}

/// What all containers together request, or are limited to: the running ones in sum, or the largest step of the
/// initialisation.
pub fn of_all_containers(spec: &Value, list: &str, name: &str) -> Option<Quantity> {
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

/// Claims for devices that a pod's containers can refer to.
pub(super) fn pod_claims(claims: &[Value], path: &Path<'_>, errors: &mut Errors) {
    for (index, claim) in claims.iter().enumerate() {
        let at = path.index(index);
        let name = claim.text("name");
        if required(claim, &at, "name", errors) {
            if claims[..index]
                .iter()
                .any(|other| other.text("name") == name)
            {
                errors.push(FieldError::duplicate(&at.child("name"), name));
            } else {
                label(&at.child("name"), name, errors);
            }
        }
        let by = ["resourceClaimName", "resourceClaimTemplateName"];
        let set = by.iter().filter(|field| claim.has(field)).count();
        let detail = match set {
            0 => "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            1 => "",
            _ => {
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            }
        };
        if !detail.is_empty() {
            let value = shown("PodResourceClaim", claim);
            errors.push(FieldError::invalid_shown(&at, &value, detail));
        }
        for field in by {
            if claim.has(field) {
                subdomain(&at.child(field), claim.text(field), errors);
            }
        }
    }
}

/// A resource that a pod as a whole can have.
fn pod_resource_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let before = errors.len();
    resource_name(name, path, errors);
    if errors.len() == before && !matches!(name, "cpu" | "memory") && !is_huge(name) {
        let known = ["cpu", "hugepages-", "memory"];
        errors.push(FieldError::not_supported(path, name, &known));
    }
}

/// A resource that containers can have.
pub fn container_resource_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    if matches!(name, "cpu" | "memory" | "ephemeral-storage") || is_huge(name) {
        return;
    }
    resource_name(name, path, errors);
    if !name.contains('/') {
        let detail = "must be a standard resource for containers";
        errors.push(FieldError::invalid(path, name, detail));
    } else if !is_native(name) && !is_extended(name) {
        let detail = "doesn't follow extended resource name standard";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

/// A resource that Kubernetes knows, or one with a domain.
pub fn resource_name(name: &str, path: &Path<'_>, errors: &mut Errors) {
    let found = names::qualified_name(name);
    for problem in &found {
        errors.push(FieldError::invalid(path, name, problem));
    }
    if found.is_empty() && !name.contains('/') && !is_standard(name) {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn is_standard(name: &str) -> bool {
    is_huge(name)
        || name.starts_with("requests.hugepages-")
        || matches!(
            name,
            "cpu"
                | "memory"
                | "ephemeral-storage"
                | "requests.cpu"
                | "requests.memory"
                | "requests.ephemeral-storage"
                | "limits.cpu"
                | "limits.memory"
                | "limits.ephemeral-storage"
                | "pods"
                | "resourcequotas"
                | "services"
                | "replicationcontrollers"
                | "secrets"
                | "configmaps"
                | "persistentvolumeclaims"
                | "storage"
                | "requests.storage"
                | "services.nodeports"
                | "services.loadbalancers"
        )
}

fn is_huge(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// Whether limits may be larger than requests: for what can be shared in time, not for pages and devices.
pub fn is_overcommitted(name: &str) -> bool {
    is_native(name) && !is_huge(name)
}

fn whole_pages(name: &str, value: &Value, path: &Path<'_>, errors: &mut Errors) {
    let size = name.strip_prefix("hugepages-").and_then(Quantity::parse);
    let (Some(value), Some(size)) = (Spelled::from_value(value), size) else {
        return;
    };
    if !value.is_multiple_of(size) {
        let detail = format!("{value} is not positive integer multiple of {name}");
        errors.push(FieldError::invalid(path, value.to_string(), &detail));
    }
}

fn quantity_of<'a>(list: &'a Value, name: &str) -> Option<Spelled<'a>> {
    Spelled::from_value(list.at(name))
}
