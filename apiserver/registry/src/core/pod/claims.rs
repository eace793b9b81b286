//! What the status of a pod says of claims to devices.

use std::collections::HashSet;

use kubewright_apimachinery::field::{FieldError, Path};
use kubewright_apimachinery::names;
use kubewright_apimachinery::view::View;
use serde_json::Value;

use kubewright_validation::check::{Errors, label, problems};

/// Each claim is one that the pod has, and is named once.
pub(crate) fn statuses(status: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let path = path.child("resourceClaimStatuses");
    let mut known = HashSet::new();
    for (index, claim) in status.list("resourceClaimStatuses").iter().enumerate() {
        let (at, name) = (path.index(index), claim.text("name"));
        let place = at.child("name");
        let mut claims = spec.list("resourceClaims").iter();
        if !claims.any(|claim| claim.text("name") == name) {
            let detail = "must match the name of an entry in `spec.resourceClaims`";
            errors.push(FieldError::invalid(&place, name, detail));
        }
        if !known.insert(name) {
            errors.push(FieldError::duplicate(&place, name));
        }
        if claim.has("resourceClaimName") {
            let name = claim.text("resourceClaimName");
            let found = names::dns1123_subdomain(name);
            problems(&at.child("resourceClaimName"), name, found, errors);
        }
    }
}

/// The claim that was made for extended resources: what each container asks for, and by which request it gets it.
pub(crate) fn extended(status: &Value, spec: &Value, path: &Path<'_>, errors: &mut Errors) {
    let status = status.at("extendedResourceClaimStatus");
    if status.is_null() {
        return;
    }
    let path = path.child("extendedResourceClaimStatus");
    let (list, mappings) = (
        path.child("requestMappings"),
        status.list("requestMappings"),
    );
    if mappings.is_empty() {
        let detail = "at least one request mapping is required";
        errors.push(FieldError::required(&list, detail));
    }
    let mut known = HashSet::new();
    for (index, mapping) in mappings.iter().enumerate() {
        let at = list.index(index);
        let fields = ["containerName", "resourceName", "requestName"];
        let [container, resource, request] = fields.map(|field| mapping.text(field));
        // Of two containers of a name the later one counts, and those that start first come first.
        let containers = ["containers", "initContainers"].map(|list| spec.list(list));
        let mut containers = containers.iter().flat_map(|list| list.iter().rev());
        match containers.find(|other| other.text("name") == container) {
            None => {
                let detail = "must match the name of an entry in spec.initContainers.name or spec.containers.name";
                errors.push(FieldError::invalid(&at.child(fields[0]), container, detail));
            }
            Some(found) if !found.at("resources").at("requests").has(resource) => {
                let detail = "must match the extended resource name of an entry in \
                     spec.initContainers.resources.requests or spec.containers.resources.requests";
                errors.push(FieldError::invalid(&at.child(fields[1]), resource, detail));
            }
            Some(_) => {}
        }
        // The server leaves out which mapping it is.
        label(&path.child(fields[2]), request, errors);
        if !known.insert([container, resource, request]) {
            for field in fields {
                errors.push(FieldError::duplicate(&at.child(field), mapping.text(field)));
            }
        }
    }
    let (at, name) = (
        path.child("resourceClaimName"),
        status.text("resourceClaimName"),
    );
    if name.is_empty() {
        errors.push(FieldError::required(&at, ""));
    } else {
        problems(&at, name, names::dns1123_subdomain(name), errors);
    }
}
