//! What the status of a pod says of its containers: who runs them, and how what they were allocated fares.

use std::collections::HashSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::quantity::Quantity;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::Errors;

/// The lists of the statuses of a pod's containers.
pub(crate) const LISTS: [&str; 3] = [
    "containerStatuses",
    "initContainerStatuses",
    "ephemeralContainerStatuses",
];

/// Who a container runs as is what the pod's operating system knows.
pub(crate) fn users(status: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let system = match spec.at("os") {
        Value::Null => "linux",
        os => os.text("name"),
    };
    for list in LISTS {
        let path = path.child(list);
        for (index, container) in status.list(list).iter().enumerate() {
            let user = container.at("user").at("linux");
            if user.is_null() {
                continue;
            }
            let at = path.index(index);
            let at = at.child("user");
            let at = at.child("linux");
            match system {
                "windows" => {
                    errors.push(FieldError::forbidden(
                        &at,
                        "cannot be set for a windows pod",
                    ));
                }
                "linux" => identity(user, &at, errors),
                _ => {}
            }
        }
    }
}

fn identity(user: &Value, path: &Path<'_>, errors: &mut Errors) {
    let mut within = |id: i64, limit: i64, at: &Path<'_>| {
        if !(0..=limit).contains(&id) {
            let detail = format!("must be between 0 and {limit}, inclusive");
            errors.push(FieldError::invalid(at, id, &detail));
        }
    };
    let [uid, gid] = ["uid", "gid"].map(|field| user.int(field).unwrap_or(0));
    within(uid, i64::from(u32::MAX), &path.child("uid"));
    within(gid, i64::from(i32::MAX), &path.child("gid"));
    let groups = path.child("supplementalGroups");
    for (index, group) in user.list("supplementalGroups").iter().enumerate() {
        let group = group.as_i64().unwrap_or(0);
        within(group, i64::from(i32::MAX), &groups.index(index));
    }
}

/// Each resource whose health is reported is one that the container was allocated; ephemeral ones are allocated none.
pub(crate) fn allocated(status: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let field = "allocatedResourcesStatus";
    for (list, containers) in [
        ("containerStatuses", "containers"),
        ("initContainerStatuses", "initContainers"),
    ] {
        let path = path.child(list);
        for (index, reported) in status.list(list).iter().enumerate() {
            let at = path.index(index);
            let at = at.child(field);
            let mut containers = spec.list(containers).iter();
            let container =
                containers.find(|container| container.text("name") == reported.text("name"));
            for (index, resource) in reported.list(field).iter().enumerate() {
                let at = at.index(index);
                // A status may be of a container that the pod does not have.
                if let Some(container) = container {
                    is_allocated(resource.text("name"), container, status, &at, errors);
                }
                health(resource, &at.child("resources"), errors);
            }
        }
    }
    let list = "ephemeralContainerStatuses";
    let path = path.child(list);
    for (index, reported) in status.list(list).iter().enumerate() {
        if !reported.list(field).is_empty() {
            let at = path.index(index);
            let detail = "must not be specified in container status";
            errors.push(FieldError::forbidden(&at.child(field), detail));
        }
    }
}

fn is_allocated(
    name: &str,
    container: &Value,
    status: &Value,
    path: &Path<'_>,
    errors: &mut Errors,
) {
    let resources = container.at("resources");
    let (is_known, detail) = if let Some(claim) = name.strip_prefix("claim:") {
        let mut claims = resources.list("claims").iter();
        let is_known = claims.any(|known| match known.text("request") {
            "" => claim == known.text("name"),
            request => claim == format!("{}/{request}", known.text("name")),
        });
        (
            is_known || is_of_extended_claim(claim, container, status),
            "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when \
             container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty",
        )
    } else {
        (
            resources.at("requests").has(name),
            "must match one of the container's resource requests",
        )
    };
    if !is_known {
        errors.push(FieldError::invalid(&path.child("name"), name, detail));
    }
}

/// Whether a claim and its request were made for extended resources that the container asks for.
fn is_of_extended_claim(claim: &str, container: &Value, status: &Value) -> bool {
    let status = status.at("extendedResourceClaimStatus");
    let Some((claim, request)) = claim.split_once('/') else {
        return false;
    };
    if claim.is_empty() || request.is_empty() || claim != status.text("resourceClaimName") {
        return false;
    }
    let mut mappings = status.list("requestMappings").iter();
    mappings.any(|mapping| {
        let asked = container.at("resources").at("requests");
        let asked = asked.at(mapping.text("resourceName"));
        mapping.text("containerName") == container.text("name")
            && mapping.text("requestName") == request
            && Quantity::from_value(asked).is_some_and(|asked| !asked.is_zero())
    })
}

fn health(resource: &Value, path: &Path<'_>, errors: &mut Errors) {
    const LONGEST_MESSAGE: usize = 1024;
    let mut known = HashSet::new();
    for (index, device) in resource.list("resources").iter().enumerate() {
        let at = path.index(index);
        let (health, words) = (device.text("health"), ["Healthy", "Unhealthy", "Unknown"]);
        if !words.contains(&health) {
            let at = at.child("health");
            errors.push(FieldError::not_supported(&at, health, &words));
        }
        if device.has("message") {
            let (at, message) = (at.child("message"), device.text("message"));
            if message.is_empty() {
                let detail = "must be non-empty if specified";
                errors.push(FieldError::required(&at, detail));
            } else if message.len() > LONGEST_MESSAGE {
                errors.push(FieldError::too_long(&at, LONGEST_MESSAGE));
            }
        }
        let id = device.text("resourceID");
        if !known.insert(id) {
            errors.push(FieldError::duplicate(&at.child("resourceID"), id));
        }
    }
}
